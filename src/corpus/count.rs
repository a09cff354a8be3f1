//! How many rows each query has to give, counted while the table is written.

use std::collections::BTreeSet;

use super::classes::Draft;
use super::columns::Cell;
use super::filter::Test;
use super::observation::Observation;
use super::query::{Kind, Query, query_id};
use super::sky::Direction;

/// A query and the rows that it was found to have so far.
#[derive(Debug)]
struct Counted<'a> {
    draft: &'a Draft,
    tests: Vec<Test<'a>>,
    least: u64,
    most: u64,
    groups: BTreeSet<String>,
}

/// The counts of all queries.
#[derive(Debug)]
pub struct Counter<'a>(Vec<Counted<'a>>);

impl<'a> Counter<'a> {
    /// Counts for these queries.
    pub fn new(drafts: &'a [Draft]) -> Self {
        let counted = |draft: &'a Draft| Counted {
            draft,
            tests: draft.filters.iter().map(super::filter::Filter::test).collect(),
            least: 0,
            most: 0,
            groups: BTreeSet::new(),
        };
        Self(drafts.iter().map(counted).collect())
    }

    /// Takes a row of the table into account.
    pub fn add(&mut self, row: &Observation) {
        let direction = row.position.map(|(ra, dec)| Direction::of(ra, dec));
        for query in &mut self.0 {
            let found = || query.tests.iter().map(|test| test.of(row, direction));
            if query.draft.kind == Kind::Metadata || !found().all(|part| part.maybe) {
                continue;
            }
            query.most += 1;
            query.least += u64::from(found().all(|part| part.surely));
            if !query.draft.groups.is_empty() {
                query.groups.insert(group(row, query.draft.groups));
            }
        }
    }

    /// The queries with what is expected of them.
    pub fn queries(self) -> Vec<Query> {
        self.0.into_iter().map(Counted::query).collect()
    }
}

impl Counted<'_> {
    fn query(self) -> Query {
        let draft = self.draft;
        let top = draft.top.unwrap_or(u64::MAX);
        let (least, most) = match draft.kind {
            // Five tables describe the tables, and one is described.
            Kind::Metadata => (Some(6), None),
            Kind::Aggregate => {
                let groups = self.groups.len() as u64;
                (Some(groups), Some(groups))
            }
            Kind::Rows | Kind::Http => (Some(self.least.min(top)), Some(self.most.min(top))),
        };
        Query {
            query_id: query_id(&draft.adql),
            query_class: draft.class.to_owned(),
            kind: Some(draft.kind),
            portable: draft.portable,
            order_by: draft.order_by.map(str::to_owned),
            adql: Some(draft.adql.clone()),
            method: None,
            path: None,
            headers: Default::default(),
            body: None,
            params: draft.params.clone(),
            rows_min: least,
            rows_max: most,
        }
    }
}

/// A row's values of some columns, as one text.
fn group(row: &Observation, columns: &[&str]) -> String {
    let text = |column: &&str| match row.cell(column) {
        Cell::Null => "\u{0}".to_owned(),
        Cell::Text(text) => text.to_owned(),
        Cell::Int(value) => value.to_string(),
        Cell::Float(value) => value.to_string(),
    };
    columns.iter().map(text).collect::<Vec<_>>().join("\u{1}")
}

//! Answers to one query, brought into a form in which they can be compared, and
//! what they differ in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::answer::{Answer, canonical};
use crate::corpus::hex;

/// The identifier of a row.
pub const KEY: &str = "obs_publisher_did";

/// Between the values of a row.
const CELL: char = '\u{1f}';

/// In place of a null.
const NULL: char = '\u{0}';

/// Rows that are shown of a difference.
const SHOWN: usize = 5;

/// An answer in canonical form, its rows in the order of their text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// In lower case.
    pub columns: Vec<String>,
    /// Each row's key, or the row where there is none, with its row.
    pub rows: Vec<(String, String)>,
    pub has_key: bool,
    pub overflow: bool,
    tells_null: bool,
}

/// What two answers differ in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Difference {
    /// Columns by number or name.
    Columns { values: BTreeMap<String, String> },
    /// Rows that one answer has, or has more often, than another.
    Rows { has: String, lacks: String, count: usize, first: Vec<String> },
    /// Other values in the row of one key.
    Values { key: String, column: String, values: BTreeMap<String, Option<String>> },
}

impl Table {
    /// Of an answer; with its rows' keys, if they are to be compared by key.
    pub fn new(answer: &Answer, by_key: bool) -> Self {
        let key = answer.column(KEY).filter(|_| by_key);
        let columns: Vec<String> =
            answer.columns.iter().map(|column| column.name.to_ascii_lowercase()).collect();
        let text = |(value, column): (&_, &String)| {
            canonical(column, value, false).unwrap_or_else(|| NULL.to_string())
        };
        let mut rows: Vec<(String, String)> = answer
            .rows
            .iter()
            .map(|row| {
                let cells: Vec<String> = row.iter().zip(&columns).map(text).collect();
                let row = cells.join(&CELL.to_string());
                let key = key.and_then(|key| cells.get(key)).unwrap_or(&row).clone();
                (key, row)
            })
            .collect();
        rows.sort_unstable();
        Self {
            columns,
            rows,
            has_key: key.is_some(),
            overflow: answer.overflow,
            tells_null: answer.tells_null,
        }
    }

    /// Of the keys in their order, one a line: the same in whatever order the
    /// rows came.
    pub fn sha256(&self) -> String {
        digest(self.rows.iter().map(|(key, _)| key.as_str()))
    }

    /// Of whole rows likewise.
    pub fn values_sha256(&self) -> String {
        digest(self.rows.iter().map(|(_, row)| row.as_str()))
    }

    /// Takes null and empty text for the same, where one of the answers cannot
    /// tell them apart.
    pub fn fold_empty(&mut self) {
        for (key, row) in &mut self.rows {
            for text in [key, row] {
                text.retain(|c| c != NULL);
            }
        }
        self.rows.sort_unstable();
    }

    /// Whether null and empty text are two things in it.
    pub fn tells_null(&self) -> bool {
        self.tells_null
    }
}

fn digest<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for line in lines {
        hash.update(line);
        hash.update(b"\n");
    }
    hex(&hash.finalize())
}

/// Which keys one of two answers has more often than the other, both ways.
pub fn keys(a: (&str, &Table), b: (&str, &Table)) -> Vec<Difference> {
    let mut found = Vec::new();
    for ((has, more), (lacks, less)) in [(a, b), (b, a)] {
        let extra = extra(more, less);
        if !extra.is_empty() {
            let first = extra.iter().take(SHOWN).map(|row| shown(row)).collect();
            let (has, lacks) = (has.to_owned(), lacks.to_owned());
            found.push(Difference::Rows { has, lacks, count: extra.len(), first });
        }
    }
    found
}

/// The keys of `more` that `less` does not have, as often as it lacks them.
fn extra<'a>(more: &'a Table, less: &Table) -> Vec<&'a str> {
    let mut others = less.rows.iter().map(|(key, _)| key.as_str()).peekable();
    let mut extra = Vec::new();
    for (key, _) in &more.rows {
        while others.next_if(|other| *other < key.as_str()).is_some() {}
        if others.next_if(|other| other == key).is_none() {
            extra.push(key.as_str());
        }
    }
    extra
}

/// What the rows of two answers with the same keys differ in.
pub fn values((name_a, a): (&str, &Table), (name_b, b): (&str, &Table)) -> Vec<Difference> {
    if a.columns != b.columns {
        let names = |table: &Table| table.columns.join(", ");
        let values = [(name_a, names(a)), (name_b, names(b))];
        let values = values.map(|(name, columns)| (name.to_owned(), columns)).into();
        return vec![Difference::Columns { values }];
    }
    if !a.has_key {
        return keys((name_a, a), (name_b, b));
    }
    let mut found = Vec::new();
    for ((key, row_a), (_, row_b)) in a.rows.iter().zip(&b.rows) {
        let cells = row_a.split(CELL).zip(row_b.split(CELL)).zip(&a.columns);
        for ((cell_a, cell_b), column) in cells.filter(|((a, b), _)| a != b) {
            let value = |cell: &str| (!cell.contains(NULL)).then(|| cell.to_owned());
            let values = [(name_a.to_owned(), value(cell_a)), (name_b.to_owned(), value(cell_b))];
            found.push(Difference::Values {
                key: shown(key),
                column: column.clone(),
                values: values.into(),
            });
        }
        if found.len() >= SHOWN {
            found.truncate(SHOWN);
            break;
        }
    }
    found
}

/// A key, or a row, as it is shown.
fn shown(text: &str) -> String {
    let text = text.replace(CELL, " | ").replace(NULL, "null");
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Format;

    fn table(text: &str) -> Table {
        Table::new(&Answer::parse(Format::Csv, text.as_bytes()).unwrap(), true)
    }

    fn rows(differences: &[Difference]) -> Vec<(String, String, usize, Vec<String>)> {
        differences
            .iter()
            .map(|difference| match difference {
                Difference::Rows { has, lacks, count, first } => {
                    (has.clone(), lacks.clone(), *count, first.clone())
                }
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn the_order_of_rows_does_not_matter() {
        let a = table("obs_publisher_did,x\na,1\nb,2\n");
        let b = table("OBS_PUBLISHER_DID,X\nb,2.0\na,1.00\n");
        assert_eq!((a.sha256(), a.values_sha256()), (b.sha256(), b.values_sha256()));
        assert!(keys(("a", &a), ("b", &b)).is_empty() && values(("a", &a), ("b", &b)).is_empty());
        // printf 'a\nb\n' | sha256sum
        let sha256 = "911169ddaaf146aff539f58c26c489af3b892dff0fe283c1c264c65ae5aa59a2";
        assert_eq!(a.sha256(), sha256);
    }

    #[test]
    fn rows_that_are_missing_or_come_twice() {
        let a = table("obs_publisher_did,x\na,1\nb,2\nc,3\n");
        let b = table("obs_publisher_did,x\nb,2\na,1\nb,2\n");
        assert_ne!(a.sha256(), b.sha256());
        let found = rows(&keys(("A", &a), ("B", &b)));
        let row =
            |has: &str, lacks: &str, key: &str| (has.into(), lacks.into(), 1, vec![key.into()]);
        assert_eq!(found, [row("A", "B", "c"), row("B", "A", "b")]);
    }

    #[test]
    fn values_are_compared_apart_from_keys() {
        let a = table("obs_publisher_did,x,y\na,1,\nb,2,z\n");
        let b = table("obs_publisher_did,x,y\na,1,q\nb,2.00001,z\n");
        assert_eq!(a.sha256(), b.sha256());
        assert_ne!(a.values_sha256(), b.values_sha256());
        let found = values(("A", &a), ("B", &b));
        let expected = |key: &str, column: &str, a: Option<&str>, b: &str| Difference::Values {
            key: key.into(),
            column: column.into(),
            values: [("A".into(), a.map(str::to_owned)), ("B".into(), Some(b.to_owned()))].into(),
        };
        assert_eq!(
            found,
            [expected("a", "y", None, "q"), expected("b", "x", Some("2"), "2.00001")]
        );
    }

    #[test]
    fn without_a_key_whole_rows_stand_for_it() {
        let a = table("n,m\n1,x\n2,y\n");
        let b = table("n,m\n2,y\n1,w\n");
        assert!(!a.has_key);
        let found = rows(&keys(("A", &a), ("B", &b)));
        assert_eq!(found[0], ("A".into(), "B".into(), 1, vec!["1 | x".into()]));
        let renamed = table("n,k\n1,x\n2,y\n");
        assert_eq!(a.sha256(), renamed.sha256());
        assert!(matches!(values(("A", &a), ("B", &renamed))[..], [Difference::Columns { .. }]));
    }
}

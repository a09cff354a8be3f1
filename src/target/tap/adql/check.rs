//! What of SQL is not taken: everything that is neither ADQL nor harmless.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Query, Select, SetExpr, TableFactor};

/// How deep queries may lie in queries.
const QUERIES: usize = 12;
/// Tables that a query may name, those of its subqueries too.
const TABLES: usize = 24;

type Checked = ControlFlow<Box<String>>;

fn refuse(reason: impl Into<String>) -> Checked {
    ControlFlow::Break(Box::new(reason.into()))
}

/// What has been seen of a query so far.
#[derive(Default)]
pub struct Check {
    depth: usize,
    tables: usize,
}

impl Check {
    /// Enters a query.
    pub fn query(&mut self, query: &Query) -> Checked {
        self.depth += 1;
        if self.depth > QUERIES {
            return refuse(format!("queries lie in queries too deeply: {QUERIES} are the most"));
        }
        if query.with.as_ref().is_some_and(|with| with.recursive) {
            return refuse("WITH RECURSIVE is not of ADQL");
        }
        let extras = query.fetch.is_some()
            || !query.locks.is_empty()
            || query.for_clause.is_some()
            || query.settings.is_some()
            || query.format_clause.is_some()
            || !query.pipe_operators.is_empty();
        if extras { refuse("the end of the query is not of ADQL") } else { body(&query.body) }
    }

    /// Leaves a query.
    pub fn leave_query(&mut self) {
        self.depth -= 1;
    }

    /// Checks what a query selects from.
    pub fn table(&mut self, factor: &TableFactor) -> Checked {
        self.tables += 1;
        if self.tables > TABLES {
            return refuse(format!("too many tables: {TABLES} are the most"));
        }
        match factor {
            TableFactor::Table {
                args: None,
                version: None,
                json_path: None,
                sample: None,
                with_ordinality: false,
                ..
            }
            | TableFactor::NestedJoin { .. }
            | TableFactor::Derived { lateral: false, sample: None, .. } => {
                ControlFlow::Continue(())
            }
            _ => refuse("expected a table or a subquery after FROM"),
        }
    }
}

fn body(body: &SetExpr) -> Checked {
    match body {
        SetExpr::Select(select) => self::select(select),
        // Queries in parentheses are visited themselves.
        SetExpr::Query(_) => ControlFlow::Continue(()),
        SetExpr::SetOperation { left, right, .. } => {
            self::body(left)?;
            self::body(right)
        }
        _ => refuse("only queries are answered, which begin with SELECT or WITH"),
    }
}

fn select(select: &Select) -> Checked {
    let extras = select.into.is_some()
        || !select.lateral_views.is_empty()
        || select.prewhere.is_some()
        || !select.connect_by.is_empty()
        || !select.cluster_by.is_empty()
        || !select.distribute_by.is_empty()
        || !select.sort_by.is_empty()
        || !select.named_window.is_empty()
        || select.qualify.is_some()
        || select.value_table_mode.is_some();
    if extras { refuse("the query uses what is not of ADQL") } else { ControlFlow::Continue(()) }
}

//! What of SQL is not taken: everything that is neither ADQL nor harmless.
//!
//! The time that the engine needs to plan a query grows with the square of its
//! operators, and doubles where a common table is used twice: both are counted.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, Query, Select, SetExpr, TableFactor, Visit, Visitor,
};

/// How deep queries may lie in queries.
const QUERIES: usize = 12;
/// Tables that a query may read, those of its subqueries too, and those of a
/// common table as often as it is used.
const TABLES: usize = 24;
/// Operators and functions of a query.
const OPERATORS: usize = 600;
/// Columns and other expressions of a query; constants are not counted.
const EXPRESSIONS: usize = 3000;

type Checked = ControlFlow<Box<String>>;

fn refuse(reason: impl Into<String>) -> Checked {
    ControlFlow::Break(Box::new(reason.into()))
}

/// What has been seen of a query so far.
#[derive(Default)]
pub struct Check {
    depth: usize,
    operators: usize,
    expressions: usize,
}

impl Check {
    /// Enters a query.
    pub fn query(&mut self, query: &Query) -> Checked {
        self.depth += 1;
        if self.depth > QUERIES {
            return refuse(format!("queries lie in queries too deeply: {QUERIES} are the most"));
        }
        match &query.with {
            Some(with) if with.recursive => return refuse("WITH RECURSIVE is not of ADQL"),
            Some(_) if self.depth > 1 => return refuse("WITH stands before the whole query only"),
            _ => {}
        }
        if self.depth == 1 && tables(query) > TABLES {
            return refuse(format!("the query reads too many tables: {TABLES} are the most"));
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

    /// Counts an expression.
    pub fn expression(&mut self, expr: &Expr) -> Checked {
        match expr {
            Expr::Value(_) => return ControlFlow::Continue(()),
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Nested(_) => {}
            _ => self.operators += 1,
        }
        self.expressions += 1;
        if self.operators > OPERATORS {
            return refuse(format!("the query has too many operators: {OPERATORS} are the most"));
        }
        if self.expressions > EXPRESSIONS {
            return refuse(format!("the query is too long: {EXPRESSIONS} columns are the most"));
        }
        ControlFlow::Continue(())
    }

    /// Checks what a query selects from.
    pub fn table(&mut self, factor: &TableFactor) -> Checked {
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

/// The tables that a query reads, those of a common table as often as it is
/// used.
fn tables(query: &Query) -> usize {
    let mut tables = Tables::default();
    for table in query.with.iter().flat_map(|with| &with.cte_tables) {
        let before = tables.count;
        let _ = table.query.visit(&mut tables);
        let own = tables.count - before;
        tables.common.insert(table.alias.name.value.to_ascii_lowercase(), own);
    }
    let _ = query.body.visit(&mut tables);
    tables.count
}

/// Counts tables.
#[derive(Default)]
struct Tables {
    count: usize,
    /// What each common table counts.
    common: HashMap<String, usize>,
}

impl Visitor for Tables {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let name = match relation.0.as_slice() {
            [name] => name.as_ident().map(|name| name.value.to_ascii_lowercase()),
            _ => None,
        };
        let own = name.and_then(|name| self.common.get(&name)).copied();
        self.count = self.count.saturating_add(own.unwrap_or(1));
        ControlFlow::Continue(())
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

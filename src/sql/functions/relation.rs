//! Table functions: `reproduce` and `shift` of two runs, `judge` of a relation.

use std::sync::Arc;

use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{exec_datafusion_err, plan_err};
use datafusion::datasource::ViewTable;
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::Expr;
use futures::FutureExt;

/// Stands for a run where a function is only described: no run has this name.
pub(in crate::sql) const NO_RUN: &str = "\u{0}";

/// A query file about the runs `$a` and `$b` (and the tier `$tier`), called as
/// `name('RUN_A', 'RUN_B')` or `name('RUN_A', 'RUN_B', 'TIER')`. A run may be
/// named by any unique part of its id.
#[derive(Debug)]
pub(in crate::sql) struct RunFunction {
    name: &'static str,
    sql: String,
    runs: Vec<String>,
}

impl RunFunction {
    pub(in crate::sql) fn new(name: &'static str, sql: String, runs: Vec<String>) -> Self {
        Self { name, sql, runs }
    }

    /// The run that an argument names.
    fn run(&self, argument: &Expr) -> Result<String> {
        let name = text(self.name, argument)?;
        if self.runs.contains(&name) || name == NO_RUN {
            return Ok(name);
        }
        let candidates: Vec<&String> = self.runs.iter().filter(|run| run.contains(&name)).collect();
        match candidates.as_slice() {
            [run] => Ok((*run).clone()),
            [] => plan_err!(
                "{}: no run matches `{name}`; the store has {}",
                self.name,
                self.runs.join(", ")
            ),
            several => plan_err!(
                "{}: `{name}` matches several runs: {}",
                self.name,
                several.iter().map(|run| run.as_str()).collect::<Vec<_>>().join(", ")
            ),
        }
    }
}

impl TableFunctionImpl for RunFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let (a, b, tier) = match args.exprs() {
            [a, b] => (a, b, None),
            [a, b, Expr::Literal(tier, _)] if tier.is_null() => (a, b, None),
            [a, b, tier] => (a, b, Some(text(self.name, tier)?)),
            other => {
                let (name, found) = (self.name, other.len());
                return plan_err!(
                    "{name}: expected {name}('RUN_A', 'RUN_B') or {name}('RUN_A', 'RUN_B', 'TIER'), \
                     found {found} arguments"
                );
            }
        };
        plan(self.name, bind(&self.sql, &self.run(a)?, &self.run(b)?, tier.as_deref()), &args)
    }
}

/// A query file about a relation `$cells`, called with its name:
/// `judge('judged_cells')`.
#[derive(Debug)]
pub(in crate::sql) struct RelationFunction {
    name: &'static str,
    sql: String,
}

impl RelationFunction {
    pub(in crate::sql) fn new(name: &'static str, sql: String) -> Self {
        Self { name, sql }
    }
}

impl TableFunctionImpl for RelationFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let [relation] = args.exprs() else {
            let name = self.name;
            return plan_err!("{name}: expected {name}('RELATION')");
        };
        let relation = text(self.name, relation)?;
        let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name(&relation) {
            return plan_err!(
                "{}: expected the name of a table or view, found `{relation}`",
                self.name
            );
        }
        plan(self.name, bind_relation(&self.sql, &relation), &args)
    }
}

/// The query with its relation by name.
pub(in crate::sql) fn bind_relation(sql: &str, relation: &str) -> String {
    sql.replace("$cells", relation)
}

/// Plans the bound query of a function.
fn plan(name: &str, sql: String, args: &TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
    let Some(state) = args.session().as_any().downcast_ref::<SessionState>() else {
        return plan_err!("{name}: called outside a session over a store");
    };
    // Planning is asynchronous for catalogs that are far away; this one answers
    // at once, so that the first poll is the last.
    let plan = state
        .create_logical_plan(&sql)
        .now_or_never()
        .unwrap_or_else(|| plan_err!("the catalog did not answer at once"))
        .map_err(|error| error.context(format!("{name}.sql")))?;
    Ok(Arc::new(ViewTable::new(plan, Some(sql))))
}

/// The text that an argument is.
fn text(name: &str, argument: &Expr) -> Result<String> {
    match argument {
        Expr::Literal(value, _) => {
            value.try_as_str().flatten().map(str::to_owned).ok_or_else(|| {
                exec_datafusion_err!("{name}: expected text in quotes, found {value}")
            })
        }
        other => plan_err!("{name}: expected text in quotes, found {other}"),
    }
}

/// The query with its parameters as literals: a table function called in it
/// (`shift` asks `reproduce`) sees nothing else.
pub(in crate::sql) fn bind(sql: &str, a: &str, b: &str, tier: Option<&str>) -> String {
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    sql.replace("$tier", &tier.map_or_else(|| "NULL".to_owned(), literal))
        .replace("$a", &literal(a))
        .replace("$b", &literal(b))
}

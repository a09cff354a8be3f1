//! From the text of a query to one statement in the engine's dialect.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, LimitClause, ObjectName, Query, SetExpr, Statement, Top, TopQuantity,
    Value, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

use super::check::Check;
use super::functions::CONCAT;
use super::names;
use crate::target::tap::error::Refusal;

/// Bytes of a query at most.
pub const LENGTH: usize = 128 << 10;
/// How deep a query may be nested.
const DEPTH: usize = 60;

/// ADQL's words and identifiers.
#[derive(Debug)]
struct Adql;

impl Dialect for Adql {
    fn is_identifier_start(&self, ch: char) -> bool {
        ch.is_ascii_alphabetic() || ch == '_'
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        ch.is_ascii_alphanumeric() || ch == '_'
    }
}

/// The one statement that a text is, ready to be planned.
///
/// # Errors
/// If it is too long or too deep, no query, more than one, or uses what ADQL
/// does not have.
pub fn prepare(text: &str) -> Result<Statement, Refusal> {
    if text.len() > LENGTH {
        return Err(Refusal::bad(format!(
            "the query has {} bytes; {LENGTH} are the most that is read",
            text.len()
        )));
    }
    let mut statements = Parser::new(&Adql)
        .with_recursion_limit(DEPTH)
        .try_with_sql(text)
        .and_then(|mut parser| parser.parse_statements())
        .map_err(|error| Refusal::bad(explain(&error)))?;
    let (Some(mut statement), true) = (statements.pop(), statements.is_empty()) else {
        return Err(Refusal::bad("expected one query, found none or several"));
    };
    let Statement::Query(query) = &mut statement else {
        return Err(Refusal::bad("only queries are answered, which begin with SELECT or WITH"));
    };
    names::name_columns(query);
    if let ControlFlow::Break(reason) = statement.visit(&mut Rewrite::default()) {
        return Err(Refusal::bad(*reason));
    }
    Ok(statement)
}

fn explain(error: &ParserError) -> String {
    match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
            format!("not ADQL: {text}")
        }
        ParserError::RecursionLimitExceeded => {
            format!("the query is nested too deeply: {DEPTH} levels are the most")
        }
    }
}

/// Checks what a query uses, and puts into the engine's words what it says in
/// ADQL's own.
#[derive(Default)]
struct Rewrite {
    check: Check,
}

impl VisitorMut for Rewrite {
    type Break = Box<String>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        self.check.query(query)
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        self.check.leave_query();
        limit(query)
    }

    fn pre_visit_table_factor(
        &mut self,
        factor: &mut datafusion::sql::sqlparser::ast::TableFactor,
    ) -> ControlFlow<Self::Break> {
        self.check.table(factor)
    }

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<Self::Break> {
        names::fold_table(relation);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        self.check.expression(expr)
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::BinaryOp { op: BinaryOperator::StringConcat, .. } = expr {
            // The engine's own operator has no bound on what it makes.
            let Expr::BinaryOp { left, right, .. } =
                std::mem::replace(expr, Expr::value(Value::Null))
            else {
                return ControlFlow::Continue(());
            };
            *expr = call(CONCAT, [*left, *right]);
        }
        ControlFlow::Continue(())
    }
}

/// A call of a function.
fn call<const N: usize>(name: &str, args: [Expr; N]) -> Expr {
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).into(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// Puts TOP as LIMIT, which the engine knows.
fn limit(query: &mut Query) -> ControlFlow<Box<String>> {
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Some(top) = select.top.take()
    {
        let rows = rows(top)?;
        match &mut query.limit_clause {
            none @ None => {
                *none = Some(LimitClause::LimitOffset {
                    limit: Some(rows),
                    offset: None,
                    limit_by: Vec::new(),
                });
            }
            Some(LimitClause::LimitOffset { limit: limit @ None, .. }) => *limit = Some(rows),
            Some(_) => {
                return ControlFlow::Break(Box::new("either TOP or LIMIT, not both".to_owned()));
            }
        }
        return ControlFlow::Continue(());
    }
    limit_operands(&mut query.body)
}

/// Does the same for the operands of UNION and its like, which have no limit of
/// their own unless they are queries of their own.
fn limit_operands(body: &mut Box<SetExpr>) -> ControlFlow<Box<String>> {
    match body.as_mut() {
        SetExpr::SetOperation { left, right, .. } => {
            limit_operands(left)?;
            limit_operands(right)
        }
        SetExpr::Select(select) => {
            let Some(top) = select.top.take() else { return ControlFlow::Continue(()) };
            let limit = Some(LimitClause::LimitOffset {
                limit: Some(rows(top)?),
                offset: None,
                limit_by: Vec::new(),
            });
            let select = std::mem::replace(
                body.as_mut(),
                SetExpr::Values(datafusion::sql::sqlparser::ast::Values {
                    explicit_row: false,
                    value_keyword: false,
                    rows: Vec::new(),
                }),
            );
            **body = SetExpr::Query(Box::new(Query {
                with: None,
                body: Box::new(select),
                order_by: None,
                limit_clause: limit,
                fetch: None,
                locks: Vec::new(),
                for_clause: None,
                settings: None,
                format_clause: None,
                pipe_operators: Vec::new(),
            }));
            ControlFlow::Continue(())
        }
        _ => ControlFlow::Continue(()),
    }
}

fn rows(top: Top) -> ControlFlow<Box<String>, Expr> {
    match top {
        Top { with_ties: false, percent: false, quantity: Some(TopQuantity::Constant(rows)) } => {
            ControlFlow::Continue(Expr::value(Value::Number(rows.to_string(), false)))
        }
        Top { with_ties: false, percent: false, quantity: Some(TopQuantity::Expr(rows)) } => {
            ControlFlow::Continue(rows)
        }
        _ => ControlFlow::Break(Box::new("expected a number of rows after TOP".to_owned())),
    }
}

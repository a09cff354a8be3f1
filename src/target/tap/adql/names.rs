//! Names: of tables, which know no case, and of columns that a query left
//! without one.

use std::collections::HashMap;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName, Query, Select, SelectItem, SetExpr,
};

use crate::target::tap::data::tap_schema::{IVOA, TAP_SCHEMA};

/// Writes the name of a table of the server in lower case, whatever it was.
/// Others are left: they are of the query's own WITH.
pub fn fold_table(name: &mut ObjectName) {
    let parts: Option<Vec<&Ident>> = name.0.iter().map(|part| part.as_ident()).collect();
    let folded = match parts.as_deref() {
        Some([schema, table]) => {
            let schema = schema.value.to_ascii_lowercase();
            [IVOA, TAP_SCHEMA]
                .contains(&schema.as_str())
                .then(|| vec![schema, table.value.to_ascii_lowercase()])
        }
        _ => None,
    };
    if let Some(parts) = folded {
        *name = ObjectName::from(parts.into_iter().map(Ident::new).collect::<Vec<_>>());
    }
}

/// Names the columns of an answer that a query left without a name, or that
/// have one another has already.
pub fn name_columns(query: &mut Query) {
    if let Some(select) = first_select(&mut query.body) {
        let mut taken: HashMap<String, usize> = HashMap::new();
        for item in &mut select.projection {
            let (name, is_plain) = match &*item {
                SelectItem::ExprWithAlias { alias, .. } => (alias.value.clone(), true),
                SelectItem::UnnamedExpr(Expr::Identifier(ident)) => (ident.value.clone(), true),
                SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                    (parts.last().map(|part| part.value.clone()).unwrap_or_default(), true)
                }
                SelectItem::UnnamedExpr(expr) => (made_name(expr), false),
                _ => continue,
            };
            let key = name.to_ascii_lowercase();
            let count = taken.entry(key.clone()).or_default();
            *count += 1;
            let is_first = *count == 1;
            if is_plain && is_first {
                continue;
            }
            let alias = if is_first { key } else { format!("{key}_{count}") };
            if let SelectItem::UnnamedExpr(expr) = item {
                let expr = std::mem::replace(expr, Expr::Identifier(Ident::new("x")));
                *item = SelectItem::ExprWithAlias { expr, alias: Ident::new(alias) };
            }
        }
    }
}

/// The name of a column that is computed: that of its function.
fn made_name(expr: &Expr) -> String {
    match expr {
        Expr::Function(function) => function
            .name
            .0
            .last()
            .and_then(|part| part.as_ident())
            .map_or_else(|| "col".to_owned(), |ident| ident.value.to_ascii_lowercase()),
        Expr::Nested(inner) => made_name(inner),
        Expr::Cast { expr, .. } => match &**expr {
            Expr::Identifier(ident) => ident.value.clone(),
            other => made_name(other),
        },
        _ => "col".to_owned(),
    }
}

fn first_select(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => first_select(&mut query.body),
        SetExpr::SetOperation { left, .. } => first_select(left),
        _ => None,
    }
}

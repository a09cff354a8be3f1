//! The views: one SQL file each, and what its comments say of its columns.

use std::path::Path;

use super::SqlError;

/// What the name of a query file stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewKind {
    /// A relation that is asked by its name.
    View,
    /// A table function of two runs.
    OfRuns,
    /// A table function of a relation's name.
    OfRelation,
}

/// A query file that ships with the program.
struct Shipped {
    name: &'static str,
    kind: ViewKind,
    sql: &'static str,
}

macro_rules! shipped {
    ($($kind:ident $name:literal,)+) => {
        &[$(Shipped {
            name: $name,
            kind: ViewKind::$kind,
            sql: include_str!(concat!("../../queries/", $name, ".sql")),
        },)+]
    };
}

/// Every view, those that others are made of first.
const SHIPPED: &[Shipped] = shipped![
    View "tiers",
    View "judged_rungs",
    View "cells",
    View "verdicts",
    View "latency_cells",
    View "rung_resources",
    View "resource_cells",
    View "tier_changes",
    View "client_cost",
    View "instance_scaling",
    View "sweep",
    View "bursts",
    View "instance_cpu",
    View "classify",
    View "missing_cells",
    View "anomalies",
    View "judged_cells",
    View "cell_variants",
    View "verdict_robustness",
    OfRelation "judge",
    OfRuns "reproduce",
    OfRuns "shift",
];

/// A column of a view, as the comments of its file tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewColumn {
    /// Its name.
    pub name: String,
    /// The unit of its figures, empty where it has none.
    pub unit: String,
    /// One line about it.
    pub doc: String,
}

/// A view or table function: its SQL and what is said of it.
#[derive(Debug, Clone)]
pub struct View {
    /// Its name, which is also that of its file.
    pub name: &'static str,
    /// What the name stands for.
    pub kind: ViewKind,
    /// The file's text.
    pub sql: String,
}

impl View {
    /// What the view holds: the first comment line of its file.
    pub fn doc(&self) -> &str {
        self.sql.lines().next().and_then(|line| line.strip_prefix("-- ")).unwrap_or("").trim()
    }

    /// The columns, from the comment lines `--| name | unit | about`.
    pub fn columns(&self) -> Vec<ViewColumn> {
        self.sql
            .lines()
            .filter_map(|line| line.strip_prefix("--|"))
            .map(|line| {
                let mut parts = line.splitn(3, '|').map(|part| part.trim().to_owned());
                let mut next = || parts.next().unwrap_or_default();
                ViewColumn { name: next(), unit: next(), doc: next() }
            })
            .collect()
    }
}

/// The names of all views and table functions.
pub fn names() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|shipped| shipped.name)
}

/// Refuses a folder with a query file that replaces nothing: a mistyped name
/// would leave the shipped view in place without a word.
fn refuse_unknown(folder: &Path) -> Result<(), SqlError> {
    let error = |source| SqlError::Io { path: folder.to_owned(), source };
    for entry in std::fs::read_dir(folder).map_err(error)? {
        let path = entry.map_err(error)?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|suffix| suffix == "sql")
            && names().all(|name| name != stem)
        {
            let suggested = super::session::nearest(&stem);
            return Err(SqlError::UnknownView { name: stem, suggested });
        }
    }
    Ok(())
}

/// Every view, with the files of `folder` in place of the shipped ones where
/// it has them.
///
/// # Errors
/// If the folder, or a query file in it, cannot be read.
pub fn load(folder: Option<&Path>) -> Result<Vec<View>, SqlError> {
    if let Some(folder) = folder {
        refuse_unknown(folder)?;
    }
    SHIPPED
        .iter()
        .map(|shipped| {
            let own = folder.map(|folder| folder.join(format!("{}.sql", shipped.name)));
            let own = own.filter(|path| path.exists());
            let sql = match &own {
                Some(path) => std::fs::read_to_string(path)
                    .map_err(|source| SqlError::Io { path: path.clone(), source })?,
                None => shipped.sql.to_owned(),
            };
            Ok(View { name: shipped.name, kind: shipped.kind, sql })
        })
        .collect()
}

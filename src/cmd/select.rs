//! Filters as SQL: which rows of a view are shown.

use anyhow::{Result, bail};

use super::args::CellFilter;
pub use crate::sql::{is_glob, matches};

/// The columns of a view that each filter looks at; more than one where any of
/// them may match, none where the view has nothing of the kind.
#[derive(Debug, Clone, Copy)]
pub struct Columns {
    /// The view, for messages.
    pub view: &'static str,
    /// For `--tier`.
    pub tier: &'static [&'static str],
    /// For `--class`.
    pub class: &'static [&'static str],
    /// For `--response-format`.
    pub format: &'static [&'static str],
    /// For `--concurrency`.
    pub concurrency: &'static [&'static str],
    /// For `--target`.
    pub target: &'static [&'static str],
    /// What its rows are sorted by: the order of a view is lost on the way
    /// through a query about it.
    pub order: &'static str,
}

impl Columns {
    /// The columns of a view of cells.
    pub const fn of_cells(view: &'static str) -> Self {
        Self {
            view,
            tier: &["tier"],
            class: &["query_class"],
            format: &["response_format"],
            concurrency: &["concurrency"],
            target: &["target"],
            order: "run, try_cast(tier AS DOUBLE), tier, response_format, query_class, \
                    concurrency, mode, loop, offered_rps, instances, loops, target",
        }
    }

    /// The columns of a view of which no filter knows any.
    pub const fn none(view: &'static str, order: &'static str) -> Self {
        Self { view, tier: &[], class: &[], format: &[], concurrency: &[], target: &[], order }
    }
}

/// The query for those rows of a view (or table function) that the filters let
/// through, sorted.
///
/// # Errors
/// If a filter is given that the view has no column for.
pub fn query(from: &str, filter: &CellFilter, columns: &Columns) -> Result<String> {
    let filters = [
        ("--tier", &filter.tiers, columns.tier),
        ("--class", &filter.classes, columns.class),
        ("--response-format", &filter.formats, columns.format),
        ("--concurrency", &filter.concurrencies, columns.concurrency),
        ("--target", &filter.targets, columns.target),
    ];
    let mut sql = format!("SELECT * FROM {from}");
    let mut word = "WHERE";
    for (flag, patterns, columns_of_filter) in filters {
        if patterns.is_empty() {
            continue;
        }
        if columns_of_filter.is_empty() {
            bail!("{flag} cannot be used here: `{}` has no column for it", columns.view);
        }
        let matches: Vec<String> =
            columns_of_filter.iter().map(|column| matching(column, patterns)).collect();
        sql += &format!(" {word} ({})", matches.join(" OR "));
        word = "AND";
    }
    sql += &format!(" ORDER BY {}", columns.order);
    Ok(sql)
}

/// The condition that a column matches one of the patterns. A null is `-`.
fn matching(column: &str, patterns: &[String]) -> String {
    let text = format!("coalesce(CAST({column} AS VARCHAR), '-')");
    let (globs, names): (Vec<&String>, Vec<&String>) =
        patterns.iter().partition(|pattern| is_glob(pattern));
    let mut conditions = Vec::new();
    if !names.is_empty() {
        let names: Vec<String> = names.into_iter().map(|name| literal(name)).collect();
        conditions.push(format!("{text} IN ({})", names.join(", ")));
    }
    if !globs.is_empty() {
        let globs: Vec<String> = globs.into_iter().map(|glob| regex_of(glob)).collect();
        let regex = format!("^(?:{})$", globs.join("|"));
        conditions.push(format!("regexp_like({text}, {})", literal(&regex)));
    }
    conditions.join(" OR ")
}

/// Text as an SQL literal.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A glob as a regular expression, without anchors.
fn regex_of(glob: &str) -> String {
    let mut regex = String::with_capacity(2 * glob.len());
    for c in glob.chars() {
        match c {
            '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            c => {
                if !c.is_alphanumeric() && c.is_ascii() {
                    regex.push('\\');
                }
                regex.push(c);
            }
        }
    }
    regex
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(|&pattern| pattern.to_owned()).collect()
    }

    #[test]
    fn no_filter_takes_all() {
        let sql = query("cells", &CellFilter::default(), &Columns::of_cells("cells")).unwrap();
        assert!(sql.starts_with("SELECT * FROM cells ORDER BY run, try_cast(tier AS"), "{sql}");
    }

    #[test]
    fn filters_are_and_and_their_patterns_or() {
        let filter = CellFilter {
            tiers: patterns(&["8", "-"]),
            classes: patterns(&["Q0?", "mi*", "a.b"]),
            ..CellFilter::default()
        };
        let sql = query("cells", &filter, &Columns::of_cells("cells")).unwrap();
        let (sql, _) = sql.split_once(" ORDER BY ").unwrap();
        assert_eq!(
            sql,
            "SELECT * FROM cells \
             WHERE (coalesce(CAST(tier AS VARCHAR), '-') IN ('8', '-')) \
             AND (coalesce(CAST(query_class AS VARCHAR), '-') IN ('a.b') \
             OR regexp_like(coalesce(CAST(query_class AS VARCHAR), '-'), '^(?:Q0.|mi.*)$'))"
        );
    }

    #[test]
    fn names_cannot_break_out_of_their_quotes() {
        let filter = CellFilter { targets: patterns(&["a' OR 'x"]), ..CellFilter::default() };
        let sql = query("cells", &filter, &Columns::of_cells("cells")).unwrap();
        assert!(sql.contains("IN ('a'' OR ''x')) ORDER"), "{sql}");
        assert_eq!(regex_of("a.b+*"), "a\\.b\\+.*");
    }

    #[test]
    fn a_filter_without_a_column_is_an_error() {
        let filter = CellFilter { tiers: patterns(&["8"]), ..CellFilter::default() };
        let error =
            query("sweep", &filter, &Columns::none("sweep", "run")).unwrap_err().to_string();
        assert_eq!(error, "--tier cannot be used here: `sweep` has no column for it");
    }
}

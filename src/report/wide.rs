//! Long rows made wide: one row per place, one group of columns per target.
//!
//! Polars' eager pivot needs its lazy engine; partitioning and stacking side by
//! side gives the same for small tables at a fraction of the build.

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::{Column, DataFrame, PolarsResult};

use super::ReportError;
use super::grid::{Cell, MISSING};

/// A long row: the figures of one group (a target) at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Long {
    /// The place: the row of the wide table that the figures belong to.
    pub place: Vec<String>,
    /// The group: the columns of the wide table that they belong to.
    pub group: String,
    /// The figures, as text.
    pub values: Vec<String>,
}

/// The columns that lead the places, and those of the figures, in the frame.
const GROUP: &str = "group";

/// Makes rows wide: the cells of each place, those of the first group first,
/// then the next. Places come in the order of their first appearance, groups
/// in the order given, also those of which there is no row. What is missing is
/// `—`. Every row has `places` parts of its place and `values` figures.
///
/// # Errors
/// If two rows have one place and one group.
pub fn widen(
    places: usize,
    values: usize,
    groups: &[String],
    rows: &[Long],
) -> Result<Vec<Vec<Cell>>, ReportError> {
    let complete = complete(values, groups, rows)?;
    if complete.is_empty() {
        return Ok(Vec::new());
    }
    let wide = pivot(places, values, &complete)?;
    let columns = wide
        .columns()
        .iter()
        .map(|column| Ok(column.str()?.iter().collect()))
        .collect::<PolarsResult<Vec<Vec<Option<&str>>>>>()?;
    Ok((0..wide.height())
        .map(|row| columns.iter().map(|column| column[row].unwrap_or(MISSING).into()).collect())
        .collect())
}

/// The rows with every place in every group, ordered by group, then place.
fn complete(values: usize, groups: &[String], rows: &[Long]) -> Result<Vec<Long>, ReportError> {
    let mut known = BTreeMap::new();
    let mut places: Vec<&[String]> = Vec::new();
    let mut seen = BTreeSet::new();
    for row in rows {
        if known.insert((row.group.as_str(), row.place.as_slice()), row).is_some() {
            let place = format!("{}, {}", row.place.join(", "), row.group);
            return Err(ReportError::Twice { place });
        }
        if seen.insert(row.place.as_slice()) {
            places.push(&row.place);
        }
    }
    let missing = vec![MISSING.to_owned(); values];
    Ok(groups
        .iter()
        .flat_map(|group| places.iter().map(move |place| (group, *place)))
        .map(|(group, place)| Long {
            place: place.to_vec(),
            group: group.clone(),
            values: known
                .get(&(group.as_str(), place))
                .map_or_else(|| missing.clone(), |row| row.values.clone()),
        })
        .collect())
}

/// Partitions complete rows by their group, and puts the parts side by side.
fn pivot(places: usize, values: usize, rows: &[Long]) -> PolarsResult<DataFrame> {
    let text = |name: String, get: &dyn Fn(&Long) -> &str| {
        Column::new(name.into(), rows.iter().map(get).collect::<Vec<&str>>())
    };
    let place_names: Vec<String> = (0..places).map(|index| format!("place.{index}")).collect();
    let value_names: Vec<String> = (0..values).map(|index| format!("value.{index}")).collect();
    let mut columns = vec![text(GROUP.to_owned(), &|row| &row.group)];
    for (index, name) in place_names.iter().enumerate() {
        columns.push(text(name.clone(), &|row| &row.place[index]));
    }
    for (index, name) in value_names.iter().enumerate() {
        columns.push(text(name.clone(), &|row| &row.values[index]));
    }
    let parts = DataFrame::new_infer_height(columns)?.partition_by_stable([GROUP], false)?;
    let Some(first) = parts.first() else { return Ok(DataFrame::default()) };
    let mut wide = first.select(&place_names)?;
    for (group, part) in parts.iter().enumerate() {
        let mut figures = part.select(&value_names)?;
        for (index, name) in value_names.iter().enumerate() {
            figures.rename(name, format!("group.{group}.{index}").into())?;
        }
        wide = wide.hstack(figures.columns())?;
    }
    Ok(wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(class: &str, c: &str, target: &str, rps: &str, p95: &str) -> Long {
        Long {
            place: vec![class.to_owned(), c.to_owned()],
            group: target.to_owned(),
            values: vec![rps.to_owned(), p95.to_owned()],
        }
    }

    fn lines(groups: &[&str], rows: &[Long]) -> Vec<String> {
        let groups: Vec<String> = groups.iter().map(|&group| group.to_owned()).collect();
        let wide = widen(2, 2, &groups, rows).unwrap();
        let line = |row: &Vec<Cell>| {
            row.iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>().join(" | ")
        };
        wide.iter().map(line).collect()
    }

    #[test]
    fn one_two_and_three_targets() {
        let rows = [
            long("Q01", "8", "argus", "412.0 ±37.9", "0.022"),
            long("Q01", "8", "dachs", "18.0", "0.535"),
            long("Q01", "8", "egernia", "208.5", "0.050"),
            long("mix", "32", "argus", "24.6", "1.699"),
            long("mix", "32", "dachs", "9.4", "3.953"),
            long("mix", "32", "egernia", "167.3", "0.221"),
        ];
        assert_eq!(
            lines(&["argus", "dachs", "egernia"], &rows),
            [
                "Q01 | 8 | 412.0 ±37.9 | 0.022 | 18.0 | 0.535 | 208.5 | 0.050",
                "mix | 32 | 24.6 | 1.699 | 9.4 | 3.953 | 167.3 | 0.221",
            ]
        );
        assert_eq!(
            lines(&["egernia", "dachs"], &rows),
            ["Q01 | 8 | 208.5 | 0.050 | 18.0 | 0.535", "mix | 32 | 167.3 | 0.221 | 9.4 | 3.953"]
        );
        assert_eq!(lines(&["dachs"], &rows), ["Q01 | 8 | 18.0 | 0.535", "mix | 32 | 9.4 | 3.953"]);
    }

    #[test]
    fn missing_cells_are_dashes_and_places_keep_their_order() {
        let rows = [
            long("Q05", "32", "dachs", "8.2", "4.162"),
            long("Q01", "8", "argus", "412.0", "0.022"),
        ];
        assert_eq!(
            lines(&["argus", "dachs", "none"], &rows),
            ["Q05 | 32 | — | — | 8.2 | 4.162 | — | —", "Q01 | 8 | 412.0 | 0.022 | — | — | — | —"]
        );
    }

    #[test]
    fn names_that_are_column_names_do_no_harm() {
        let rows = [
            long("Q01", "8", "group", "1", "2"),
            long("Q01", "8", "place.0", "3", "4"),
            long("Q01", "8", "", "5", "6"),
        ];
        assert_eq!(lines(&["group", "place.0", ""], &rows), ["Q01 | 8 | 1 | 2 | 3 | 4 | 5 | 6"]);
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(lines(&["argus"], &[]), Vec::<String>::new());
        assert_eq!(lines(&[], &[]), Vec::<String>::new());
    }

    #[test]
    fn two_rows_of_one_place_are_an_error() {
        let rows = [long("Q01", "8", "a", "1", "2"), long("Q01", "8", "a", "3", "4")];
        let error = widen(2, 2, &["a".to_owned()], &rows).unwrap_err().to_string();
        assert_eq!(error, "the view gives two rows for Q01, 8, a: expected one");
    }
}

//! Predictions of a protocol, judged by their queries.

use std::fmt;
use std::path::Path;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::DataType;

use super::{Session, SqlError};
use crate::protocol::Hypothesis;

/// The query files that ship with the program: (file name, text).
const SHIPPED: &[(&str, &str)] = &[
    ("e1.sql", include_str!("../../queries/hypotheses/e1.sql")),
    ("e2.sql", include_str!("../../queries/hypotheses/e2.sql")),
    ("e3.sql", include_str!("../../queries/hypotheses/e3.sql")),
    ("n1.sql", include_str!("../../queries/hypotheses/n1.sql")),
    ("s1.sql", include_str!("../../queries/hypotheses/s1.sql")),
    ("s2.sql", include_str!("../../queries/hypotheses/s2.sql")),
    ("s3.sql", include_str!("../../queries/hypotheses/s3.sql")),
    ("s4.sql", include_str!("../../queries/hypotheses/s4.sql")),
    ("s5.sql", include_str!("../../queries/hypotheses/s5.sql")),
];

/// What the data say of a prediction, or of one of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// No cell that counts contradicts it.
    Holds,
    /// Some of its parts hold; of a prediction only.
    HalfHolds,
    /// Only voided cells, or a run that is not there, could decide.
    Unsettled,
    /// A cell that is not voided contradicts it.
    Fails,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::HalfHolds => "half-holds",
            Self::Unsettled => "unsettled",
            Self::Fails => "fails",
        })
    }
}

/// One part of a prediction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Which part.
    pub name: String,
    /// What the data say of it.
    pub outcome: Outcome,
    /// The figures that were found.
    pub found: String,
    /// What was predicted of them.
    pub expected: String,
    /// The voided cells that were passed over, or why nothing could be judged.
    pub detail: Option<String>,
}

/// A prediction as the data of a run judge it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Its short name.
    pub id: String,
    /// What was predicted.
    pub statement: String,
    /// What the data say of the whole.
    pub outcome: Outcome,
    /// And of its parts.
    pub parts: Vec<Part>,
}

/// What parts say of the whole: all hold → holds; some do → half-holds; none
/// does → unsettled if any part is, else fails.
pub fn whole(parts: &[Part]) -> Outcome {
    let any = |outcome| parts.iter().any(|part| part.outcome == outcome);
    let all_hold = parts.iter().all(|part| part.outcome == Outcome::Holds);
    if !parts.is_empty() && all_hold {
        Outcome::Holds
    } else if any(Outcome::Holds) {
        Outcome::HalfHolds
    } else if parts.is_empty() || any(Outcome::Unsettled) {
        Outcome::Unsettled
    } else {
        Outcome::Fails
    }
}

/// The query of a hypothesis: of the user's folder of queries if it has the
/// file, else the one that ships.
///
/// # Errors
/// If there is neither, or the file cannot be read.
pub fn query_of(hypothesis: &Hypothesis, queries: Option<&Path>) -> Result<String, SqlError> {
    // A name, and not a way to other files.
    let is_name = Path::new(&hypothesis.query).file_name() == Some(hypothesis.query.as_ref());
    if let Some(folder) = queries.filter(|_| is_name) {
        let path = folder.join("hypotheses").join(&hypothesis.query);
        if path.exists() {
            return std::fs::read_to_string(&path).map_err(|source| SqlError::Io { path, source });
        }
    }
    let shipped = SHIPPED.iter().find(|(name, _)| *name == hypothesis.query);
    shipped
        .map(|(_, sql)| (*sql).to_owned())
        .ok_or_else(|| SqlError::UnknownQuery { query: hypothesis.query.clone() })
}

/// Judges a prediction on the data of a run. The query's `$run` is the run.
///
/// # Errors
/// If the query fails, or does not return the columns `part`, `holds`, `found`,
/// `expected` and `detail`.
pub fn judge(
    session: &Session,
    run: &str,
    hypothesis: &Hypothesis,
    sql: &str,
) -> Result<Judgement, SqlError> {
    let is_there = |name: &String| session.judged().iter().any(|judged| judged.run == *name);
    let absent: Vec<&String> = hypothesis.runs.iter().filter(|name| !is_there(name)).collect();
    let parts = if absent.is_empty() {
        let sql = sql.replace("$run", &format!("'{}'", run.replace('\'', "''")));
        let answer = session.query(&sql)?;
        let mut parts = Vec::new();
        for batch in &answer.batches {
            parts.extend(parts_of(batch, hypothesis)?);
        }
        if parts.is_empty() {
            parts.push(unsettled("the run has no cell that the prediction is about".to_owned()));
        }
        parts
    } else {
        let names: Vec<&str> = absent.into_iter().map(String::as_str).collect();
        vec![unsettled(format!("not in the store: {}", names.join(", ")))]
    };
    Ok(Judgement {
        id: hypothesis.id.clone(),
        statement: hypothesis.statement.clone(),
        outcome: whole(&parts),
        parts,
    })
}

/// The one part of a prediction that nothing can be said of.
fn unsettled(why: String) -> Part {
    Part {
        name: "all".to_owned(),
        outcome: Outcome::Unsettled,
        found: "nothing".to_owned(),
        expected: "data".to_owned(),
        detail: Some(why),
    }
}

/// The parts that a query's rows are.
fn parts_of(batch: &RecordBatch, hypothesis: &Hypothesis) -> Result<Vec<Part>, SqlError> {
    // Text may come as one of several types: string_agg gives another than ||.
    let column = |name: &'static str, data_type: DataType| {
        let column = batch.column_by_name(name);
        // Other types become text as they are, but what is neither true nor
        // false would become unsettled without a word.
        let column = column.filter(|column| {
            data_type != DataType::Boolean
                || matches!(column.data_type(), DataType::Boolean | DataType::Null)
        });
        let column = column.and_then(|column| cast(column, &data_type).ok());
        column.ok_or_else(|| SqlError::HypothesisColumn {
            query: hypothesis.query.clone(),
            column: name,
            expected: data_type.to_string(),
        })
    };
    let names = column("part", DataType::Utf8)?;
    let holds = column("holds", DataType::Boolean)?;
    let found = column("found", DataType::Utf8)?;
    let expected = column("expected", DataType::Utf8)?;
    let details = column("detail", DataType::Utf8)?;
    let (names, holds) = (names.as_string::<i32>(), holds.as_boolean());
    let (found, expected) = (found.as_string::<i32>(), expected.as_string::<i32>());
    let details = details.as_string::<i32>();
    let parts = (0..batch.num_rows()).map(|row| Part {
        name: names.value(row).to_owned(),
        outcome: match holds.is_valid(row).then(|| holds.value(row)) {
            Some(true) => Outcome::Holds,
            Some(false) => Outcome::Fails,
            None => Outcome::Unsettled,
        },
        found: found.value(row).to_owned(),
        expected: expected.value(row).to_owned(),
        detail: details.is_valid(row).then(|| details.value(row).to_owned()),
    });
    Ok(parts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::{Fails, HalfHolds, Holds, Unsettled};

    fn of(outcomes: &[Outcome]) -> Outcome {
        let parts: Vec<Part> =
            outcomes.iter().map(|&outcome| Part { outcome, ..unsettled(String::new()) }).collect();
        whole(&parts)
    }

    #[test]
    fn the_whole_follows_from_its_parts() {
        assert_eq!(of(&[Holds, Holds]), Holds);
        assert_eq!(of(&[Holds, Fails]), HalfHolds);
        assert_eq!(of(&[Holds, Unsettled]), HalfHolds);
        assert_eq!(of(&[Fails, Unsettled]), Unsettled);
        assert_eq!(of(&[Fails, Fails]), Fails);
        assert_eq!(of(&[]), Unsettled);
    }
}

//! What every table and every row says of where it comes from: the rule that
//! judged it, the method, the repetitions, the files.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::{ReportError, View, figure};
use crate::protocol::{Estimator, Rule};
use crate::raw::{Hasher, InputFile};
use crate::sql::Judged;
use crate::store::Manifest;

/// Hexadecimal digits of a sha256 that footnotes print.
const SHORT: usize = 16;

/// A run, the rule that it is judged by, and the files that it was made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Stamp {
    /// The run's id.
    pub run: String,
    /// The rule that its cells are judged by.
    pub rule: Rule,
    /// Where the rule comes from, in words.
    pub source: String,
    /// How many files it was made from.
    pub inputs: usize,
    /// The sha256 of the list of those files: see [`inputs_sha256`].
    pub inputs_sha256: String,
}

/// The sha256 over the inputs of a run, each as the line that `sha256sum`
/// prints (hash, two spaces, path), sorted by path.
pub fn inputs_sha256(inputs: &[InputFile]) -> String {
    let mut inputs: Vec<&InputFile> = inputs.iter().collect();
    inputs.sort_by(|a, b| a.path.cmp(&b.path));
    let mut hasher = Hasher::new();
    for input in inputs {
        hasher.update(format!("{}  {}\n", input.sha256, input.path).as_bytes());
    }
    hasher.finish()
}

/// The first digits of a sha256.
pub fn short(sha256: &str) -> &str {
    sha256.get(..SHORT).unwrap_or(sha256)
}

impl Stamp {
    /// The stamp of a run.
    pub fn new(judged: &Judged, manifest: &Manifest) -> Self {
        Self {
            run: judged.run.clone(),
            rule: judged.selected.rule.clone(),
            source: judged.selected.source.clone(),
            inputs: manifest.inputs.len(),
            inputs_sha256: inputs_sha256(&manifest.inputs),
        }
    }

    /// The rule in one line, as rows carry it.
    pub fn rule_text(&self) -> String {
        let rule = &self.rule;
        format!(
            "confidence {}, tie floor {}, error ceiling {}, guard limit {}, min coverage {}, estimator {} ({})",
            rule.confidence,
            rule.tie_floor,
            rule.error_ceiling,
            rule.guard_max,
            rule.min_coverage,
            rule.estimator,
            self.source
        )
    }

    /// What `a ±b` means under the rule.
    fn method_text(&self) -> String {
        // The quantile is a decimal of few digits, as the confidence is; its
        // binary form is not.
        let quantile = format!("{:.6}", f64::midpoint(1.0, self.rule.confidence));
        let quantile = quantile.trim_end_matches('0');
        match self.rule.estimator {
            Estimator::Mean => format!("mean ± t({quantile}, n−1)·s/√n over n repetitions"),
            Estimator::Median => format!(
                "median ± the half-width of the mean, t({quantile}, n−1)·s/√n over n repetitions"
            ),
        }
    }
}

/// The footnotes of a table: the rule, what the page has to say of its figures,
/// and the inputs of each run. What all runs share is said once.
pub fn footnotes(stamps: &[Stamp], figures: Vec<String>) -> Vec<String> {
    let mut notes = said_once("rule", stamps, Stamp::rule_text);
    notes.extend(figures);
    notes.extend(stamps.iter().map(|stamp| {
        let files = figure::counted(stamp.inputs, "file");
        format!("inputs of {}: {files}, sha256 {}", stamp.run, short(&stamp.inputs_sha256))
    }));
    notes
}

/// How `a ±b` was made, and of how many repetitions, for footnotes.
pub fn method_notes(stamps: &[Stamp], n: &[Option<i64>]) -> Vec<String> {
    let mut notes = said_once("method", stamps, Stamp::method_text);
    notes.extend(repetition_note(n));
    notes
}

/// One line for all runs where they agree, else one for each group that does.
fn said_once(what: &str, stamps: &[Stamp], text: impl Fn(&Stamp) -> String) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for stamp in stamps {
        let text = text(stamp);
        match groups.iter_mut().find(|(known, _)| *known == text) {
            Some((_, runs)) => runs.push(&stamp.run),
            None => groups.push((text, vec![&stamp.run])),
        }
    }
    if let [(text, _)] = groups.as_slice() {
        return vec![format!("{what}: {text}")];
    }
    let line = |(text, runs): (String, Vec<&str>)| format!("{what} of {}: {text}", runs.join(", "));
    groups.into_iter().map(line).collect()
}

/// How many repetitions the cells have, for footnotes.
pub fn repetition_note(n: &[Option<i64>]) -> Option<String> {
    let unknown = n.iter().filter(|n| n.is_none()).count();
    let (least, most) = (n.iter().flatten().min(), n.iter().flatten().max());
    let mut text = match (least, most) {
        (Some(1), Some(1)) => {
            "n: 1 repetition in every cell, so that there are no intervals".into()
        }
        (Some(least), Some(most)) if least == most => {
            format!("n: {least} repetitions in every cell")
        }
        (Some(least), Some(most)) => format!("n: {least} to {most} repetitions in a cell"),
        _ if unknown > 0 => return Some("n: unknown".to_owned()),
        _ => return None,
    };
    if unknown > 0 {
        text += &format!(", unknown for {}", figure::counted(unknown, "cell"));
    }
    Some(text)
}

/// Rows with two more columns: the rule that judged them, and the sha256 of the
/// inputs of their run. Rows without a column `run` are about all of the runs,
/// whose rules and hashes they carry joined by `+`.
///
/// # Errors
/// If a column `run` is no text.
pub fn stamped(view: &View, stamps: &[Stamp]) -> Result<RecordBatch, ReportError> {
    let batch = view.batch();
    let (rules, hashes) = if batch.schema_ref().field_with_name("run").is_ok() {
        let by_run: BTreeMap<&str, (String, &str)> = stamps
            .iter()
            .map(|stamp| (&*stamp.run, (stamp.rule_text(), &*stamp.inputs_sha256)))
            .collect();
        let stamp = |run: Option<String>| run.and_then(|run| by_run.get(&*run));
        let found: Vec<_> = view.texts("run")?.into_iter().map(stamp).collect();
        (
            found.iter().map(|found| found.map(|(rule, _)| rule.as_str())).collect::<StringArray>(),
            found.iter().map(|found| found.map(|(_, hash)| *hash)).collect::<StringArray>(),
        )
    } else {
        let mut rules: Vec<String> = stamps.iter().map(Stamp::rule_text).collect();
        rules.dedup();
        let rule = rules.join(" + ");
        let hashes: Vec<&str> = stamps.iter().map(|stamp| &*stamp.inputs_sha256).collect();
        let hashes = hashes.join("+");
        (
            (0..view.len()).map(|_| Some(&*rule)).collect::<StringArray>(),
            (0..view.len()).map(|_| Some(&*hashes)).collect::<StringArray>(),
        )
    };
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    columns.push(Arc::new(rules));
    columns.push(Arc::new(hashes));
    Ok(RecordBatch::try_new(stamped_schema(batch.schema_ref()), columns)?)
}

fn stamped_schema(schema: &Schema) -> SchemaRef {
    let mut fields: Vec<Arc<Field>> = schema.fields().iter().cloned().collect();
    for name in ["rule", "inputs_sha256"] {
        fields.push(Arc::new(Field::new(name, DataType::Utf8, true)));
    }
    Arc::new(Schema::new(fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(run: &str) -> Stamp {
        Stamp {
            run: run.to_owned(),
            rule: Rule::default(),
            source: "defaults".to_owned(),
            inputs: 2,
            inputs_sha256: run.repeat(64),
        }
    }

    fn input(path: &str) -> InputFile {
        InputFile { path: path.to_owned(), size: 1, sha256: "ab".repeat(32) }
    }

    #[test]
    fn inputs_are_hashed_as_sha256sum_prints_them_in_any_order() {
        let mut hasher = Hasher::new();
        let hash = "ab".repeat(32);
        hasher.update(format!("{hash}  environment.json\n{hash}  summary.csv\n").as_bytes());
        let expected = hasher.finish();
        let inputs = [input("summary.csv"), input("environment.json")];
        assert_eq!(inputs_sha256(&inputs), expected);
    }

    #[test]
    fn footnotes_say_once_what_is_shared() {
        let notes = {
            let stamps = [stamp("a"), stamp("b")];
            footnotes(&stamps, method_notes(&stamps, &[Some(3), Some(3)]))
        };
        assert_eq!(
            notes,
            [
                "rule: confidence 0.95, tie floor 0.1, error ceiling 0.01, guard limit 0.6, min coverage 0.8, estimator mean (defaults)",
                "method: mean ± t(0.975, n−1)·s/√n over n repetitions",
                "n: 3 repetitions in every cell",
                "inputs of a: 2 files, sha256 aaaaaaaaaaaaaaaa",
                "inputs of b: 2 files, sha256 bbbbbbbbbbbbbbbb",
            ]
        );
    }

    #[test]
    fn footnotes_tell_runs_apart_that_differ() {
        let mut other = stamp("b");
        other.rule.estimator = Estimator::Median;
        other.rule.confidence = 0.9;
        let stamps = [stamp("a"), other];
        let notes = footnotes(&stamps, method_notes(&stamps, &[]));
        assert!(notes[0].starts_with("rule of a: confidence 0.95"), "{notes:?}");
        assert!(notes[1].starts_with("rule of b: confidence 0.9,"), "{notes:?}");
        assert_eq!(
            notes[3],
            "method of b: median ± the half-width of the mean, t(0.95, n−1)·s/√n over n repetitions"
        );
    }

    #[test]
    fn repetitions_in_words() {
        let text = |n: &[Option<i64>]| repetition_note(n);
        assert_eq!(text(&[]), None);
        assert_eq!(text(&[None]).unwrap(), "n: unknown");
        assert_eq!(
            text(&[Some(1)]).unwrap(),
            "n: 1 repetition in every cell, so that there are no intervals"
        );
        assert_eq!(
            text(&[Some(4), Some(2), None]).unwrap(),
            "n: 2 to 4 repetitions in a cell, unknown for 1 cell"
        );
    }

    #[test]
    fn rows_carry_the_stamp_of_their_run_or_of_all() {
        let column = |name: &str, values: Vec<&str>| {
            let array: ArrayRef = Arc::new(StringArray::from(values));
            let batch = RecordBatch::try_from_iter([(name, array)]).unwrap();
            View::new("cells", &batch.schema(), &[batch]).unwrap()
        };
        let hashes = |view: &View| {
            let batch = stamped(view, &[stamp("a"), stamp("b")]).unwrap();
            let view = View::new("cells", &batch.schema(), &[batch]).unwrap();
            view.texts("inputs_sha256").unwrap()
        };
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        assert_eq!(
            hashes(&column("run", vec!["b", "a", "c"])),
            [Some(b.clone()), Some(a.clone()), None]
        );
        assert_eq!(hashes(&column("server", vec!["x"])), [Some(format!("{a}+{b}"))]);
    }
}

//! Typed fields out of a JSON object or a CSV row: one set of rules for both.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::error::{Place, RawError, Warning};

/// The spellings of one field. A message about a missing field names the first.
pub(super) type Names<'a> = &'a [&'a str];

/// Spellings of one field in different units, each with its way to the unit
/// that is kept.
pub(super) type Units<'a> = &'a [(&'a str, fn(f64) -> f64)];

/// Whether values have types of their own (JSON) or are all text (CSV).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Typing {
    Json,
    Text,
}

/// What a field must hold, and how it is read.
pub(super) struct Rule<T> {
    expected: &'static str,
    read: fn(&Value, Typing) -> Option<T>,
}

/// Text.
pub(super) const TEXT: Rule<String> =
    Rule { expected: "text", read: |value, _| value.as_str().map(str::to_owned) };

/// The largest number that is taken: larger than whatever can be measured, and small enough
/// that sums of squares of it are finite.
pub(super) const LARGEST: f64 = 1e18;

/// Text, or a number as text: what tiers are called.
pub(super) const LABEL: Rule<String> = Rule { expected: "text or a number", read: label };

/// Anything: text verbatim, everything else as JSON.
pub(super) const VERBATIM: Rule<String> =
    Rule { expected: "any value", read: |value, _| Some(verbatim(value)) };

/// True or false; in CSV also `True`, `False`, `1` and `0`.
pub(super) const FLAG: Rule<bool> = Rule { expected: "true or false", read: flag };

/// `PASS` or `FAIL`, as published tables say it, or a flag.
pub(super) const PASSED: Rule<bool> = Rule { expected: "PASS or FAIL", read: passed };

/// A whole number.
pub(super) const INTEGER: Rule<i64> = Rule { expected: "a whole number", read: integer };

/// A whole number of at least 0.
pub(super) const COUNT: Rule<i64> = Rule {
    expected: "a whole number of at least 0",
    read: |value, typing| integer(value, typing).filter(|count| *count >= 0),
};

/// A whole number of at least 1.
pub(super) const ORDINAL: Rule<i64> = Rule {
    expected: "a whole number of at least 1",
    read: |value, typing| integer(value, typing).filter(|count| *count >= 1),
};

/// A time in unix seconds.
pub(super) const TIME: Rule<f64> = Rule { expected: "a number from -1e18 to 1e18", read: number };

/// A number of at least 0: a duration, a rate, a size.
pub(super) const AMOUNT: Rule<f64> = Rule {
    expected: "a number from 0 to 1e18",
    read: |value, typing| number(value, typing).filter(|amount| *amount >= 0.0),
};

/// A number from 0 to 1.
pub(super) const FRACTION: Rule<f64> = Rule {
    expected: "a number from 0 to 1",
    read: |value, typing| number(value, typing).filter(|share| (0.0..=1.0).contains(share)),
};

/// A number from 0 to 1, or above it by rounding.
pub(super) const COVERAGE: Rule<f64> = Rule {
    expected: "a number from 0 to 1.05",
    read: |value, typing| number(value, typing).filter(|share| (0.0..=1.05).contains(share)),
};

/// `sync` or `async`.
pub(super) const MODE: Rule<String> =
    Rule { expected: "`sync` or `async`", read: |value, _| one_of(value, &["sync", "async"]) };

/// `closed`, `open` or `burst`.
pub(super) const LOOP: Rule<String> = Rule {
    expected: "`closed`, `open` or `burst`",
    read: |value, _| one_of(value, &["closed", "open", "burst"]),
};

const OBJECT: Rule<Map<String, Value>> =
    Rule { expected: "an object", read: |value, _| value.as_object().cloned() };

const ARRAY: Rule<Vec<Value>> =
    Rule { expected: "an array", read: |value, _| value.as_array().cloned() };

fn label(value: &Value, _: Typing) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Text as it is, everything else as JSON text.
pub(super) fn verbatim(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn one_of(value: &Value, choices: &[&str]) -> Option<String> {
    value.as_str().filter(|text| choices.contains(text)).map(str::to_owned)
}

fn flag(value: &Value, typing: Typing) -> Option<bool> {
    match (value, typing) {
        (Value::Bool(flag), _) => Some(*flag),
        (Value::String(text), Typing::Text) => match text.as_str() {
            "True" | "true" | "1" => Some(true),
            "False" | "false" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn passed(value: &Value, typing: Typing) -> Option<bool> {
    match value.as_str() {
        Some("PASS") => Some(true),
        Some("FAIL") => Some(false),
        _ => flag(value, typing),
    }
}

fn number(value: &Value, typing: Typing) -> Option<f64> {
    let number = match (value, typing) {
        (Value::Number(number), _) => number.as_f64(),
        (Value::String(text), Typing::Text) => text.parse().ok(),
        _ => None,
    };
    number.filter(|number| number.abs() <= LARGEST)
}

fn integer(value: &Value, typing: Typing) -> Option<i64> {
    /// From here on, neighbouring whole numbers are one float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = match (value, typing) {
        (Value::Number(number), _) => number.as_i64(),
        (Value::String(text), Typing::Text) => text.parse().ok(),
        _ => None,
    };
    whole.or_else(|| {
        number(value, typing)
            .filter(|number| number.fract() == 0.0 && number.abs() < EXACT)
            .map(|number| number as i64)
    })
}

/// A value, and how its field is spelt in the file.
#[derive(Debug)]
struct Entry {
    spelling: String,
    value: Value,
}

impl Entry {
    /// An empty text is nothing, as is null.
    fn is_null(&self) -> bool {
        self.value.is_null() || self.value.as_str().is_some_and(str::is_empty)
    }
}

/// The fields of one JSON object or CSV row. Each is taken out as it is read;
/// what stays is not known.
#[derive(Debug)]
pub(super) struct Fields {
    place: Place,
    typing: Typing,
    entries: BTreeMap<String, Entry>,
}

impl Fields {
    /// The fields of a JSON object. Those of the objects named in `nested`
    /// count as the object's own: `latency.p50_s` is `latency_p50_s`.
    pub(super) fn of_object(place: Place, value: Value, nested: &[&str]) -> Result<Self, RawError> {
        let Value::Object(object) = value else {
            return Err(RawError::Other {
                place,
                message: format!("expected a JSON object, found {}", shortened(value.to_string())),
            });
        };
        let mut fields = Self { place, typing: Typing::Json, entries: BTreeMap::new() };
        for (name, value) in object {
            match value {
                Value::Null if nested.contains(&name.as_str()) => {}
                Value::Object(inner) if nested.contains(&name.as_str()) => {
                    for (key, value) in inner {
                        let spelling = format!("{name}.{key}");
                        fields.insert(format!("{name}_{key}"), Entry { spelling, value })?;
                    }
                }
                value => fields.insert(name.clone(), Entry { spelling: name, value })?,
            }
        }
        Ok(fields)
    }

    /// The fields of a CSV row, from (column, cell) pairs.
    pub(super) fn of_row<'a>(
        place: Place,
        cells: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let entries = cells
            .map(|(column, cell)| {
                let value = Value::String(cell.to_owned());
                (column.to_owned(), Entry { spelling: column.to_owned(), value })
            })
            .collect();
        Self { place, typing: Typing::Text, entries }
    }

    /// Where the fields stand.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    fn insert(&mut self, name: String, entry: Entry) -> Result<(), RawError> {
        let earlier = self.entries.remove(&name);
        let entry = self.same(earlier, entry)?;
        self.entries.insert(name, entry);
        Ok(())
    }

    /// One field in two spellings must say one thing.
    fn same(&self, earlier: Option<Entry>, later: Entry) -> Result<Entry, RawError> {
        match earlier {
            Some(earlier) if later.is_null() => Ok(earlier),
            Some(earlier) if !earlier.is_null() && earlier.value != later.value => {
                let expected = format!("{} as in `{}`", self.shown(&earlier), earlier.spelling);
                Err(self.unexpected(&later.spelling, expected, self.shown(&later)))
            }
            _ => Ok(later),
        }
    }

    /// Reads a field that may be missing or null.
    pub(super) fn take<T>(
        &mut self,
        names: Names<'_>,
        rule: Rule<T>,
    ) -> Result<Option<T>, RawError> {
        let mut found = None;
        for name in names {
            if let Some(entry) = self.entries.remove(*name) {
                found = Some(self.same(found, entry)?);
            }
        }
        match found {
            Some(entry) if !entry.is_null() => self.read(&entry, &rule).map(Some),
            _ => Ok(None),
        }
    }

    /// Reads a field that must be there.
    pub(super) fn need<T>(&mut self, names: Names<'_>, rule: Rule<T>) -> Result<T, RawError> {
        let expected = rule.expected;
        self.take(names, rule)?.ok_or_else(|| self.missing(names[0], expected))
    }

    /// Reads a figure that may stand in one of several units; where several
    /// stand, the first of `units` is kept.
    pub(super) fn take_in(
        &mut self,
        units: Units<'_>,
        rule: Rule<f64>,
    ) -> Result<Option<f64>, RawError> {
        let mut kept = None;
        for (name, convert) in units {
            let entry = self.entries.remove(*name).filter(|entry| !entry.is_null());
            let Some(entry) = entry else { continue };
            let figure = self.read(&entry, &rule)?;
            kept = kept.or(Some(convert(figure)));
        }
        Ok(kept)
    }

    /// The members of an object by name; none where it is missing or null.
    pub(super) fn members(&mut self, name: &str) -> Result<Map<String, Value>, RawError> {
        Ok(self.take(&[name], OBJECT)?.unwrap_or_default())
    }

    /// The elements of an array; none where it is missing or null.
    pub(super) fn elements(&mut self, name: &str) -> Result<Vec<Value>, RawError> {
        Ok(self.take(&[name], ARRAY)?.unwrap_or_default())
    }

    fn read<T>(&self, entry: &Entry, rule: &Rule<T>) -> Result<T, RawError> {
        (rule.read)(&entry.value, self.typing)
            .ok_or_else(|| self.unexpected(&entry.spelling, rule.expected, self.shown(entry)))
    }

    fn shown(&self, entry: &Entry) -> String {
        match self.typing {
            Typing::Json => shortened(entry.value.to_string()),
            Typing::Text => shortened(verbatim(&entry.value)),
        }
    }

    /// The error of a field that does not hold what it should.
    pub(super) fn unexpected(
        &self,
        field: &str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> RawError {
        RawError::Field {
            place: self.place.clone(),
            field: field.to_owned(),
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// The error of a field that is not there.
    pub(super) fn missing(&self, field: &str, expected: &str) -> RawError {
        RawError::Missing {
            place: self.place.clone(),
            field: field.to_owned(),
            expected: expected.to_owned(),
        }
    }
}

/// A value short enough for a message.
fn shortened(text: String) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The fields of one kind of file that nobody reads.
#[derive(Debug, Default)]
pub(super) struct Unknown(BTreeSet<String>);

impl Unknown {
    /// Notes what is left of a line's fields.
    pub(super) fn note(&mut self, fields: Fields) {
        self.0.extend(fields.entries.into_values().map(|entry| entry.spelling));
    }

    /// One warning that names them all, if there are any.
    pub(super) fn warning(self, kind: &str) -> Option<Warning> {
        let names: Vec<String> = self.0.into_iter().collect();
        (!names.is_empty()).then(|| Warning {
            place: Place::file(kind),
            message: format!("fields not known, left out: {}", names.join(", ")),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Fields {
        Fields::of_object(Place::line("f", 3), value, &["latency"]).unwrap()
    }

    fn row(cells: &[(&'static str, &'static str)]) -> Fields {
        Fields::of_row(Place::line("f", 3), cells.iter().copied())
    }

    #[test]
    fn json_and_csv_read_alike() {
        let mut typed = object(json!({"a": 5, "b": 5.0, "c": true, "d": 0.25, "e": "x", "t": 8}));
        let mut text =
            row(&[("a", "5"), ("b", "5.0"), ("c", "True"), ("d", "0.25"), ("e", "x"), ("t", "8")]);
        for fields in [&mut typed, &mut text] {
            assert_eq!(fields.need(&["a"], COUNT).unwrap(), 5);
            assert_eq!(fields.need(&["b"], COUNT).unwrap(), 5);
            assert!(fields.need(&["c"], FLAG).unwrap());
            assert_eq!(fields.need(&["d"], FRACTION).unwrap(), 0.25);
            assert_eq!(fields.need(&["e"], TEXT).unwrap(), "x");
            assert_eq!(fields.need(&["t"], LABEL).unwrap(), "8");
        }
    }

    #[test]
    fn nested_and_flat_are_one_field() {
        for value in [json!({"latency": {"p50_s": 0.5}}), json!({"latency_p50_s": 0.5})] {
            let mut fields = object(value);
            assert_eq!(fields.take(&["latency_p50_s"], AMOUNT).unwrap(), Some(0.5));
        }
    }

    #[test]
    fn spellings_that_disagree_are_refused() {
        let value = json!({"latency": {"p50_s": 0.5}, "latency_p50_s": 0.6});
        let error = Fields::of_object(Place::file("f"), value, &["latency"]).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("as in `latency.p50_s`"), "{message}");

        let message =
            object(json!({"a": 1, "b": 2})).take(&["a", "b"], COUNT).unwrap_err().to_string();
        assert_eq!(message, "f:3: field `b`: expected 1 as in `a`, found 2");
        assert_eq!(object(json!({"a": null, "b": 2})).take(&["a", "b"], COUNT).unwrap(), Some(2));
        assert_eq!(object(json!({"a": 2, "b": ""})).take(&["a", "b"], COUNT).unwrap(), Some(2));
    }

    #[test]
    fn null_empty_and_absent_are_nothing() {
        let mut fields = object(json!({"a": null, "b": ""}));
        for name in ["a", "b", "c"] {
            assert_eq!(fields.take(&[name], TEXT).unwrap(), None);
        }
        let message = row(&[("rps", "")]).need(&["rps"], AMOUNT).unwrap_err().to_string();
        assert_eq!(message, "f:3: field `rps` is missing: expected a number from 0 to 1e18");
    }

    #[test]
    fn bad_figures_are_named() {
        for bad in ["-1", "NaN", "inf", "x", "1.5.0"] {
            let message = row(&[("rps", bad)]).need(&["rps"], AMOUNT).unwrap_err().to_string();
            assert_eq!(
                message,
                format!("f:3: field `rps`: expected a number from 0 to 1e18, found {bad}")
            );
        }
        for bad in ["0", "-3", "2.5", "1e300"] {
            row(&[("n", bad)]).need(&["n"], ORDINAL).unwrap_err();
        }
        object(json!({"n": "5"})).need(&["n"], COUNT).unwrap_err();
        object(json!({"f": 1.01})).need(&["f"], FRACTION).unwrap_err();
        object(json!({"m": "both"})).need(&["m"], MODE).unwrap_err();
        object(json!({"m": 1})).need(&["m"], FLAG).unwrap_err();
    }

    #[test]
    fn units_are_converted_and_the_first_is_kept() {
        let units: Units<'_> = &[("s", |s| s), ("ms", |ms| ms / 1e3)];
        assert_eq!(row(&[("ms", "9.1")]).take_in(units, AMOUNT).unwrap(), Some(0.0091));
        assert_eq!(row(&[("ms", "9.1"), ("s", "2")]).take_in(units, AMOUNT).unwrap(), Some(2.0));
        row(&[("ms", "-1"), ("s", "2")]).take_in(units, AMOUNT).unwrap_err();
    }

    #[test]
    fn what_stays_is_named_once() {
        let mut unknown = Unknown::default();
        for _ in 0..2 {
            let mut fields = object(json!({"b": 1, "a": 2, "latency": {"p1_s": 3}, "known": 4}));
            fields.need(&["known"], COUNT).unwrap();
            unknown.note(fields);
        }
        let warning = unknown.warning("rungs.jsonl").unwrap().to_string();
        assert_eq!(warning, "rungs.jsonl: fields not known, left out: a, b, latency.p1_s");
        assert_eq!(Unknown::default().warning("f"), None);
    }

    #[test]
    fn long_values_are_cut() {
        assert_eq!(shortened("é".repeat(100)), format!("{}…", "é".repeat(60)));
    }
}

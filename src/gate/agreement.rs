//! Whether the targets give the same answers to the same queries.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::compare::{self, Difference, KEY, Table};
use super::http::{Ask, Client};
use super::{GateTarget, Options, TargetKind};
use crate::answer::{Answer, Format};
use crate::corpus::{Corpus, Draws, Kind, Query, hex};

/// More rows than any probe has: a server's own default may be fewer than a
/// probe's.
const MAXREC: &str = "1000000";

/// Whether the targets agree, class by class.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    pub agreed: Vec<String>,
    pub disagreed: Vec<String>,
    /// Classes whose rows are the same, and some value in them is not.
    pub other_values: Vec<String>,
    /// Why nothing was compared, if nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    pub classes: BTreeMap<String, ClassAgreement>,
}

/// Whether the targets agree on a class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassAgreement {
    pub agrees: bool,
    /// Nothing where values are not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_values: Option<bool>,
    /// Why it does not agree, one sentence each.
    pub reasons: Vec<String>,
    pub detail: Vec<Probe>,
}

/// A query that was sent to all targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    pub query_id: String,
    pub same: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_values: Option<bool>,
    /// As it was sent: in an order that can be compared.
    pub query: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_min: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_max: Option<u64>,
    pub results: BTreeMap<String, Outcome>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    #[serde(skip)]
    reasons: Vec<String>,
}

/// What a target answered: in the first format, and in each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    #[serde(flatten)]
    pub first: Received,
    /// By format.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub formats: BTreeMap<String, Received>,
}

/// What came in one format.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Received {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Of the keys, of whole rows without keys, or of a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Of whole rows in canonical form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Sends the probes of every class to all targets, and compares the answers.
pub fn run(
    client: &Client,
    targets: &[GateTarget],
    corpus: &Corpus,
    options: &Options,
    progress: &mut dyn FnMut(&str),
) -> Agreement {
    let mut agreement = Agreement::default();
    for (class, queries) in corpus.classes() {
        let probes = choose(&queries, class, options);
        if probes.is_empty() {
            continue;
        }
        let plural = if probes.len() == 1 { "" } else { "s" };
        progress(&format!("{class}: {} probe{plural}", probes.len()));
        let detail: Vec<Probe> =
            probes.iter().map(|query| probe(client, targets, query, options)).collect();
        let mut reasons = Vec::new();
        for reason in detail.iter().flat_map(|probe| &probe.reasons) {
            if !reasons.contains(reason) {
                reasons.push(reason.clone());
            }
        }
        let of_values: Vec<bool> = detail.iter().filter_map(|probe| probe.same_values).collect();
        let found = ClassAgreement {
            agrees: detail.iter().all(|probe| probe.same),
            same_values: (!of_values.is_empty()).then(|| of_values.iter().all(|same| *same)),
            reasons,
            detail,
        };
        let list = if found.agrees { &mut agreement.agreed } else { &mut agreement.disagreed };
        list.push(class.to_owned());
        if found.agrees && found.same_values == Some(false) {
            agreement.other_values.push(class.to_owned());
        }
        agreement.classes.insert(class.to_owned(), found);
    }
    agreement
}

/// A class's probes: as many as are asked for of its portable queries, by lot,
/// in the corpus's order.
fn choose<'a>(queries: &[&'a Query], class: &str, options: &Options) -> Vec<&'a Query> {
    let mut places: Vec<usize> =
        (0..queries.len()).filter(|place| queries[*place].portable).collect();
    let stream = Sha256::digest(class);
    let stream = u64::from_le_bytes(std::array::from_fn(|place| stream[place]));
    Draws::new(options.seed, stream).shuffle(&mut places);
    places.truncate(options.probes);
    places.sort_unstable();
    places.into_iter().map(|place| queries[place]).collect()
}

/// The query in an order that servers share: by identifier, after what it is
/// ordered by itself. Without that, the rows that TOP leaves are each server's
/// own choice.
pub fn ordered(query: &Query) -> String {
    let adql = query.adql.clone().unwrap_or_default();
    if query.kind() != Kind::Rows {
        return adql;
    }
    let key = query.order_by.as_deref().unwrap_or(KEY);
    let adql = adql.trim_end().trim_end_matches(';').trim_end();
    if has_order(adql) { format!("{adql}, {key}") } else { format!("{adql} ORDER BY {key}") }
}

/// Whether ORDER BY stands outside quotes and parentheses.
fn has_order(adql: &str) -> bool {
    let (mut depth, mut quote) = (0_i32, None);
    let mut plain = String::new();
    for c in adql.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, _) if depth == 0 => plain.push(c.to_ascii_lowercase()),
            (None, _) => {}
        }
    }
    plain.split_whitespace().collect::<Vec<_>>().windows(2).any(|words| words == ["order", "by"])
}

/// One answer, by target and format.
struct Entry<'a> {
    target: &'a str,
    format: Option<Format>,
    table: Result<Table, String>,
    document: Option<(u16, String)>,
}

impl Entry<'_> {
    fn name(&self, with_format: bool) -> String {
        match self.format.filter(|_| with_format) {
            Some(format) => format!("{} ({})", self.target, format.name()),
            None => self.target.to_owned(),
        }
    }

    fn result(&self) -> Received {
        match (&self.document, &self.table) {
            (Some((status, sha256)), _) => Received {
                status: Some(*status),
                sha256: Some(sha256.clone()),
                error: self.table.as_ref().err().cloned(),
                ..Received::default()
            },
            (None, Ok(table)) => Received {
                rows: Some(table.rows.len() as u64),
                sha256: Some(table.sha256()),
                values_sha256: table.has_key.then(|| table.values_sha256()),
                ..Received::default()
            },
            (None, Err(error)) => Received { error: Some(error.clone()), ..Received::default() },
        }
    }
}

fn probe(client: &Client, targets: &[GateTarget], query: &Query, options: &Options) -> Probe {
    let is_http = query.kind() == Kind::Http;
    let of_kind = |target: &&GateTarget| (target.kind == TargetKind::Http) == is_http;
    let adql = ordered(query);
    let mut entries = Vec::new();
    for target in targets.iter().filter(of_kind) {
        if is_http {
            entries.push(document(client, target, query));
        } else {
            for format in &options.formats {
                entries.push(table(client, target, query, &adql, *format));
            }
        }
    }
    let by_key = query.kind() == Kind::Rows
        && entries.iter().all(|entry| entry.table.as_ref().map_or(true, |table| table.has_key));
    if !by_key {
        forget_keys(&mut entries);
    }
    fold(&mut entries);
    let mut probe = Probe {
        query_id: query.query_id.clone(),
        same: true,
        same_values: None,
        query: if is_http { query.path.clone().unwrap_or_default() } else { adql },
        rows_min: query.rows_min,
        rows_max: query.rows_max,
        results: BTreeMap::new(),
        differences: Vec::new(),
        reasons: Vec::new(),
    };
    for entry in &entries {
        let outcome = probe.results.entry(entry.target.to_owned()).or_default();
        if outcome.formats.is_empty() {
            outcome.first = entry.result();
        }
        if let Some(format) = entry.format {
            outcome.formats.insert(format.name().to_owned(), entry.result());
        }
    }
    probe.judge(query, &entries);
    probe
}

fn table<'a>(
    client: &Client,
    target: &'a GateTarget,
    query: &Query,
    adql: &str,
    format: Format,
) -> Entry<'a> {
    let url = format!("{}/sync", target.base());
    let pairs = [
        ("REQUEST", "doQuery"),
        ("LANG", "ADQL"),
        ("MAXREC", MAXREC),
        ("RESPONSEFORMAT", format.name()),
        ("QUERY", adql),
    ];
    let table = match client.ask(&target.ask(Ask::form(url, &pairs)), &target.reach) {
        Err(error) => Err(error.to_string()),
        Ok(reply) => match Answer::parse(format, &reply.body) {
            Err(error) if reply.status == 200 => Err(error.to_string()),
            Err(error) => Err(format!("status {}: {error}", reply.status)),
            Ok(_) if reply.status >= 400 => Err(format!("status {}", reply.status)),
            Ok(answer) => Ok(Table::new(&answer, query.kind() == Kind::Rows)),
        },
    };
    Entry { target: &target.name, format: Some(format), table, document: None }
}

fn document<'a>(client: &Client, target: &'a GateTarget, query: &Query) -> Entry<'a> {
    let method = query.method.as_deref().unwrap_or("GET").parse();
    let ask = Ask {
        method: method.unwrap_or_default(),
        url: format!("{}{}", target.base(), query.path.as_deref().unwrap_or("/")),
        headers: query.headers.clone().into_iter().collect(),
        body: query.body.clone().unwrap_or_default().into_bytes(),
    };
    let (table, document) = match client.ask(&target.ask(ask), &target.reach) {
        Err(error) => (Err(error.to_string()), None),
        Ok(reply) => {
            let sha256 = hex(&Sha256::digest(&reply.body));
            let table = match reply.status {
                400.. => Err(format!("status {}", reply.status)),
                _ => Ok(Table::default()),
            };
            (table, Some((reply.status, sha256)))
        }
    };
    Entry { target: &target.name, format: None, table, document }
}

/// Compares whole rows, since one answer has no keys.
fn forget_keys(entries: &mut [Entry<'_>]) {
    for table in entries.iter_mut().filter_map(|entry| entry.table.as_mut().ok()) {
        table.has_key = false;
        for (key, row) in &mut table.rows {
            key.clone_from(row);
        }
        table.rows.sort_unstable();
    }
}

/// Takes null and empty text for the same, unless all answers tell them apart.
fn fold(entries: &mut [Entry<'_>]) {
    let tables = || entries.iter().filter_map(|entry| entry.table.as_ref().ok());
    let formats: Vec<Option<Format>> = entries.iter().map(|entry| entry.format).collect();
    let all_tell = |format| {
        entries
            .iter()
            .filter(|entry| entry.format == format)
            .filter_map(|entry| entry.table.as_ref().ok())
            .all(Table::tells_null)
    };
    let has_keys = tables().all(|table| table.has_key);
    let all_formats_tell = tables().all(Table::tells_null);
    // Without keys, rows are compared over formats too.
    let folded: Vec<bool> = formats
        .iter()
        .map(|format| if has_keys { !all_tell(*format) } else { !all_formats_tell })
        .collect();
    for (entry, fold) in entries.iter_mut().zip(folded) {
        if let (Ok(table), true) = (&mut entry.table, fold) {
            table.fold_empty();
        }
    }
}

impl Probe {
    fn refuse(&mut self, reason: String) {
        self.same = false;
        self.reasons.push(reason);
    }

    fn judge(&mut self, query: &Query, entries: &[Entry<'_>]) {
        let several = entries.iter().any(|entry| entry.format != entries[0].format);
        if entries.is_empty() {
            return self.refuse("no target can be asked it".to_owned());
        }
        for entry in entries {
            let name = entry.name(several);
            match &entry.table {
                Err(error) => self.refuse(format!("{name}: {error}")),
                Ok(table) if table.overflow => {
                    self.refuse(format!("{name}: the server left rows out (OVERFLOW)"));
                }
                Ok(_) => {}
            }
        }
        let good: Vec<(&Entry<'_>, &Table)> =
            entries.iter().filter_map(|entry| Some((entry, entry.table.as_ref().ok()?))).collect();
        let Some((first, reference)) = good.first() else { return };
        match query.kind() {
            Kind::Metadata => {}
            Kind::Http => {
                for (other, _) in &good[1..] {
                    if other.document != first.document {
                        let (a, b) = (first.target, other.target);
                        self.refuse(format!("{a} and {b} send different documents"));
                    }
                }
            }
            Kind::Rows | Kind::Aggregate => {
                for (entry, table) in &good {
                    let rows = table.rows.len() as u64;
                    if !query.expects(rows) {
                        let name = entry.name(several);
                        self.refuse(format!(
                            "{name}: {rows} rows, the corpus has {}",
                            bounds(query)
                        ));
                    }
                }
                for (other, table) in &good[1..] {
                    let names = (first.name(several), other.name(several));
                    let found = compare::keys((&names.0, reference), (&names.1, table));
                    if !found.is_empty() {
                        self.refuse(format!("{} and {} give different rows", names.0, names.1));
                        self.differences.extend(found);
                    }
                }
                self.same_values = Some(self.values(&good, several));
            }
        }
    }

    /// Whether rows are the same to their last value, within each format.
    fn values(&mut self, good: &[(&Entry<'_>, &Table)], several: bool) -> bool {
        let mut same = true;
        for (place, (entry, table)) in good.iter().enumerate() {
            let first = good[..place].iter().find(|(other, _)| other.format == entry.format);
            let Some((reference, first)) = first else { continue };
            if first.values_sha256() == table.values_sha256() && first.columns == table.columns {
                continue;
            }
            same = false;
            // Rows that are not there are said already.
            if first.sha256() == table.sha256() {
                let names = (reference.name(several), entry.name(several));
                self.differences.extend(compare::values((&names.0, first), (&names.1, table)));
            }
        }
        same
    }
}

fn bounds(query: &Query) -> String {
    match (query.rows_min, query.rows_max) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("{least} or more"),
        (None, Some(most)) => format!("{most} at most"),
        (None, None) => "any number".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(adql: &str) -> Query {
        serde_json::from_value(serde_json::json!({
            "query_id": "q", "query_class": "Q", "adql": adql
        }))
        .unwrap()
    }

    #[test]
    fn the_order_is_that_of_the_identifier() {
        for (adql, expected) in [
            ("SELECT * FROM t", "SELECT * FROM t ORDER BY obs_publisher_did"),
            ("SELECT * FROM t ORDER  BY x ; ", "SELECT * FROM t ORDER  BY x, obs_publisher_did"),
            (
                "SELECT * FROM (SELECT * FROM t ORDER BY x) AS s WHERE a = 'order by'",
                "SELECT * FROM (SELECT * FROM t ORDER BY x) AS s WHERE a = 'order by' \
                 ORDER BY obs_publisher_did",
            ),
            ("SELECT a, COUNT(*) FROM t GROUP BY a", "SELECT a, COUNT(*) FROM t GROUP BY a"),
            ("SELECT * FROM tap_schema.tables", "SELECT * FROM tap_schema.tables"),
        ] {
            assert_eq!(ordered(&query(adql)), expected);
        }
        let mut join = query("SELECT a.x FROM t AS a");
        join.order_by = Some("a.obs_publisher_did".to_owned());
        assert_eq!(ordered(&join), "SELECT a.x FROM t AS a ORDER BY a.obs_publisher_did");
    }

    #[test]
    fn probes_are_chosen_by_lot_among_the_portable() {
        let mut queries: Vec<Query> =
            (0..40).map(|n| query(&format!("SELECT {n} FROM t"))).collect();
        queries[3].portable = false;
        let list: Vec<&Query> = queries.iter().collect();
        let chosen = |seed, class: &str| -> Vec<String> {
            let options = Options { seed, probes: 5, ..Options::default() };
            let found = choose(&list, class, &options);
            found.into_iter().filter_map(|query| query.adql.clone()).collect()
        };
        assert_eq!(chosen(1, "Q").len(), 5);
        assert_eq!(chosen(1, "Q"), chosen(1, "Q"));
        assert_ne!(chosen(1, "Q"), chosen(2, "Q"));
        assert_ne!(chosen(1, "Q"), chosen(1, "R"));
        let all = Options { probes: 99, ..Options::default() };
        assert_eq!(choose(&list, "Q", &all).len(), 39);
    }
}

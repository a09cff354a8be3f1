//! The query classes: what is asked, and how the parameters are drawn.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::archive::{FIELDS, SKY};
use super::columns::COLUMNS;
use super::draws::Draws;
use super::filter::{Filter, literal};
use super::observation::{Observation, Observations, TIMES};
use super::portable::at_decimals;
use super::query::Kind;

/// Parameter combinations of each class that has parameters.
pub const COMBINATIONS: usize = 40;

/// The stream that parameters are drawn from: far beyond any row's.
const STREAM: u64 = u64::MAX;

/// What an observation is known by in a short list.
const NARROW: &str = "obs_publisher_did, obs_id, obs_collection, dataproduct_type, s_ra, s_dec, \
                      t_min, access_url";

/// A query before its rows are counted.
#[derive(Debug, Clone)]
pub struct Draft {
    pub class: &'static str,
    pub kind: Kind,
    pub portable: bool,
    pub order_by: Option<&'static str>,
    pub adql: String,
    /// All of these hold for its rows.
    pub filters: Vec<Filter>,
    /// Rows at most.
    pub top: Option<u64>,
    /// The columns whose combinations are its rows.
    pub groups: &'static [&'static str],
    pub params: BTreeMap<String, Value>,
}

/// The queries of a table of so many rows, class by class.
pub fn drafts<'a>(observations: &'a Observations, rows: u64, seed: u64) -> Vec<Draft> {
    let mut drafts = vec![metadata()];
    let makers: [fn(&mut Maker<'a>, usize) -> Draft; 10] = [
        Maker::lookup,
        Maker::categories,
        Maker::times,
        Maker::cone,
        Maker::cone_and_condition,
        Maker::ordered_cone,
        Maker::wide,
        Maker::bulk,
        Maker::shapes,
        Maker::aggregate,
    ];
    let mut maker = Maker { observations, rows, draws: Draws::new(seed, STREAM) };
    for make in makers {
        let mut texts = BTreeSet::new();
        let mut number = 0;
        while texts.len() < COMBINATIONS {
            let draft = make(&mut maker, number);
            if texts.insert(draft.adql.clone()) {
                drafts.push(draft);
                number += 1;
            }
        }
    }
    drafts
}

fn metadata() -> Draft {
    Draft {
        class: "Q01",
        kind: Kind::Metadata,
        portable: true,
        order_by: None,
        adql: "SELECT schema_name, table_name, table_type, description FROM tap_schema.tables"
            .to_owned(),
        filters: Vec::new(),
        top: None,
        groups: &[],
        params: BTreeMap::new(),
    }
}

/// A query over rows.
fn rows(class: &'static str, top: Option<u64>, columns: &str, filters: Vec<Filter>) -> Draft {
    let top_clause = top.map_or_else(String::new, |top| format!("TOP {top} "));
    let conditions: Vec<String> = filters.iter().map(|filter| filter.adql("")).collect();
    let conditions = conditions.join(" AND ");
    Draft {
        class,
        kind: Kind::Rows,
        portable: true,
        order_by: Some("obs_publisher_did"),
        adql: format!("SELECT {top_clause}{columns} FROM ivoa.obscore WHERE {conditions}"),
        filters,
        top,
        groups: &[],
        params: BTreeMap::new(),
    }
}

fn all_columns() -> String {
    COLUMNS.map(|(name, _)| name).join(", ")
}

struct Maker<'a> {
    observations: &'a Observations,
    rows: u64,
    draws: Draws,
}

impl Maker<'_> {
    fn any_row(&mut self) -> Observation {
        self.observations.row(1 + self.draws.below(self.rows))
    }

    /// A field that is observed often, or where some row lies.
    fn centre(&mut self, in_field: bool) -> (f64, f64) {
        let position = if in_field {
            let field = self.draws.below(FIELDS as u64) as usize;
            self.observations.field(field)
        } else {
            self.any_row().position.unwrap_or_else(|| self.observations.field(0))
        };
        let reach = if in_field { 1.0 } else { 0.03 };
        let mut shift = || self.draws.between(-reach, reach);
        let (east, north) = (shift(), shift());
        let ra = at_decimals((position.0 + east).rem_euclid(360.0), 4);
        (ra, at_decimals((position.1 + north).clamp(-89.9, 89.9), 4))
    }

    fn radius(&mut self, low: f64, high: f64) -> f64 {
        at_decimals(self.draws.log_between(low, high), 3)
    }

    fn circle(&mut self, in_field: bool, low: f64, high: f64) -> (f64, f64, f64) {
        let (ra, dec) = self.centre(in_field);
        (ra, dec, self.radius(low, high))
    }

    /// Q02: by identifier: one, one of another kind, or five.
    fn lookup(&mut self, number: usize) -> Draft {
        let mut take = |count, of: fn(Observation) -> String| -> Vec<String> {
            let mut ids = BTreeSet::new();
            while ids.len() < count {
                ids.insert(of(self.any_row()));
            }
            ids.into_iter().collect()
        };
        let filter = match number % 4 {
            0 => Filter::Text("obs_id", take(1, |row| row.obs_id)),
            1 => Filter::Text("obs_publisher_did", take(5, |row| row.obs_publisher_did)),
            _ => Filter::Text("obs_publisher_did", take(1, |row| row.obs_publisher_did)),
        };
        rows("Q02", None, NARROW, vec![filter]).with([])
    }

    /// Q03: by category.
    fn categories(&mut self, number: usize) -> Draft {
        let archive = self.draws.pick(SKY);
        let product = self.draws.pick(archive.products);
        let mut filters = vec![match (number % 3, archive.instrument) {
            (0, Some(instrument)) => Filter::Text("instrument_name", vec![instrument.into()]),
            _ => Filter::Text("obs_collection", vec![archive.collection.into()]),
        }];
        if let Some(name) = product.name() {
            filters.push(Filter::Text("dataproduct_type", vec![name.into()]));
        }
        // A level that it can have, or the rows would be none.
        let level = product.calib_level(&mut self.draws);
        filters.push(match number % 2 {
            0 => Filter::AtLeast("calib_level", level),
            _ => Filter::Is("calib_level", level),
        });
        rows("Q03", Some(100), NARROW, filters).with([])
    }

    /// Q04: by time.
    fn times(&mut self, _: usize) -> Draft {
        let length = self.draws.log_between(10.0, 400.0);
        let start = self.draws.between(TIMES.0, TIMES.1 - length);
        let (start, end) = (at_decimals(start, 2), at_decimals(start + length, 2));
        let filter = Filter::Range("t_min", start, end);
        rows("Q04", Some(200), NARROW, vec![filter]).with([("start", start), ("end", end)])
    }

    /// Q05: a small cone.
    fn cone(&mut self, number: usize) -> Draft {
        let (ra, dec, radius) = self.circle(!number.is_multiple_of(4), 0.05, 0.5);
        let filter = Filter::Circle(ra, dec, radius);
        rows("Q05", None, NARROW, vec![filter]).with([("ra", ra), ("dec", dec), ("radius", radius)])
    }

    /// Q06: a cone with a second condition.
    fn cone_and_condition(&mut self, number: usize) -> Draft {
        let (ra, dec, radius) = self.circle(!number.is_multiple_of(4), 0.5, 3.0);
        let second = match number % 4 {
            0 => Filter::AtLeast("calib_level", 2),
            1 => {
                let product = self.draws.pick(&["image", "cube", "spectrum"]);
                Filter::Text("dataproduct_type", vec![(*product).into()])
            }
            2 => Filter::Text("obs_collection", vec![self.draws.pick(SKY).collection.into()]),
            _ => Filter::From("t_min", at_decimals(self.draws.between(TIMES.0, 58_000.0), 2)),
        };
        let filters = vec![Filter::Circle(ra, dec, radius), second];
        rows("Q06", None, NARROW, filters).with([("ra", ra), ("dec", dec), ("radius", radius)])
    }

    /// Q07: a cone in the order of distance or time.
    fn ordered_cone(&mut self, number: usize) -> Draft {
        let (ra, dec, radius) = self.circle(!number.is_multiple_of(4), 0.3, 3.0);
        let cone = Filter::Circle(ra, dec, radius);
        let params = [("ra", ra), ("dec", dec), ("radius", radius)];
        if number % 2 == 1 {
            // Where nulls are sorted is each server's own choice.
            let filters = vec![cone, Filter::From("t_min", 0.0)];
            let mut draft = rows("Q07", Some(50), NARROW, filters).with(params);
            draft.adql += " ORDER BY t_min";
            return draft;
        }
        let (ra, dec) = (literal(ra), literal(dec));
        let distance = format!(
            "DISTANCE(POINT('ICRS', s_ra, s_dec), POINT('ICRS', {ra}, {dec})) AS separation"
        );
        let columns = format!("obs_publisher_did, s_ra, s_dec, {distance}");
        let mut draft = rows("Q07", Some(50), &columns, vec![cone]).with(params);
        draft.adql += " ORDER BY separation";
        draft
    }

    /// Q10: all columns of a thousand rows.
    fn wide(&mut self, number: usize) -> Draft {
        let (name, filter) = if number.is_multiple_of(2) {
            let archive = self.draws.pick(SKY);
            // No value of the table has seven digits: none is at the limit,
            // whatever the precision of the column.
            let wave = self.draws.log_between(archive.wavelengths.0, archive.wavelengths.1);
            let wave = format!("{wave:.5e}").replace('e', "5e");
            let wave = wave.parse().expect("a number that was written reads back");
            ("em_min", Filter::From("em_min", wave))
        } else {
            ("t_min", self.late())
        };
        let value = match filter {
            Filter::From(_, value) => value,
            _ => unreachable!("a limit was made"),
        };
        rows("Q10", Some(1000), &all_columns(), vec![filter]).with([(name, value)])
    }

    /// Q11: all columns of ten thousand rows, most of a table of 20,000.
    fn bulk(&mut self, _: usize) -> Draft {
        let filter = self.late();
        let Filter::From(name, value) = filter else { unreachable!("a limit was made") };
        rows("Q11", Some(10_000), &all_columns(), vec![filter]).with([(name, value)])
    }

    /// Three quarters of the rows, or more.
    fn late(&mut self) -> Filter {
        Filter::From("t_min", at_decimals(self.draws.between(TIMES.0, 53_800.0), 2))
    }

    /// Q12: several shapes, or a join.
    fn shapes(&mut self, number: usize) -> Draft {
        let (ra, dec, radius) = self.circle(true, 0.3, 1.5);
        let params = [("ra", ra), ("dec", dec), ("radius", radius)];
        match number % 10 {
            0..=2 => {
                let (ra2, dec2, radius2) = self.circle(true, 0.3, 1.5);
                let either =
                    vec![Filter::Circle(ra, dec, radius), Filter::Circle(ra2, dec2, radius2)];
                let filters = vec![Filter::Any(either)];
                let second = [("ra2", ra2), ("dec2", dec2), ("radius2", radius2)];
                rows("Q12", None, NARROW, filters).with(params).with(second)
            }
            3..=5 => {
                let inner = at_decimals(radius / 3.0, 3);
                let ring = vec![Filter::Circle(ra, dec, radius), Filter::Outside(ra, dec, inner)];
                rows("Q12", None, NARROW, ring).with(params).with([("inner", inner)])
            }
            6..=8 => {
                let level = self.draws.integer(1, 3);
                join(Filter::Circle(ra, dec, radius), Filter::Is("calib_level", level)).with(params)
            }
            // A box is no shape of ADQL 2.1, and servers draw it each in its
            // own way. The first field lies on the equator.
            _ => {
                let ra = at_decimals(self.draws.between(178.5, 181.5), 3);
                let dec = at_decimals(self.draws.between(-1.0, 1.0), 3);
                let (width, height) = (self.radius(0.5, 2.0), self.radius(0.5, 2.0));
                let filter = Filter::Box(ra, dec, width, height);
                let params = [("ra", ra), ("dec", dec), ("width", width), ("height", height)];
                Draft { portable: false, ..rows("Q12", None, NARROW, vec![filter]).with(params) }
            }
        }
    }

    /// Q13: figures of groups.
    fn aggregate(&mut self, number: usize) -> Draft {
        const GROUPS: [&[&str]; 5] = [
            &["obs_collection"],
            &["obs_collection", "dataproduct_type"],
            &["facility_name", "instrument_name"],
            &["dataproduct_type", "calib_level"],
            &["access_format"],
        ];
        let groups = GROUPS[number % GROUPS.len()];
        let filter = match number % 2 {
            0 => Filter::From("t_min", at_decimals(self.draws.between(TIMES.0, 58_000.0), 2)),
            _ => {
                let first = self.draws.between(-80.0, 20.0);
                Filter::Range("s_dec", at_decimals(first, 4), at_decimals(first + 60.0, 4))
            }
        };
        let group = groups.join(", ");
        let condition = filter.adql("");
        let adql = format!(
            "SELECT {group}, COUNT(*) AS n, MIN(t_min) AS first_start, MAX(t_max) AS last_end, \
             AVG(t_exptime) AS mean_exptime FROM ivoa.obscore WHERE {condition} GROUP BY {group}"
        );
        let draft = rows("Q13", None, "", vec![filter]);
        Draft { kind: Kind::Aggregate, order_by: None, adql, groups, ..draft }.with([])
    }
}

/// The table joined with itself by identifier: a condition on either side.
fn join(left: Filter, right: Filter) -> Draft {
    let adql = format!(
        "SELECT a.obs_publisher_did, a.s_ra, a.s_dec, b.t_min, b.em_min, b.em_max \
         FROM ivoa.obscore AS a JOIN ivoa.obscore AS b \
         ON a.obs_publisher_did = b.obs_publisher_did WHERE {} AND {}",
        left.adql("a."),
        right.adql("b.")
    );
    let order_by = Some("a.obs_publisher_did");
    Draft { adql, order_by, ..rows("Q12", None, "", vec![left, right]) }
}

impl Draft {
    /// Takes down what was drawn: these numbers, and the filters' own values.
    fn with<const N: usize>(mut self, numbers: [(&str, f64); N]) -> Self {
        for (name, value) in numbers {
            self.params.insert(name.to_owned(), json!(value));
        }
        for filter in &self.filters {
            let (name, value) = match filter {
                Filter::Text(name, values) if values.len() == 1 => (*name, json!(values[0])),
                Filter::Text(name, values) => (*name, json!(values)),
                Filter::Is(name, value) | Filter::AtLeast(name, value) => (*name, json!(value)),
                Filter::From(name, value) => (*name, json!(value)),
                Filter::Range(name, low, high) if N == 0 => (*name, json!([low, high])),
                _ => continue,
            };
            self.params.insert(name.to_owned(), value);
        }
        self
    }
}

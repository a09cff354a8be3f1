//! The five predictions of the shipped protocol, on data that bear them out, and
//! on the same data altered until each of them turns.
//!
//! The alterations are made to a small campaign that is written here, and to the
//! published one where it is at hand.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::support::{SCALING, Sandbox, published, sources};

const EARLIER: &str = "20260911T065452Z-41bfc513-tap-compare";
const LATER: &str = SCALING;

/// A row of a CSV file by its columns.
type Row = BTreeMap<String, String>;

/// Two runs as published ones are laid out.
#[derive(Clone)]
struct Campaign {
    earlier: Option<Vec<Row>>,
    rungs: Vec<Row>,
    resources: Vec<Row>,
    environments: BTreeMap<&'static str, Vec<u8>>,
}

/// Which rows an alteration is about; empty stands for all.
#[derive(Clone, Copy, Default)]
struct Of {
    server: &'static str,
    tier: &'static str,
    class: &'static str,
    format: &'static str,
    concurrency: &'static str,
}

impl Of {
    const fn server(server: &'static str) -> Self {
        Self { server, tier: "", class: "", format: "", concurrency: "" }
    }

    const fn tier(self, tier: &'static str) -> Self {
        Self { tier, ..self }
    }

    const fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }

    const fn csv_at_32(self) -> Self {
        Self { format: "csv", concurrency: "32", ..self }
    }

    fn is(self, row: &Row) -> bool {
        let fits = |column: &str, wanted: &str| {
            wanted.is_empty() || row.get(column).is_some_and(|found| found == wanted)
        };
        row["target"].starts_with(self.server)
            && fits("tier", self.tier)
            && fits("query_class", self.class)
            && fits("response_format", self.format)
            && fits("concurrency", self.concurrency)
    }
}

const ARGUS: Of = Of::server("argus");
const DACHS: Of = Of::server("dachs");
const EGERNIA: Of = Of::server("egernia");
const COST: Of = EGERNIA.class("mix").csv_at_32();

fn scale(rows: &mut [Row], of: Of, column: &str, factor: f64) {
    let mut scaled = 0;
    for row in rows.iter_mut().filter(|row| of.is(row)) {
        let value: f64 = row[column].parse().unwrap();
        row.insert(column.to_owned(), format!("{}", value * factor));
        scaled += 1;
    }
    assert!(scaled > 0, "nothing to alter");
}

fn set(rows: &mut [Row], of: Of, column: &str, value: &str) {
    let mut rows = rows.iter_mut().filter(|row| of.is(row)).peekable();
    assert!(rows.peek().is_some(), "nothing to alter");
    rows.for_each(|row| _ = row.insert(column.to_owned(), value.to_owned()));
}

impl Campaign {
    /// Three servers on three tiers as the protocol predicts them, with a little
    /// noise between repetitions.
    fn made() -> Self {
        let mut rungs = Vec::new();
        let mut resources = Vec::new();
        let mut earlier = Vec::new();
        for server in ["argus", "dachs", "egernia"] {
            for (place, tier) in [(0, "8"), (1, "16"), (2, "24")] {
                for class in ["Q01", "Q05", "Q11", "Q13", "mix"] {
                    for (format, concurrency, repetition) in combinations() {
                        let grown = match server {
                            "argus" if class == "Q01" => [1.0, 1.5, 2.0][place],
                            "argus" => [1.0, 1.5, 1.5][place],
                            "egernia" => [1.0, 1.9, 2.8][place],
                            _ => 1.0,
                        };
                        let noise = 1.0 + 0.002 * (f64::from(repetition) - 2.0);
                        let rps = 100.0 * grown * noise;
                        let key = [
                            ("target", format!("{server}-scaling3")),
                            ("server", server.to_owned()),
                            ("query_class", class.to_owned()),
                            ("response_format", format.to_owned()),
                            ("concurrency", concurrency.to_string()),
                            ("repetition", repetition.to_string()),
                            ("requests", "6000".to_owned()),
                            ("tier", tier.to_owned()),
                        ];
                        let key: Row = key.map(|(name, value)| (name.to_owned(), value)).into();
                        let with = |figures: &[(&str, &str)]| {
                            let figures = figures.iter();
                            let figures = figures.map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
                            key.clone().into_iter().chain(figures).collect::<Row>()
                        };
                        let rung = with(&[
                            ("error_fraction", "0.0"),
                            ("rps", &rps.to_string()),
                            ("generator_cpu_peak", "0.2"),
                            ("generator_guard_ok", "True"),
                        ]);
                        if tier == "8" {
                            let mut rung = rung.clone();
                            rung.remove("tier");
                            rung.insert("target".to_owned(), format!("{server}-final"));
                            earlier.push(rung);
                        }
                        let mut used = with(&[
                            ("window_seconds", "60"),
                            ("coverage", "1"),
                            ("cpu_seconds", "60"),
                            ("cpu_cores", "1"),
                            ("cpu_seconds_per_request", "0.01"),
                            ("mem_mean_bytes", "1"),
                            ("mem_peak_bytes", "1"),
                        ]);
                        used.remove("server");
                        rungs.push(rung);
                        resources.push(used);
                    }
                }
            }
        }
        Self { earlier: Some(earlier), rungs, resources, environments: BTreeMap::new() }
    }

    /// The published runs.
    fn published() -> Option<Self> {
        let root = published()?;
        let rows = |run: &str, file: &str| {
            let mut reader = csv::Reader::from_path(root.join(run).join(file)).unwrap();
            reader.deserialize().map(Result::unwrap).collect::<Vec<Row>>()
        };
        let environment = |run| std::fs::read(root.join(run).join("environment.json")).unwrap();
        let mut resources = rows(LATER, "resources.csv");
        // It has to be that of the rung, which is altered.
        resources.iter_mut().for_each(|row| _ = row.remove("rps"));
        Some(Self {
            earlier: Some(rows(EARLIER, "summary.csv")),
            rungs: rows(LATER, "summary.csv"),
            resources,
            environments: [EARLIER, LATER].map(|run| (run, environment(run))).into(),
        })
    }

    /// What becomes of each prediction: the whole, and its parts by name.
    fn judged(&self) -> BTreeMap<String, (String, Vec<(String, String)>)> {
        let sandbox = Sandbox::new();
        let write = |run: &'static str, file: &str, rows: &[Row]| {
            let folder = sandbox.run(run);
            if let Some(environment) = self.environments.get(run) {
                folder.file("environment.json", environment);
            }
            folder.file(file, as_csv(rows));
            folder
        };
        if let Some(earlier) = &self.earlier {
            sandbox.ingest(write(EARLIER, "summary.csv", earlier));
        }
        let later = write(LATER, "resources.csv", &self.resources);
        let protocol = sources().join("protocols/scaling-three-way.toml");
        later.file("summary.csv", as_csv(&self.rungs)).file("protocol.toml", read(&protocol));
        sandbox.ingest(later);

        let command = sandbox.tapstat(&["hypotheses", "--run", LATER, "--format", "json"]);
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let rows: Vec<Value> = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {stderr}"));
        let mut judged = BTreeMap::<String, (String, Vec<(String, String)>)>::new();
        for row in rows {
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            let entry = judged.entry(text("hypothesis")).or_default();
            entry.0 = text("judged");
            entry.1.push((text("part"), text("outcome")));
        }
        judged
    }

    /// Alters a copy, and says what becomes of one prediction: the whole, and the
    /// outcomes of its parts.
    fn turned(&self, hypothesis: &str, alter: impl FnOnce(&mut Self)) -> String {
        let mut altered = self.clone();
        alter(&mut altered);
        let (whole, parts) = altered.judged().remove(hypothesis).unwrap();
        let parts: Vec<String> = parts.into_iter().map(|(_, outcome)| outcome).collect();
        format!("{whole}: {}", parts.join(", "))
    }

    fn speed(&mut self, of: Of, factor: f64) {
        scale(&mut self.rungs, of, "rps", factor);
    }

    fn void(&mut self, of: Of) {
        set(&mut self.rungs, of, "generator_guard_ok", "False");
    }

    fn lose(&mut self, of: Of) {
        self.rungs.retain(|row| !of.is(row));
        self.resources.retain(|row| !of.is(row));
    }

    /// The rates of one tier of a server become those of another.
    fn level(&mut self, of: Of, from: &'static str, to: &'static str) {
        let key = |row: &Row| {
            ["target", "query_class", "response_format", "concurrency", "repetition"]
                .map(|column| row[column].clone())
        };
        let rates: BTreeMap<_, String> = self
            .rungs
            .iter()
            .filter(|row| of.tier(from).is(row))
            .map(|row| (key(row), row["rps"].clone()))
            .collect();
        for row in self.rungs.iter_mut().filter(|row| of.tier(to).is(row)) {
            row.insert("rps".to_owned(), rates[&key(row)].clone());
        }
    }
}

fn combinations() -> impl Iterator<Item = (&'static str, u32, u32)> {
    let pairs = [("csv", 8), ("csv", 32), ("votable", 8), ("votable", 32)];
    pairs.into_iter().flat_map(|(format, c)| (1..=3).map(move |repetition| (format, c, repetition)))
}

fn as_csv(rows: &[Row]) -> Vec<u8> {
    let columns: Vec<&String> = rows[0].keys().collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&columns).unwrap();
    for row in rows {
        writer.write_record(columns.iter().map(|column| &row[*column])).unwrap();
    }
    writer.into_inner().unwrap()
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

fn wholes(campaign: &Campaign) -> Vec<String> {
    campaign.judged().into_iter().map(|(id, (whole, _))| format!("{id} {whole}")).collect()
}

#[test]
fn data_made_for_them_bear_out_all_five() {
    let expected = ["S1 holds", "S2 holds", "S3 holds", "S4 holds", "S5 holds"];
    assert_eq!(wholes(&Campaign::made()), expected);
}

#[test]
fn the_published_data_do_as_their_report_says() {
    let Some(campaign) = Campaign::published() else { return };
    let expected = ["S1 half-holds", "S2 holds", "S3 half-holds", "S4 holds", "S5 holds"];
    assert_eq!(wholes(&campaign), expected);
}

#[test]
fn s1_turns() {
    let made = Campaign::made();
    let turned = |alter: fn(&mut Campaign)| made.turned("S1", alter);
    assert_eq!(turned(|c| c.speed(DACHS.tier("24"), 1.5)), "half-holds: holds, fails");
    // One cell that contradicts is enough, whichever way.
    let one =
        |factor| made.turned("S1", |c| c.speed(DACHS.tier("24").class("Q05").csv_at_32(), factor));
    assert_eq!(
        (one(1.5), one(0.5)),
        ("half-holds: holds, fails".into(), "half-holds: holds, fails".into())
    );
    assert_eq!(turned(|c| c.speed(DACHS.tier("16"), 1.5)), "fails: fails, fails");
    assert_eq!(turned(|c| c.void(DACHS.tier("16"))), "unsettled: unsettled, unsettled");
    assert_eq!(turned(|c| c.void(DACHS.tier("8"))), "half-holds: unsettled, holds");
    // A void cell among others is passed over; a lost tier is not a tie.
    assert_eq!(turned(|c| c.void(DACHS.tier("16").class("Q05"))), "holds: holds, holds");
    assert_eq!(turned(|c| c.lose(DACHS.tier("24"))), "half-holds: holds, unsettled");
    assert_eq!(turned(|c| c.lose(DACHS)), "unsettled: unsettled, unsettled");
    let failed_and_void = |c: &mut Campaign| {
        c.speed(DACHS.tier("16"), 1.5);
        c.void(DACHS.tier("24"));
    };
    assert_eq!(turned(failed_and_void), "unsettled: fails, unsettled");

    let Some(published) = Campaign::published() else { return };
    let turned = |alter: fn(&mut Campaign)| published.turned("S1", alter);
    assert_eq!(turned(|c| c.level(DACHS, "8", "16")), "half-holds: holds, fails");
    let level = |c: &mut Campaign| {
        c.level(DACHS, "8", "16");
        c.level(DACHS, "8", "24");
    };
    assert_eq!(turned(level), "holds: holds, holds");
    assert_eq!(turned(|c| c.speed(DACHS.tier("24"), 2.0)), "fails: fails, fails");
    assert_eq!(turned(|c| c.void(DACHS.tier("24"))), "unsettled: fails, unsettled");
}

#[test]
fn s2_turns() {
    let mix = EGERNIA.class("mix");
    for campaign in [Some(Campaign::made()), Campaign::published()].into_iter().flatten() {
        let turned = |alter: &dyn Fn(&mut Campaign)| campaign.turned("S2", alter);
        assert_eq!(turned(&|c| c.level(mix, "16", "24")), "half-holds: holds, fails");
        assert_eq!(turned(&|c| c.level(mix, "8", "16")), "half-holds: fails, holds");
        let flat = |c: &mut Campaign| {
            c.level(mix, "8", "16");
            c.level(mix, "8", "24");
        };
        assert_eq!(turned(&flat), "fails: fails, fails");
        assert_eq!(turned(&|c| c.speed(mix.tier("24"), 0.1)), "half-holds: holds, fails");
        // Other classes, and other connections, are not what it is about.
        assert_eq!(turned(&|c| c.level(EGERNIA.class("Q05"), "8", "24")), "holds: holds, holds");
        assert_eq!(turned(&|c| c.void(mix.tier("24"))), "half-holds: holds, unsettled");
        assert_eq!(turned(&|c| c.void(mix.tier("16"))), "unsettled: unsettled, unsettled");
        // The other format still decides.
        assert_eq!(turned(&|c| c.void(mix.csv_at_32())), "holds: holds, holds");
        assert_eq!(turned(&|c| c.lose(mix)), "unsettled: unsettled, unsettled");
        assert_eq!(turned(&|c| c.lose(EGERNIA.tier("24"))), "half-holds: holds, unsettled");
    }
}

#[test]
fn s3_turns() {
    let q01 = ARGUS.class("Q01").csv_at_32();
    let made = Campaign::made();
    let turned = |alter: &dyn Fn(&mut Campaign)| made.turned("S3", alter);
    // The first half: gains, then stops.
    assert_eq!(turned(&|c| c.level(ARGUS.class("Q05"), "8", "16")), "half-holds: fails, holds");
    assert_eq!(
        turned(&|c| c.speed(ARGUS.tier("24").class("Q13"), 2.0)),
        "half-holds: fails, holds"
    );
    assert_eq!(turned(&|c| c.speed(ARGUS.tier("24").class("mix"), 2.0)), "holds: holds, holds");
    assert_eq!(turned(&|c| c.void(ARGUS.tier("8"))), "half-holds: unsettled, holds");
    // The second: Q01 keeps climbing.
    assert_eq!(turned(&|c| c.level(q01, "16", "24")), "half-holds: holds, fails");
    assert_eq!(turned(&|c| c.speed(q01.tier("24"), 0.5)), "half-holds: holds, fails");
    assert_eq!(turned(&|c| c.void(q01.tier("24"))), "half-holds: holds, unsettled");
    assert_eq!(turned(&|c| c.lose(q01.tier("24"))), "half-holds: holds, unsettled");
    // Both.
    assert_eq!(turned(&|c| c.level(ARGUS, "8", "16")), "half-holds: fails, holds");
    let flat = |c: &mut Campaign| {
        c.level(ARGUS, "8", "16");
        c.level(ARGUS, "8", "24");
    };
    assert_eq!(turned(&flat), "fails: fails, fails");
    assert_eq!(turned(&|c| c.lose(ARGUS)), "unsettled: unsettled, unsettled");
    assert_eq!(turned(&|c| c.void(ARGUS)), "unsettled: unsettled, unsettled");

    let Some(published) = Campaign::published() else { return };
    let turned = |alter: &dyn Fn(&mut Campaign)| published.turned("S3", alter);
    let believed = |factor: f64| {
        move |c: &mut Campaign| {
            set(&mut c.rungs, q01, "generator_guard_ok", "True");
            c.level(q01, "16", "24");
            c.speed(q01.tier("24"), factor);
        }
    };
    assert_eq!(turned(&believed(2.0)), "holds: holds, holds");
    assert_eq!(turned(&believed(1.0)), "half-holds: holds, fails");
    let slowed = |c: &mut Campaign| {
        believed(1.0)(c);
        c.speed(ARGUS.tier("24").class("Q05"), 0.5);
    };
    assert_eq!(turned(&slowed), "fails: fails, fails");
    assert_eq!(turned(&|c| c.speed(ARGUS.tier("16"), 0.5)), "unsettled: fails, unsettled");
}

#[test]
fn s4_turns() {
    for campaign in [Some(Campaign::made()), Campaign::published()].into_iter().flatten() {
        let turned = |alter: &dyn Fn(&mut Campaign)| campaign.turned("S4", alter);
        let earlier = |of: Of, factor: f64| {
            move |c: &mut Campaign| scale(c.earlier.as_mut().unwrap(), of, "rps", factor)
        };
        assert_eq!(turned(&|c| c.earlier = None), "unsettled: unsettled");
        let one = DACHS.class("Q05").csv_at_32();
        assert_eq!(turned(&earlier(one, 1.5)), "half-holds: holds, fails, holds");
        assert_eq!(turned(&earlier(one, 0.5)), "half-holds: holds, fails, holds");
        assert_eq!(turned(&earlier(Of::server(""), 2.0)), "fails: fails, fails, fails");
        // Other tiers are not what it is about.
        assert_eq!(turned(&|c| c.speed(EGERNIA.tier("16"), 3.0)), "holds: holds, holds, holds");
        assert_eq!(turned(&|c| c.void(EGERNIA.tier("8"))), "half-holds: holds, holds, unsettled");
        assert_eq!(
            turned(&|c| c.void(Of::server("").tier("8"))),
            "unsettled: unsettled, unsettled, unsettled"
        );
        let lost = |c: &mut Campaign| c.earlier.as_mut().unwrap().retain(|row| !DACHS.is(row));
        assert_eq!(turned(&lost), "half-holds: holds, unsettled, holds");
    }
}

#[test]
fn s5_turns() {
    let costs = |factor: f64, of: Of| {
        move |c: &mut Campaign| scale(&mut c.resources, of, "cpu_seconds_per_request", factor)
    };
    for campaign in [Some(Campaign::made()), Campaign::published()].into_iter().flatten() {
        let turned = |alter: &dyn Fn(&mut Campaign)| campaign.turned("S5", alter);
        assert_eq!(turned(&costs(1.2, COST.tier("24"))), "fails: fails");
        assert_eq!(turned(&costs(0.5, COST.tier("16"))), "fails: fails");
        assert_eq!(turned(&costs(2.0, COST.tier("8"))), "fails: fails");
        assert_eq!(turned(&costs(2.0, COST)), "holds: holds");
        assert_eq!(turned(&costs(2.0, EGERNIA.class("Q05"))), "holds: holds");
        // A void tier cannot contradict, and without the smallest none can.
        let void_and_dear = |c: &mut Campaign| {
            costs(2.0, COST.tier("24"))(c);
            c.void(COST.tier("24"));
        };
        assert_eq!(turned(&void_and_dear), "holds: holds");
        let smallest_void = |c: &mut Campaign| {
            costs(2.0, COST.tier("24"))(c);
            c.void(COST.tier("8"));
        };
        assert_eq!(turned(&smallest_void), "unsettled: unsettled");
        assert_eq!(turned(&|c| c.void(COST)), "unsettled: unsettled");
        assert_eq!(turned(&|c| c.lose(COST.tier("8"))), "unsettled: unsettled");
        assert_eq!(turned(&|c| c.resources.retain(|row| !COST.is(row))), "unsettled: unsettled");
    }
}

#[test]
fn check_is_no_unless_all_hold() {
    let sandbox = Sandbox::with_shipped_run();
    let shown = sandbox.tapstat(&["hypotheses"]).output().unwrap();
    let checked = sandbox.tapstat(&["hypotheses", "--check"]).output().unwrap();
    assert_eq!((shown.status.code(), checked.status.code()), (Some(0), Some(1)));
    assert_eq!(shown.stdout, checked.stdout);
}

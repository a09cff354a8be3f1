//! Runs of many shapes, small enough to be written and ingested in a moment.

use serde_json::{Value, json};

use crate::support::{Dice, Rung, Sandbox};

/// What a run is like.
#[derive(Debug, Clone)]
pub struct Shape {
    pub name: &'static str,
    pub targets: Vec<String>,
    /// None: a run without tiers.
    pub tiers: Vec<&'static str>,
    pub classes: Vec<String>,
    pub formats: Vec<&'static str>,
    pub repetitions: u32,
    /// Whether some rungs are voided, and others near the limit.
    pub voided: bool,
    /// How many times faster each target is than the one before.
    pub factor: f64,
}

/// Requests of every rung.
const REQUESTS: u32 = 12;
/// Seconds of every window.
const WINDOW: f64 = 6.0;

impl Shape {
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            targets: ["argus", "dachs", "egernia"].map(str::to_owned).to_vec(),
            tiers: vec!["8", "16", "24"],
            classes: vec!["Q01".to_owned(), "mix".to_owned()],
            formats: vec!["csv"],
            repetitions: 2,
            voided: false,
            factor: 3.0,
        }
    }

    /// All shapes that figures have to stand.
    pub fn all() -> Vec<Self> {
        let names = |count: usize, name: &str| (1..=count).map(|n| format!("{name}{n}")).collect();
        let long = "a-target-whose-name-is-far-too-long-to-stand-beside-its-line-";
        vec![
            Self::new("three targets"),
            Self { targets: names(1, "only"), ..Self::new("one target") },
            Self { targets: names(2, "t"), formats: vec!["csv", "votable"], ..Self::new("two") },
            Self { targets: names(6, "server"), factor: 1.0, ..Self::new("six that coincide") },
            Self { targets: names(3, long), ..Self::new("long names") },
            Self {
                targets: names(14, "target"),
                tiers: vec!["8", "16"],
                classes: vec!["mix".to_owned()],
                ..Self::new("fourteen")
            },
            Self { tiers: vec!["8"], ..Self::new("one tier") },
            Self { tiers: vec![], ..Self::new("no tiers") },
            Self { tiers: vec!["small", "medium", "large, with a name"], ..Self::new("words") },
            Self { voided: true, ..Self::new("voided") },
            Self { repetitions: 1, ..Self::new("no intervals") },
            Self { factor: 1000.0, ..Self::new("far apart") },
            Self {
                targets: names(2, "t"),
                tiers: vec!["8", "16"],
                classes: (1..=20).map(|n| format!("Q{n:02}")).collect(),
                repetitions: 1,
                ..Self::new("twenty classes")
            },
        ]
    }

    /// Writes and ingests it: its id.
    pub fn ingest(&self, sandbox: &Sandbox) -> String {
        let id = format!("shape-{}", self.name.replace([' ', ','], "-"));
        self.ingest_as(sandbox, &id)
    }

    /// The same under another id.
    pub fn ingest_as(&self, sandbox: &Sandbox, id: &str) -> String {
        let run = sandbox.run(id);
        let mut dice = Dice(id.len() as u64);
        let mut rungs = Vec::new();
        let mut samples: Vec<Value> = Vec::new();
        let mut start = 1000.0;
        let tiers: Vec<Option<&str>> = if self.tiers.is_empty() {
            vec![None]
        } else {
            self.tiers.iter().copied().map(Some).collect()
        };
        for (tier_index, tier) in tiers.iter().enumerate() {
            for class in &self.classes {
                for format in &self.formats {
                    for repetition in 1..=self.repetitions {
                        for (index, target) in self.targets.iter().enumerate() {
                            let speed = self.factor.powi(i32::try_from(index).unwrap())
                                * (1.0 + tier_index as f64)
                                * dice.between(0.97, 1.03);
                            let rung = self.rung(target, tier_index, index, repetition, speed);
                            let mut rung = rung
                                .with("query_class", class.as_str())
                                .with("response_format", *format);
                            let mut name = format!("{target}-{format}-{class}-c32-r{repetition}");
                            if let Some(tier) = tier {
                                rung = rung.with("tier", *tier);
                                name = format!("t{tier}-{name}");
                            }
                            rungs.push(rung);
                            let lines: Vec<Value> = (0..REQUESTS)
                                .map(|n| request(start, n, speed, &mut dice))
                                .collect();
                            // Names with signs that files do not bear are not these.
                            run.lines(&format!("samples/{name}.jsonl"), lines);
                            samples.extend(self.used(start, index));
                            start += WINDOW + 2.0;
                        }
                    }
                }
            }
        }
        run.lines("resources.jsonl", samples).rungs(rungs);
        let members: Vec<String> = self
            .targets
            .iter()
            .map(|target| format!("\"{target}\" = {{ members = [\"{target}\"] }}\n"))
            .collect();
        run.file("protocol.toml", format!("[containers]\n{}", members.concat()));
        sandbox.ingest(run);
        id.to_owned()
    }

    fn rung(&self, target: &str, tier: usize, index: usize, repetition: u32, speed: f64) -> Rung {
        let is_void = self.voided && tier > 0 && index == 0 && repetition == 1;
        let is_near = self.voided && index == 1;
        let peak = if is_void {
            0.7
        } else if is_near {
            0.5
        } else {
            0.2
        };
        let rps = 2.0 * speed;
        Rung::new(target, repetition)
            .with("concurrency", 32)
            .with("requests", REQUESTS)
            .with("elapsed_s", f64::from(REQUESTS) / rps)
            .with("rps", rps)
            .with("generator_cpu_peak", peak)
            .with("generator_guard_ok", !is_void)
            .with("generator_cpu_s", 0.1 + 0.02 * index as f64)
    }

    /// Samples of all containers around one window.
    fn used(&self, start: f64, busy: usize) -> Vec<Value> {
        let ticks = 0..=(WINDOW + 1.0) as u32;
        let of = |tick: u32| {
            let t = start - 0.5 + f64::from(tick);
            self.targets.iter().enumerate().map(move |(index, target)| {
                let cores = if index == busy { 2.0 } else { 0.1 };
                json!({
                    "t": t, "container": target,
                    "cpu_usec": (1e6 * (1.0 + index as f64) * cores * (t - 900.0)) as i64,
                    "mem_bytes": 1_000_000_000_i64 * (1 + index as i64), "python_procs": null,
                })
            })
        };
        ticks.flat_map(of).collect()
    }
}

fn request(start: f64, n: u32, speed: f64, dice: &mut Dice) -> Value {
    let latency = (1.0 / speed * dice.between(0.1, 1.0)).min(1.0);
    // The last one ends the window.
    let at = if n + 1 == REQUESTS { start + WINDOW - latency } else { start + 0.4 * f64::from(n) };
    json!({
        "t_start": at, "status": 200, "error": null, "latency_s": latency,
        "response_bytes": 1000 * (n + 1),
    })
}

/// A run of instances and sweeps: so many scenarios, names that long.
pub fn instances(sandbox: &Sandbox, id: &str, scenarios: usize, padding: &str) -> String {
    let run = sandbox.run(id);
    let mut rungs = Vec::new();
    for scenario in 1..=scenarios {
        let class = format!("scenario{padding}-{scenario}");
        let base = |instances: u32, rps: f64| {
            Rung::new("pool", 1)
                .with("query_class", class.as_str())
                .with("response_format", "-")
                .with("concurrency", 64)
                .with("instances", instances)
                .with("rps", rps)
        };
        let lost = scenario as f64 / scenarios as f64 / 2.0;
        for count in [1, 2, 3] {
            let rps = 1000.0 * f64::from(count) * (1.0 - lost * f64::from(count - 1) / 2.0);
            rungs.push(base(count, rps).with("loops", 1));
            if count > 1 {
                rungs.push(base(1, rps * 0.97).with("loops", count));
            }
        }
        for (step, connections) in [8, 32, 128, 512, 1024].into_iter().enumerate() {
            let instances = u32::try_from(1 + step / 2).unwrap();
            let failed = u32::from(scenario == 1 && step == 4);
            rungs.push(
                base(instances, 900.0 * (1.0 + step as f64))
                    .with("concurrency", connections)
                    .with("errors", failed)
                    .with("latency_p99_s", 0.001 * (1.0 + step as f64) * scenario as f64),
            );
        }
    }
    run.rungs(rungs);
    sandbox.ingest(run);
    id.to_owned()
}

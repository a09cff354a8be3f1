//! The ordered list of rungs.
//!
//! A campaign goes tier by tier. In the interleaved order all targets of a tier
//! are up: for each repetition, for each cell, every target is measured, and
//! only then the next cell. So the rungs that are compared lie side by side,
//! the repetitions of a cell as far apart as they can, and a campaign that is
//! cut short has whole repetitions. In blocks, one target is up, with all its
//! rungs of a tier, and then the next.
//!
//! A series (a sweep over connections, the bursts of a cell) takes the place of a
//! cell in both: it is one block of a target, and nothing comes between its rungs.

use crate::protocol::{Grid, Loop, Measure, Order, Protocol, Rate, TargetOrder};
use crate::raw::{Hasher, RungKey};

/// One rung that is to be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Place in the whole plan, from 0.
    pub position: usize,
    /// Its key; without `offered_rps` where that is a share of what is not
    /// measured yet, and without instances, which are counted at its end.
    pub key: RungKey,
    /// What an open loop offers.
    pub rate: Option<Rate>,
}

impl Planned {
    /// Its name as far as it is known: with the share where that is all.
    pub fn name(&self) -> String {
        let Some(Rate::Share(_)) = self.rate else { return self.key.name() };
        let name = self.key.name();
        let (rest, repetition) = name.rsplit_once("-r").unwrap_or((&name, ""));
        format!("{rest}-q{}-r{repetition}", self.rate.map(|r| r.to_string()).unwrap_or_default())
    }

    /// The rung of the closed loop that its share is taken of.
    pub fn capacity_key(&self) -> RungKey {
        RungKey {
            repetition: 1,
            offered_rps: None,
            r#loop: Some(Loop::Closed.name().to_owned()),
            ..self.key.clone()
        }
    }

    /// Its key, with the rate that a share comes to where the closed loop
    /// reached so many requests per second.
    pub fn resolved(&self, capacity: Option<f64>) -> Option<RungKey> {
        let offered_rps = match self.rate {
            None => None,
            Some(Rate::PerSecond(rate)) => Some(rate),
            Some(Rate::Share(share)) => Some(three_digits(share * capacity?)),
        };
        Some(RungKey { offered_rps, ..self.key.clone() })
    }
}

/// A rate with three significant digits: names stay short, and the repetitions
/// of a cell have one rate.
fn three_digits(rate: f64) -> f64 {
    format!("{rate:.2e}").parse().unwrap_or(rate)
}

/// Rungs of one target that follow each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The target.
    pub target: String,
    /// Its rungs.
    pub rungs: Vec<Planned>,
    /// Whether they are a series, which stays apart from what comes before and after.
    pub is_series: bool,
}

impl Block {
    /// Takes up what follows it, if that is of the same target and neither is a
    /// series; gives it back otherwise.
    fn join(&mut self, mut next: Self) -> Option<Self> {
        if self.target != next.target || self.is_series || next.is_series {
            return Some(next);
        }
        self.rungs.append(&mut next.rungs);
        None
    }
}

/// What is measured while the same targets are up.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// The tier.
    pub tier: Option<String>,
    /// How many instances of each target, where that is prescribed.
    pub instances: Option<i64>,
    /// The targets that are up.
    pub targets: Vec<String>,
    /// Their blocks, in order.
    pub blocks: Vec<Block>,
}

impl Stage {
    /// Prescribes instances, of one event loop each.
    fn with_instances(&mut self, instances: Option<i64>) {
        self.instances = instances;
        for rung in self.blocks.iter_mut().flat_map(|block| &mut block.rungs) {
            rung.key.instances = instances;
            rung.key.loops = instances.and(Some(1));
        }
    }
}

/// The rungs of a campaign, in the order of measuring.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// What is measured, one after the other.
    pub stages: Vec<Stage>,
}

/// Which part of a plan is wanted; an empty list is no restriction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// Tiers.
    pub tiers: Vec<String>,
    /// Targets.
    pub targets: Vec<String>,
    /// Query classes.
    pub classes: Vec<String>,
}

impl Plan {
    /// The whole plan of a protocol.
    pub fn of(protocol: &Protocol) -> Self {
        Planner { grid: &protocol.grid, measure: &protocol.measure, position: 0 }.plan()
    }

    /// The part of it that is wanted: positions and order stay.
    pub fn select(mut self, selection: &Selection) -> Self {
        let wants = |list: &[String], name: &String| list.is_empty() || list.contains(name);
        for stage in &mut self.stages {
            stage.targets.retain(|target| wants(&selection.targets, target));
            stage.blocks.retain(|block| wants(&selection.targets, &block.target));
            for block in &mut stage.blocks {
                block.rungs.retain(|rung| wants(&selection.classes, &rung.key.query_class));
            }
            stage.blocks.retain(|block| !block.rungs.is_empty());
            // Rungs of one target that follow each other now are one block.
            stage.blocks = joined(std::mem::take(&mut stage.blocks));
        }
        let is_tier = |tier: &Option<String>| match tier {
            Some(tier) => wants(&selection.tiers, tier),
            None => selection.tiers.is_empty(),
        };
        self.stages.retain(|stage| is_tier(&stage.tier) && !stage.blocks.is_empty());
        self
    }

    /// Its rungs, in order.
    pub fn rungs(&self) -> impl Iterator<Item = &Planned> {
        self.stages.iter().flat_map(|stage| &stage.blocks).flat_map(|block| &block.rungs)
    }

    /// How many rungs there are.
    pub fn len(&self) -> usize {
        self.rungs().count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }
}

/// Blocks, those that belong together as one.
fn joined(blocks: impl IntoIterator<Item = Block>) -> Vec<Block> {
    let mut joined: Vec<Block> = Vec::new();
    for block in blocks {
        let apart = match joined.last_mut() {
            Some(last) => last.join(block),
            None => Some(block),
        };
        joined.extend(apart);
    }
    joined
}

/// A seed of its own for each thing that draws: the same parts give the same.
pub fn seed_of(seed: i64, parts: &[&str]) -> u64 {
    let mut hasher = Hasher::new();
    hasher.update(&seed.to_le_bytes());
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    u64::from_str_radix(&hasher.finish()[..16], 16).expect("a hash is hexadecimal")
}

struct Planner<'a> {
    grid: &'a Grid,
    measure: &'a Measure,
    position: usize,
}

/// What a cell is measured as: a rate, or none.
type Cell<'a> = (&'a str, &'a str, i64, Option<Rate>);

/// What is measured of one target before another has its turn: a cell once, or a
/// series; each cell with its repetition.
type Turn<'a> = Vec<(Cell<'a>, i64)>;

impl Planner<'_> {
    fn plan(mut self) -> Plan {
        let tiers: Vec<Option<String>> = match self.grid.tiers.as_slice() {
            [] => vec![None],
            tiers => tiers.iter().cloned().map(Some).collect(),
        };
        let counts: Vec<Option<i64>> = match self.grid.instances.as_slice() {
            [] => vec![None],
            counts => counts.iter().copied().map(Some).collect(),
        };
        let rounds = tiers.iter().flat_map(|tier| counts.iter().map(move |count| (tier, *count)));
        let mut stages = Vec::new();
        for (round, (tier, instances)) in rounds.enumerate() {
            let mut planned = match self.measure.order {
                Order::Interleaved => vec![self.interleaved(tier.clone())],
                Order::Blocks => self.blocks(tier.clone(), round),
            };
            planned.iter_mut().for_each(|stage| stage.with_instances(instances));
            stages.append(&mut planned);
        }
        Plan { stages }
    }

    fn interleaved(&mut self, tier: Option<String>) -> Stage {
        let mut blocks: Vec<Block> = Vec::new();
        for (pass, turns) in self.passes().into_iter().enumerate() {
            for (at, turn) in turns.iter().enumerate() {
                // From one cell to the next, and from one repetition of a cell to
                // the next, turns alternate.
                for target in self.targets(tier.as_deref(), [pass, at]) {
                    blocks.push(self.block(&tier, target, turn));
                }
            }
        }
        let targets = self.grid.targets.clone();
        Stage { tier, instances: None, targets, blocks: joined(blocks) }
    }

    fn block(&mut self, tier: &Option<String>, target: String, turn: &Turn<'_>) -> Block {
        let rungs =
            turn.iter().map(|(cell, repetition)| self.rung(tier, &target, *cell, *repetition));
        let rungs = rungs.collect();
        Block { target, rungs, is_series: self.measure.has_series() }
    }

    fn blocks(&mut self, tier: Option<String>, round: usize) -> Vec<Stage> {
        let mut stages = Vec::new();
        for target in self.targets(tier.as_deref(), [round, 0]) {
            let turns = self.passes().into_iter().flatten();
            let blocks: Vec<Block> =
                turns.map(|turn| self.block(&tier, target.clone(), &turn)).collect();
            let blocks = joined(blocks);
            let targets = vec![target];
            stages.push(Stage { tier: tier.clone(), instances: None, targets, blocks });
        }
        stages
    }

    /// Each pass over the cells. Where rates are shares, a first pass measures
    /// what they are shares of. Bursts have one pass, a series for each cell.
    fn passes<'b>(&self) -> Vec<Vec<Turn<'b>>>
    where
        Self: 'b,
    {
        if let (Loop::Burst, Some(burst)) = (self.measure.r#loop, self.measure.burst) {
            let series = |cell| (1..=burst.count).map(|count| (cell, count)).collect();
            return vec![self.cells(&[None]).into_iter().map(series).collect()];
        }
        let rates: Vec<Option<Rate>> = match self.measure.r#loop {
            Loop::Closed | Loop::Burst => vec![None],
            Loop::Open => self.measure.rates.iter().copied().map(Some).collect(),
        };
        let has_shares = rates.iter().any(|rate| matches!(rate, Some(Rate::Share(_))));
        let capacity = has_shares.then(|| self.turns(1, &[None]));
        let repetitions = 1..=self.grid.repetitions.unwrap_or(0);
        let passes = repetitions.map(|repetition| self.turns(repetition, &rates));
        capacity.into_iter().chain(passes).collect()
    }

    /// The turns of a pass: a cell each, or a sweep over the connections of each
    /// format and class.
    fn turns<'b>(&self, repetition: i64, rates: &[Option<Rate>]) -> Vec<Turn<'b>>
    where
        Self: 'b,
    {
        let cells = self.cells(rates).into_iter().map(|cell| (cell, repetition));
        if !self.measure.sweep {
            return cells.map(|cell| vec![cell]).collect();
        }
        let mut cells: Turn<'b> = cells.collect();
        let points = self.grid.concurrencies.len().max(1);
        cells.chunks_mut(points).for_each(|sweep| sweep.sort_by_key(|((_, _, c, _), _)| *c));
        cells.chunks(points).map(<[_]>::to_vec).collect()
    }

    fn cells<'b>(&self, rates: &[Option<Rate>]) -> Vec<Cell<'b>>
    where
        Self: 'b,
    {
        let grid = self.grid;
        let mut cells = Vec::new();
        for format in &grid.formats {
            for class in &grid.classes {
                for &concurrency in &grid.concurrencies {
                    cells
                        .extend(rates.iter().map(|rate| (&**format, &**class, concurrency, *rate)));
                }
            }
        }
        cells
    }

    /// The targets in the order of a round.
    fn targets(&self, tier: Option<&str>, round: [usize; 2]) -> Vec<String> {
        let mut targets = self.grid.targets.clone();
        match self.measure.target_order {
            TargetOrder::Fixed => {}
            TargetOrder::Alternate if (round[0] + round[1]) % 2 == 1 => targets.reverse(),
            TargetOrder::Alternate => {}
            TargetOrder::Shuffled => {
                let seed = self.measure.seed.unwrap_or_default();
                let tier = tier.unwrap_or_default();
                let [pass, cell] = round.map(|number| number.to_string());
                targets.sort_by_key(|target| seed_of(seed, &["order", tier, &pass, &cell, target]));
            }
        }
        targets
    }

    fn rung(
        &mut self,
        tier: &Option<String>,
        target: &str,
        (format, class, concurrency, rate): Cell<'_>,
        repetition: i64,
    ) -> Planned {
        let position = self.position;
        self.position += 1;
        let r#loop = match (self.measure.r#loop, rate) {
            (Loop::Burst, _) => Loop::Burst,
            (_, Some(_)) => Loop::Open,
            (_, None) => Loop::Closed,
        };
        let key = RungKey {
            tier: tier.clone(),
            target: target.to_owned(),
            response_format: format.to_owned(),
            query_class: class.to_owned(),
            concurrency,
            repetition,
            mode: Some(self.measure.mode.name().to_owned()),
            r#loop: Some(r#loop.name().to_owned()),
            offered_rps: match rate {
                Some(Rate::PerSecond(rate)) => Some(rate),
                _ => None,
            },
            ..RungKey::default()
        };
        Planned { position, key, rate }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(measure: &str) -> Plan {
        let text = format!(
            "[grid]\ntargets = [\"A\", \"B\", \"C\"]\ntiers = [\"8\", \"16\"]\n\
             classes = [\"q\"]\nformats = [\"csv\"]\nconcurrencies = [4, 8]\nrepetitions = 2\n\
             [measure]\n{measure}\n"
        );
        Plan::of(&Protocol::parse(&text, "p.toml").unwrap())
    }

    /// `8:A4.1 …`: tier, target, connections, repetition.
    fn shown(plan: &Plan) -> String {
        let rung = |rung: &Planned| {
            let key = &rung.key;
            let tier = key.tier.as_deref().unwrap_or("-");
            format!("{tier}:{}{}.{}", key.target, key.concurrency, key.repetition)
        };
        plan.rungs().map(rung).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn instances_are_stages_of_a_tier() {
        let text = "[grid]\ntargets = [\"A\", \"B\"]\ntiers = [\"8\"]\nclasses = [\"q\"]\n\
                    formats = [\"-\"]\nconcurrencies = [4]\ninstances = [1, 2]\nrepetitions = 2\n";
        let plan = Plan::of(&Protocol::parse(text, "p.toml").unwrap());
        let counts: Vec<_> = plan.stages.iter().map(|stage| stage.instances).collect();
        assert_eq!(counts, [Some(1), Some(2)]);
        for stage in &plan.stages {
            let rungs = stage.blocks.iter().flat_map(|block| &block.rungs);
            let keys: Vec<_> = rungs.map(|rung| (rung.key.instances, rung.key.loops)).collect();
            assert_eq!(keys, [(stage.instances, Some(1)); 4]);
        }
    }

    #[test]
    fn repetitions_go_round_the_targets() {
        let plan = plan("target_order = \"fixed\"");
        let first =
            "8:A4.1 8:B4.1 8:C4.1 8:A8.1 8:B8.1 8:C8.1 8:A4.2 8:B4.2 8:C4.2 8:A8.2 8:B8.2 8:C8.2";
        assert_eq!(shown(&plan), format!("{first} {}", first.replace("8:", "16:")));
        assert_eq!(plan.stages.len(), 2);
        assert!(plan.stages.iter().all(|stage| stage.blocks.len() == 12));
        assert!(plan.rungs().map(|rung| rung.position).eq(0..24));
    }

    #[test]
    fn turns_alternate() {
        let plan = plan("");
        let expected = "8:A4.1 8:B4.1 8:C4.1 8:C8.1 8:B8.1 8:A8.1 8:C4.2 8:B4.2 8:A4.2 8:A8.2";
        assert!(shown(&plan).starts_with(expected), "a cell's repetitions take turns, too");
        // The two rungs of C in a row are one block.
        assert_eq!(plan.stages[0].blocks[2].rungs.len(), 2);
    }

    #[test]
    fn shuffling_depends_on_the_seed_alone() {
        let orders: Vec<String> = [1, 1, 2]
            .iter()
            .map(|seed| shown(&plan(&format!("target_order = \"shuffled\"\nseed = {seed}"))))
            .collect();
        assert_eq!(orders[0], orders[1]);
        assert_ne!(orders[0], orders[2]);
        let mut rungs: Vec<&str> = orders[2].split(' ').collect();
        rungs.sort_unstable();
        rungs.dedup();
        assert_eq!(rungs.len(), 24, "every rung once");
    }

    #[test]
    fn blocks_hold_one_target_each() {
        let plan = plan("order = \"blocks\"");
        let targets: Vec<_> = plan.stages.iter().map(|stage| stage.targets.concat()).collect();
        assert_eq!(targets, ["A", "B", "C", "C", "B", "A"]);
        assert!(shown(&plan).starts_with("8:A4.1 8:A8.1 8:A4.2 8:A8.2 8:B4.1"));
    }

    #[test]
    fn shares_are_taken_of_a_closed_loop_before() {
        let plan = plan("target_order = \"fixed\"\nloop = \"open\"\nrates = [\"25%\", 7]");
        let rungs: Vec<&Planned> = plan.rungs().collect();
        assert_eq!(rungs.len(), 2 * 3 * 2 * (1 + 2 * 2));
        assert!(rungs[..6].iter().all(|r| r.key.r#loop.as_deref() == Some("closed")));
        let names: Vec<String> = rungs[6..10].iter().map(|rung| rung.name()).collect();
        assert_eq!(names[0], "t8-A-csv-q-c4-q25%-r1");
        assert_eq!(names[3], "t8-A-csv-q-c4-q7-r1");
        assert_eq!(rungs[6].capacity_key(), rungs[0].key);
        assert_eq!(rungs[6].resolved(None), None);
        assert_eq!(rungs[6].resolved(Some(1234.56)).unwrap().offered_rps, Some(309.0));
        assert_eq!(rungs[9].resolved(None).unwrap().offered_rps, Some(7.0));
    }

    #[test]
    fn a_sweep_is_a_block_of_rising_connections() {
        let text = "[grid]\ntargets = [\"A\", \"B\"]\nclasses = [\"q\", \"p\"]\nformats = [\"-\"]\n\
                    concurrencies = [8, 2, 4]\nrepetitions = 2\n[measure]\nsweep = true\n";
        let plan = Plan::of(&Protocol::parse(text, "p.toml").unwrap());
        let one = |target: &str| format!("-:{target}2.1 -:{target}4.1 -:{target}8.1");
        let first = [one("A"), one("B"), one("B"), one("A")].join(" ");
        assert!(shown(&plan).starts_with(&first), "{}", shown(&plan));
        assert_eq!(plan.stages[0].blocks.len(), 8, "two of B in a row are two sweeps");
        let selection = Selection { targets: vec!["A".into()], ..Selection::default() };
        assert_eq!(plan.select(&selection).stages[0].blocks.len(), 4);
    }

    #[test]
    fn bursts_of_a_series_follow_each_other() {
        let plan = plan(
            "target_order = \"fixed\"\nloop = \"burst\"\norder = \"blocks\"\n\
             burst = { idle_seconds = 1, seconds = 1, count = 3 }",
        );
        assert!(shown(&plan).starts_with("8:A4.1 8:A4.2 8:A4.3 8:A8.1 8:A8.2 8:A8.3 8:B4.1"));
        assert_eq!((plan.len(), plan.stages[0].blocks.len()), (2 * 3 * 2 * 3, 2));
        let rung = plan.rungs().nth(1).unwrap();
        assert_eq!(rung.name(), "t8-A-csv-q-c4-burst-r2");
    }

    #[test]
    fn a_selection_keeps_order_and_positions() {
        let selection = Selection {
            tiers: vec!["16".into()],
            targets: vec!["B".into()],
            classes: vec!["q".into()],
        };
        let plan = plan("target_order = \"fixed\"").select(&selection);
        assert_eq!(shown(&plan), "16:B4.1 16:B8.1 16:B4.2 16:B8.2");
        assert_eq!((plan.stages[0].targets.len(), plan.stages[0].blocks.len()), (1, 1));
        assert!(plan.rungs().map(|rung| rung.position).eq([13, 16, 19, 22]));
        let none = Selection { classes: vec!["x".into()], ..Selection::default() };
        assert!(plan.select(&none).is_empty());
    }
}

//! The page of the command `hypotheses`.

use super::grid::{Align, Grid};
use super::stamp::{Stamp, footnotes};
use super::{MISSING, Page};
use crate::sql::hypotheses::{Judgement, Outcome};

/// The page of the command `hypotheses`: each prediction with its parts.
pub fn hypotheses_page(run: &str, judgements: &[Judgement], stamps: &[Stamp]) -> Page {
    let mut page = Page::new();
    page.heading(1, format!("run {run}"));
    for judgement in judgements {
        page.heading(2, format!("{} {}: {}", judgement.id, judgement.outcome, judgement.statement));
        let mut grid = Grid::new([
            ("part", Align::Left),
            ("outcome", Align::Left),
            ("found", Align::Left),
            ("expected", Align::Left),
            ("passed over", Align::Left),
        ]);
        for part in &judgement.parts {
            grid.push(vec![
                part.name.as_str().into(),
                part.outcome.to_string().into(),
                part.found.as_str().into(),
                part.expected.as_str().into(),
                part.detail.as_deref().unwrap_or(MISSING).into(),
            ]);
        }
        page.table(grid);
    }
    page.text(tally(judgements));
    page.notes(footnotes(stamps, Vec::new()));
    page
}

/// How many predictions came out how.
fn tally(judgements: &[Judgement]) -> String {
    let outcomes = [Outcome::Holds, Outcome::HalfHolds, Outcome::Unsettled, Outcome::Fails];
    let counted = outcomes.iter().filter_map(|&outcome| {
        let count = judgements.iter().filter(|judgement| judgement.outcome == outcome).count();
        (count > 0).then(|| format!("{outcome} {count}"))
    });
    let counted: Vec<String> = counted.collect();
    format!("{} predictions: {}", judgements.len(), counted.join(", "))
}

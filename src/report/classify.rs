//! The page of the command `classify`: what bounds each scenario.

use super::grid::{Align, Cell, MISSING, Tone};
use super::instances::{Tables, times};
use super::stamp::{Stamp, footnotes};
use super::{Page, ReportError, View, figure};

/// The page of `classify`: a row per scenario and connections, with the figures
/// that the answer goes by.
///
/// # Errors
/// If the view lacks a column.
pub fn classify_page(view: &View, stamps: &[Stamp]) -> Result<Page, ReportError> {
    let classes = view.names("query_class")?;
    let (connections, instances) = (view.ints("concurrency")?, view.ints("instances")?);
    let (bounds, reasons) = (view.names("bound")?, view.names("reason")?);
    let (one, rps) = (view.floats("rps_one")?, view.floats("rps")?);
    let (efficiency, added) = (view.floats("efficiency")?, view.floats("added")?);
    let vs_loops = view.floats("vs_loops")?;
    let (cores_one, cores) = (view.floats("instance_cores_one")?, view.floats("instance_cores")?);
    let (others, other_cores) = (view.texts("other")?, view.floats("other_cores")?);
    let limits = view.floats("other_limit")?;
    let cpu: Vec<String> = (0..view.len()).map(|row| change(cores_one[row], cores[row])).collect();
    let beside: Vec<String> = (0..view.len())
        .map(|row| match &others[row] {
            Some(name) => {
                let of = limits[row].map(|limit| format!(" of {limit:.2}")).unwrap_or_default();
                format!("{name}: {}{of}", figure::fixed(other_cores[row], 2))
            }
            None => MISSING.to_owned(),
        })
        .collect();
    // Without samples there is nothing to show in them.
    let with_cpu = cores_one.iter().chain(&cores).chain(&other_cores).any(Option::is_some);
    let mut columns = vec![
        ("scenario", Align::Left),
        ("c", Align::Right),
        ("bound", Align::Left),
        ("N", Align::Right),
        ("rps of 1", Align::Right),
        ("rps of N", Align::Right),
        ("efficiency", Align::Right),
        ("added", Align::Right),
        ("vs 1 × N loops", Align::Right),
    ];
    if with_cpu {
        columns.push(("cores an instance", Align::Left));
        columns.push(("other process (cores)", Align::Left));
    }
    columns.push(("reason", Align::Left));
    let mut tables = Tables::new(view, &columns)?;
    for row in 0..view.len() {
        let mut cells = vec![
            classes[row].as_str().into(),
            figure::whole(connections[row]).into(),
            Cell::toned(bounds[row].as_str(), tone(&bounds[row])),
            figure::whole(instances[row]).into(),
            figure::fixed(one[row], 1).into(),
            figure::fixed(rps[row], 1).into(),
            figure::fixed(efficiency[row], 2).into(),
            figure::fixed(added[row], 2).into(),
            times(vs_loops[row]).into(),
        ];
        if with_cpu {
            cells.extend([cpu[row].as_str().into(), beside[row].as_str().into()]);
        }
        cells.push(reasons[row].as_str().into());
        tables.push(row, cells);
    }
    let mut page = tables.into_page();
    let mut notes = vec![
        "scales: efficiency, rps of N / (N × rps of one), is at most the tie floor below 1"
            .to_owned(),
        "added: what each of the last added instances brought, in throughputs of one".to_owned(),
        "shared limit: all instances together meet a limit of what they share (bandwidth, locks); \
         another process: one that more instances do not help"
            .to_owned(),
    ];
    if with_cpu {
        notes.push(
            "cores an instance: CPU of one instance alone → of each of the N; it waits where it \
             uses less by the tie floor"
                .to_owned(),
        );
    }
    notes.extend(footnotes(stamps, Vec::new()));
    page.notes(notes);
    Ok(page)
}

fn tone(bound: &str) -> Tone {
    match bound {
        "scales" => Tone::Good,
        "unsettled" => Tone::Even,
        _ => Tone::Bad,
    }
}

/// CPU of one instance alone and among N, `0.98 → 0.33`.
fn change(one: Option<f64>, each: Option<f64>) -> String {
    if one.is_none() && each.is_none() {
        return MISSING.to_owned();
    }
    format!("{} → {}", figure::fixed(one, 2), figure::fixed(each, 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{stamp, view};
    use crate::report::{Format, Style};

    #[test]
    fn the_answer_stands_beside_its_figures() {
        let view = view(
            "classify",
            "run query_class concurrency:i bound reason instances:i rps_one:f rps:f efficiency:f added:f vs_loops:f instance_cores_one:f instance_cores:f other other_cores:f other_limit:f
             one php 64 another flat 3 11800 11800 0.3333 0 1 0.5 0.17 fpm 0.99 1
             one static 64 shared less 3 5250 10810 0.6863 0.379 _ _ _ _ _ _",
            "",
        );
        let page = classify_page(&view, &[stamp("one")]).unwrap();
        let text = page.render(Format::Markdown, Style::default());
        for expected in [
            "| 0.50 → 0.17       | fpm: 0.99 of 1.00     | flat ",
            "0.69 |  0.38 |              — | —  ",
        ] {
            assert!(text.contains(expected), "{text}");
        }
    }
}

//! Instances of one server, and an autoscaler: what more of it gave.

use super::super::super::page::Page;
use super::super::super::{ReportError, bursts_page, classify_page, scaling_page, sweep_page};
use super::super::data::Data;
use super::super::model::Section;

/// Nothing for a run that has nothing of the kind.
pub(super) fn section(data: &Data) -> Result<Option<Section>, ReportError> {
    let views = [&data.scaling, &data.sweep, &data.bursts];
    if views.iter().all(|view| view.is_empty()) {
        return Ok(None);
    }
    let mut section = Section::new("instances", "Instances and autoscaling");
    let mut part = |title: &str, page: Page, has: bool, why: &str, figure: Option<&str>| {
        section.heading(title);
        if has {
            section.page(page, true);
            if let Some(figure) = figure {
                section.picture(data.figure(figure));
            }
        } else {
            section.empty(why);
        }
    };
    part(
        "N instances against one",
        scaling_page(&data.scaling, &[])?,
        !data.scaling.is_empty(),
        "No scenario was measured with different numbers of instances.",
        Some("instance-scaling"),
    );
    part(
        "what bounds each scenario",
        classify_page(&data.classes, &[])?,
        !data.classes.is_empty(),
        "Without different numbers of instances there is nothing to tell it by.",
        None,
    );
    part(
        "sweep over connections",
        sweep_page(&data.sweep, &[])?,
        !data.sweep.is_empty(),
        "No path was swept over connections.",
        Some("sweep"),
    );
    part(
        "bursts from idle",
        bursts_page(&data.bursts, &[])?,
        !data.bursts.is_empty(),
        "No bursts were measured.",
        None,
    );
    Ok(Some(section))
}

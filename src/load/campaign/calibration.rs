//! The generator's own cost and limit, measured beside a campaign.

use std::time::Duration;

use serde_json::json;

use super::definition::Campaign;
use super::error::CampaignError;
use super::journal::Journal;
use super::targets::HttpVersion;
use crate::load::calibrate::{self, Calibrate, Calibration};

/// The file of a calibration in a run directory.
pub const CALIBRATION: &str = "calibration.json";

/// Calibrates one worker of the generator over what the campaign's first target
/// speaks, in windows of this length, and keeps what is found in the run directory.
/// None if that has a calibration already.
///
/// # Errors
/// If it cannot be calibrated, or written.
pub fn calibrate(
    campaign: &Campaign,
    journal: &Journal,
    window: Duration,
) -> Result<Option<Calibration>, CampaignError> {
    if journal.path().join(CALIBRATION).exists() {
        return Ok(None);
    }
    let measure = &campaign.protocol.measure;
    let first = campaign.protocol.grid.targets.first().map(|name| campaign.target(name));
    let http2 = first.is_some_and(|target| target.http_version == HttpVersion::Two);
    let streams = measure.streams.and_then(|streams| usize::try_from(streams).ok());
    let found = calibrate::calibrate(&Calibrate {
        streams: streams.filter(|_| http2).unwrap_or(1),
        tls: first.is_some_and(|target| target.base_url.starts_with("https:")),
        http2,
        window,
        ..Calibrate::default()
    })?;
    let mut text = serde_json::to_string_pretty(&found).expect("names, texts and finite numbers");
    text.push('\n');
    journal.file(CALIBRATION, text.as_bytes())?;
    let detail = json!({
        "file": CALIBRATION, "protocol": found.protocol,
        "a_s_per_request": found.a_s_per_request, "a_low": found.a_low, "a_high": found.a_high,
        "b_s_per_mib": found.b_s_per_mib, "b_low": found.b_low, "b_high": found.b_high,
        "ceiling_rps_per_worker": found.ceiling_rps_per_worker,
        "ceiling_mib_per_s_per_worker": found.ceiling_mib_per_s_per_worker,
    });
    journal.event("calibration", None, detail)?;
    Ok(Some(found))
}

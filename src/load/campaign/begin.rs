//! The run directory of a campaign: a new one, or one that is taken up again.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::definition::Campaign;
use super::environment::differences;
use super::error::CampaignError;
use super::journal::Journal;
use crate::load::sampler::now;
use crate::protocol::prereg::utc;

/// Makes a run directory for a campaign in `parent`.
///
/// # Errors
/// If it cannot be written.
pub fn create(campaign: &Campaign, parent: &Path) -> Result<Journal, CampaignError> {
    let environment = format!("{:#}\n", campaign.environment());
    let files: [(&str, &[u8]); 4] = [
        ("environment.json", environment.as_bytes()),
        ("protocol.toml", campaign.text.as_bytes()),
        ("targets.toml", campaign.targets.text.as_bytes()),
        (campaign.corpus.name, &campaign.corpus.bytes),
    ];
    loop {
        let path = parent.join(run_id(campaign, now()));
        match Journal::create(&path, &files) {
            Err(CampaignError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::AlreadyExists =>
            {
                // Of two in one second, the second is of the next.
                std::thread::sleep(Duration::from_millis(100));
            }
            other => return other,
        }
    }
}

/// `20260912T225808Z-d43b538d-label`; without the commit where there is none.
fn run_id(campaign: &Campaign, time: f64) -> String {
    let date = utc(time.floor() as i64);
    let digits: String = date.chars().filter(char::is_ascii_digit).collect();
    let stamp = format!("{}T{}Z", &digits[..8], &digits[8..]);
    let label = &campaign.label;
    match &campaign.git {
        Some(git) => format!("{stamp}-{}-{label}", &git.sha[..8]),
        None => format!("{stamp}-{label}"),
    }
}

/// Takes up a run directory of the same campaign.
///
/// # Errors
/// If it is of another corpus, scenario or set of targets, or cannot be read.
pub fn resume(campaign: &Campaign, path: &Path) -> Result<Journal, CampaignError> {
    let refuse = |message: String| CampaignError::Resume { path: path.to_owned(), message };
    let file = path.join("environment.json");
    let text = std::fs::read_to_string(&file).map_err(CampaignError::io(&file))?;
    let before: Value = serde_json::from_str(&text)
        .map_err(|error| refuse(format!("environment.json is damaged: {error}")))?;
    let current = campaign.environment();
    let part =
        |environment: &Value, key: &str| environment.get(key).cloned().unwrap_or(Value::Null);
    // The label stands for the campaign here, whatever it is called now.
    let scenario = |environment: &Value| {
        let by_name = part(environment, "scenario");
        by_name.as_object().and_then(|all| all.values().next().cloned()).unwrap_or(Value::Null)
    };
    for (what, before, current) in [
        ("corpus", part(&before, "corpus_sha256"), part(&current, "corpus_sha256")),
        ("scenario", scenario(&before), scenario(&current)),
        ("target set", part(&before, "target"), part(&current, "target")),
        ("seed", part(&before, "seed"), part(&current, "seed")),
        ("data set", part(&before, "dataset_sha256"), part(&current, "dataset_sha256")),
        ("shard", share(&before), share(&current)),
    ] {
        let found = differences(&json!({what: before}), &json!({what: current}));
        if !found.is_empty() {
            return Err(refuse(format!("another {what}: {}", found.join("; "))));
        }
    }
    let journal = Journal::resume(path)?;
    let mut environment = before;
    let git = campaign.git.as_ref();
    let entry = json!({
        "t": now(),
        "git": git.map(|git| json!({"sha": git.sha, "branch": git.branch, "dirty": git.dirty})),
        "tapstat": {"version": crate::VERSION, "revision": crate::REVISION},
    });
    match environment.get_mut("resumed").and_then(Value::as_array_mut) {
        Some(entries) => entries.push(entry),
        None => environment["resumed"] = json!([entry]),
    }
    journal.file("environment.json", format!("{environment:#}\n").as_bytes())?;
    let stored = std::fs::read_to_string(path.join("targets.toml")).unwrap_or_default();
    if stored != campaign.targets.text {
        let said =
            "the targets file has changed, but not in what is measured: hooks, pins or notes";
        let name = format!("targets.resumed-{:.0}.toml", now());
        journal.file(&name, campaign.targets.text.as_bytes())?;
        journal.event("deviation", None, format!("{said}; it is kept as {name}"))?;
    }
    Ok(journal)
}

/// Which share of the load is sent: not when, which is new every time.
fn share(environment: &Value) -> Value {
    let shard = |key: &str| environment.get("shard")?.get(key).cloned();
    json!([shard("k"), shard("n")])
}

//! Whether a run directory is what the store was made of.

use std::collections::BTreeMap;
use std::fs;

use super::Progress;
use crate::raw::{RawError, RunDir, hash_file};
use crate::store::Manifest;

/// The folder of the samples, in a run directory.
const SAMPLES: &str = "samples/";

/// In what the files of a run directory differ from those that a manifest
/// lists: the first difference, in words.
pub(super) fn difference(
    dir: &RunDir,
    manifest: &Manifest,
    progress: &dyn Progress,
) -> Result<Option<String>, RawError> {
    if manifest.layout != dir.layout.name() {
        return Ok(Some(format!(
            "its layout was {}, and is {}",
            manifest.layout,
            dir.layout.name()
        )));
    }
    let files = dir.input_paths();
    let known: BTreeMap<&str, _> =
        manifest.inputs.iter().map(|input| (input.path.as_str(), input)).collect();
    // Samples that belong to no rung are no input. Where the rungs are the same
    // and all of theirs are there, more of them change nothing.
    let has_samples = known.keys().any(|path| path.starts_with(SAMPLES));
    let is_known = |file: &String| {
        known.contains_key(file.as_str()) || (has_samples && file.starts_with(SAMPLES))
    };
    if let Some(file) = files.iter().find(|file| !is_known(file)) {
        return Ok(Some(format!("{file} was not there")));
    }
    if let Some(path) = known.keys().find(|path| !files.iter().any(|file| file == *path)) {
        return Ok(Some(format!("{path} is not there any more")));
    }
    progress.start(manifest.inputs.iter().map(|input| input.size).sum());
    for input in &manifest.inputs {
        let path = dir.path.join(&input.path);
        let size = fs::metadata(&path).map_err(|source| RawError::io(&path, source))?.len();
        if size != input.size || hash_file(&path)?.1 != input.sha256 {
            return Ok(Some(format!("{} has changed", input.path)));
        }
        progress.advance(size);
    }
    progress.finish();
    Ok(None)
}

/// The bytes of the files that are streamed.
pub(super) fn streamed_bytes(dir: &RunDir) -> Result<u64, RawError> {
    let samples = dir.samples_dir().map(|folder| (folder, dir.input_paths()));
    let mut bytes = 0;
    if let Some((_, files)) = samples {
        for file in files.iter().filter(|file| file.starts_with(SAMPLES)) {
            let path = dir.path.join(file);
            bytes += fs::metadata(&path).map_err(|source| RawError::io(&path, source))?.len();
        }
    }
    if let Some(path) = dir.resources_path() {
        bytes += fs::metadata(&path).map_err(|source| RawError::io(&path, source))?.len();
    }
    Ok(bytes)
}

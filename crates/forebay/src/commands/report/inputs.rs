//! Which runs a report is of, and what they are called.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use forebay_model::run::note_key::SAMPLED_EVERY;
use forebay_model::{Result, Run};

use super::page_text::escape_name;
use crate::exit::CommandError;
use crate::runs;

/// One run file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunInput {
    pub(super) file: PathBuf,
    /// Runs of one group are repeats of each other.
    pub(super) group: String,
    /// What it is called: as its group, with a number where there are several.
    pub(super) label: String,
}

/// All runs that the words name.
pub(super) fn find_inputs(words: &[OsString]) -> std::result::Result<Vec<RunInput>, CommandError> {
    let mut found: Vec<(Option<String>, PathBuf)> = Vec::new();
    for word in words {
        let path = Path::new(word);
        if path.is_dir() {
            found.extend(inputs_of_folder(path)?);
        } else if let Some((name, file)) = parse_named_file(word).filter(|_| !path.exists()) {
            found.push((Some(escape_name(name.as_bytes())), file));
        } else {
            found.push((None, path.to_owned()));
        }
    }
    Ok(label_inputs(found))
}

/// Runs, and samples of machines apart from them.
///
/// # Errors
/// Those of a run file.
pub(super) fn split_samples(inputs: Vec<RunInput>) -> Result<(Vec<RunInput>, Vec<Run>)> {
    let (mut runs, mut samples) = (Vec::new(), Vec::new());
    for input in inputs {
        let file = Run::open(&input.file)?;
        if file.header()?.note(&SAMPLED_EVERY).is_some() {
            samples.push(file)
        } else {
            runs.push(input)
        }
    }
    Ok((runs, samples))
}

/// `NAME=FILE`.
fn parse_named_file(word: &OsStr) -> Option<(&OsStr, PathBuf)> {
    let bytes = word.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=').filter(|at| *at > 0)?;
    Some((OsStr::from_bytes(&bytes[..at]), OsStr::from_bytes(&bytes[at + 1..]).into()))
}

/// What `forebay bench` left (ROUND-NAME.run), or else all runs of a folder or a project.
fn inputs_of_folder(
    folder: &Path,
) -> std::result::Result<Vec<(Option<String>, PathBuf)>, CommandError> {
    let none = |why: String| {
        let message = format!("{}: {why}", folder.display());
        let next = "name run files, a project, or the directory after -o of `forebay bench`";
        CommandError::new(1, message, next)
    };
    let failed = |error: std::io::Error| none(error.to_string());
    let mut all = runs::list_runs(folder).map_err(failed)?;
    let of_project = folder.join(runs::FOLDER);
    if all.is_empty() && of_project.is_dir() {
        all = runs::list_runs(&of_project).map_err(failed)?;
    }
    if all.is_empty() {
        return Err(none("there is no run in this directory".to_owned()));
    }
    let mut rounds: Vec<(u32, String, PathBuf)> =
        all.iter().filter_map(|path| parse_bench_name(path)).collect();
    if rounds.is_empty() {
        return Ok(all.into_iter().map(|path| (None, path)).collect());
    }
    rounds.sort();
    Ok(rounds.into_iter().map(|(_, name, path)| (Some(name), path)).collect())
}

/// The round and the storage of a run of `forebay bench`. Years are no rounds.
fn parse_bench_name(path: &Path) -> Option<(u32, String, PathBuf)> {
    let (round, name) = path.file_stem()?.to_str()?.split_once('-')?;
    Some((round.parse().ok()?, name.to_owned(), path.to_owned()))
}

fn label_inputs(found: Vec<(Option<String>, PathBuf)>) -> Vec<RunInput> {
    let name = |file: &Path| escape_name(file.file_name().unwrap_or(file.as_os_str()).as_bytes());
    let mut times: HashMap<String, usize> = HashMap::new();
    for (group, file) in &found {
        *times.entry(group.clone().unwrap_or_else(|| name(file))).or_default() += 1;
    }
    let mut so_far: HashMap<String, usize> = HashMap::new();
    let labelled = found.into_iter().map(|(group, file)| {
        let base = group.clone().unwrap_or_else(|| name(&file));
        let nth = so_far.entry(base.clone()).or_default();
        *nth += 1;
        let label = if times[&base] > 1 { format!("{base} ({nth})") } else { base };
        // Two files that happen to be called the same are no repeats of one another.
        RunInput { group: group.unwrap_or_else(|| label.clone()), label, file }
    });
    labelled.collect()
}

#[cfg(test)]
mod tests {
    //! If these fail, a run is shown under another's name.
    use super::*;

    #[test]
    fn every_run_has_a_name_of_its_own() {
        let words = ["a/x.run", "b/x.run", "nfs=1.run", "nfs=2.run", "y.run", "=z"];
        let inputs = find_inputs(&words.map(OsString::from)).expect("no directory among them");
        let told: Vec<(&str, &str)> =
            inputs.iter().map(|input| (&*input.label, &*input.group)).collect();
        assert_eq!(
            told,
            [
                ("x.run (1)", "x.run (1)"),
                ("x.run (2)", "x.run (2)"),
                ("nfs (1)", "nfs"),
                ("nfs (2)", "nfs"),
                ("y.run", "y.run"),
                ("=z", "=z"),
            ]
        );
        assert_eq!(inputs[2].file, Path::new("1.run"));
    }
}

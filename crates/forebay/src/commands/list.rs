//! `forebay list`: the runs that are kept in a project.

use std::path::{Path, PathBuf};

use forebay_model::{ByteCount, Micros, Run, civil_from_days};
use serde_json::json;

use crate::exit::CommandError;
use crate::name_escaping::escape_name;
use crate::{console, runs};

/// Options of `forebay list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  forebay list\n  forebay list ~/rnaseq --json\n\n\
    Runs are those that `forebay run` keeps in .forebay/runs, the newest last. `forebay clean` \
    removes old ones.\n\n\
    Exit codes: 0, also where there is none; 1 if they can't be read.")]
pub(crate) struct Args {
    /// The project
    #[arg(default_value = ".")]
    directory: PathBuf,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
}

/// What a row tells of a run.
pub(super) struct ListedRun {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// `None`: it can't be read.
    told: Option<RunDetails>,
}

struct RunDetails {
    started: Micros,
    took: Option<Micros>,
    command: String,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let kept = list_project_runs(&args.directory)?;
    if args.json {
        let rows: Vec<_> = kept.iter().map(as_json).collect();
        println!("{}", json!({ "schema": 1, "runs": rows }));
        return Ok(0);
    }
    if kept.is_empty() {
        let folder = args.directory.join(runs::FOLDER);
        console::note(&format!("no run is kept in {}", folder.display()));
        return Ok(0);
    }
    let width = console::terminal_width();
    println!("{:<19}  {:>8}  {:>9}  run and command", "started (UTC)", "took", "size");
    for run in &kept {
        let (started, took) = match &run.told {
            Some(told) => (
                format_utc_time(told.started),
                told.took.map_or("-".to_owned(), |us| us.to_string()),
            ),
            None => ("damaged".to_owned(), "-".to_owned()),
        };
        let file = escape_name(run.path.file_name().unwrap_or_default().as_encoded_bytes());
        let command = run.told.as_ref().map(|told| told.command.as_str()).unwrap_or_default();
        let size = ByteCount(run.bytes).to_string();
        let line = format!("{started:<19}  {took:>8}  {size:>9}  {file}  {command}");
        println!("{}", console::clip_line(&line, width));
    }
    Ok(0)
}

/// The runs of a project.
pub(super) fn list_project_runs(directory: &Path) -> Result<Vec<ListedRun>, CommandError> {
    let folder = directory.join(runs::FOLDER);
    let found = match runs::list_runs(&folder) {
        // A directory without runs is none that can't be looked into.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && directory.is_dir() => {
            Vec::new()
        }
        found => found.map_err(|error| {
            let message = format!("{} can't be read: {error}", folder.display());
            CommandError::new(
                1,
                message,
                "name a directory that is there, and that you may look into",
            )
        })?,
    };
    Ok(found.into_iter().map(read_kept_run).collect())
}

fn read_kept_run(path: PathBuf) -> ListedRun {
    let bytes = path.metadata().map_or(0, |found| found.len());
    let told = Run::open(&path).and_then(|run| {
        let (header, ended) = (run.header()?, run.ended()?);
        let words: Vec<String> = header.command.iter().map(|word| escape_name(word)).collect();
        let took = ended.map(|ended| ended.at);
        Ok(RunDetails { started: header.started_unix, took, command: words.join(" ") })
    });
    ListedRun { told: told.ok(), bytes, path }
}

fn as_json(run: &ListedRun) -> serde_json::Value {
    let told = run.told.as_ref();
    json!({
        "path": run.path.to_string_lossy(),
        "bytes": run.bytes,
        "started_unix_us": told.map(|told| told.started.get()),
        "took_us": told.and_then(|told| told.took).map(Micros::get),
        "command": told.map(|told| told.command.as_str()),
    })
}

/// The date and time, in UTC.
fn format_utc_time(at: Micros) -> String {
    let seconds = at.get() / 1_000_000;
    let (year, month, day) = civil_from_days((seconds / 86_400) as i64);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

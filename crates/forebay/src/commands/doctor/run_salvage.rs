//! `forebay doctor --salvage`: what a killed run had recorded, as a run that can be read.

use std::path::Path;

use forebay_model::{Kind, Run};

use crate::exit::CommandError;
use crate::run_start::random_salt;
use crate::{console, state_directories};

pub(super) fn salvage_run(state: &Path, output: &Path, json: bool) -> Result<i32, CommandError> {
    let stop = |error: forebay_model::Error| {
        let next = match error.kind() {
            Kind::Busy => "this run goes on; it is completed when its last process ends",
            Kind::Missing | Kind::NotARun => "`forebay doctor` lists the runs that can be salvaged",
            Kind::Damaged => {
                "`forebay manual formats run file` says how sqlite3 can recover what is left"
            }
            _ => "name another file after -o; nothing was removed",
        };
        CommandError::new(1, error.to_string(), next)
    };
    if output.exists() {
        let message = format!("{} is there already", output.display());
        return Err(CommandError::new(
            1,
            message,
            "name another file after -o; nothing was removed",
        ));
    }
    Run::salvage_run(state, output, random_salt()).map_err(stop)?;
    let tasks = Run::open(output).and_then(|run| run.tasks()).map_err(stop)?.len();
    // What lies in Forebay's own place is Forebay's to remove; any other file is its owner's.
    let ours =
        state_directories::state_file("x").ok().and_then(|file| file.parent()?.canonicalize().ok());
    let place = state.canonicalize().ok().and_then(|file| Some(file.parent()?.to_owned()));
    let removed = ours.is_some() && ours == place;
    if removed {
        for end in ["", "-wal", "-shm"] {
            let mut name = state.as_os_str().to_owned();
            name.push(end);
            let _ = std::fs::remove_file(name);
        }
    }
    if json {
        let run = output.to_string_lossy();
        println!("{}", serde_json::json!({"run": run, "tasks": tasks, "removed": removed}));
    } else {
        let noun = if tasks == 1 { "task" } else { "tasks" };
        console::note(&format!("{tasks} {noun} salvaged; the run is in {}", output.display()));
    }
    Ok(0)
}

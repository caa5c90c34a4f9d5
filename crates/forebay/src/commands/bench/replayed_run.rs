//! A recorded run in the place of a command: `forebay replay` is what is run, in a directory where
//! its inputs were made before; its own seconds count.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::Args;
use super::compared_storages::ComparedStorage;
use super::run_directory::RunDirectory;
use crate::commands::replay;
use crate::exit::{CommandError, NOTHING_RUN};

/// The last line of a replay, before and after its seconds.
const LAST: (&str, &str) = ("replayed in ", " s");

/// The options with the replay as their command, if one is asked for.
pub(super) fn resolve_replay_args(args: &Args) -> Result<Args, CommandError> {
    let mut args = args.clone();
    let Some(run) = &args.replay else {
        make_program_absolute(&mut args.command);
        return Ok(args);
    };
    // Nothing is run of what can't be replayed.
    replay::read_script(run)?;
    let failed = |why: String| {
        let next = "name a run file by a path that is plain text; nothing was run";
        CommandError::new(NOTHING_RUN, format!("{}: {why}", run.display()), next)
    };
    let run = run.canonicalize().map_err(|error| failed(error.to_string()))?;
    if run.to_str().is_none() {
        return Err(failed("its path is no UTF-8".to_owned()));
    }
    let own = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    args.command = vec![own.into(), "replay".into(), "--prepared".into()];
    args.command.extend(args.no_think.then(|| "--no-think".into()));
    args.command.extend(args.speed.map(|speed| format!("--speed={speed}").into()));
    args.command.push(run.clone().into());
    args.replay = Some(run);
    Ok(args)
}

/// A program that is named by a path from here (`./pipeline.sh`) is found from the fresh directory,
/// too.
fn make_program_absolute(command: &mut [OsString]) {
    let Some(program) = command.first_mut() else { return };
    let path = Path::new(program);
    if path.is_relative()
        && path.components().count() > 1
        && let Ok(path) = path.canonicalize()
    {
        *program = path.into_os_string();
    }
}

/// Makes the inputs of a replay, before anybody looks, and does with caches what is asked for, once
/// more.
pub(super) fn prepare_inputs<'h>(
    args: &Args,
    place: &ComparedStorage,
    fresh: RunDirectory<'h>,
) -> Result<RunDirectory<'h>, CommandError> {
    let Some(run) = args.replay.as_ref().and_then(|run| run.to_str()) else { return Ok(fresh) };
    let places = match place.scale {
        None => vec![fresh.path.clone()],
        Some(scale) => scale.job_directories(&fresh.path),
    };
    let made = places.iter().try_for_each(|place| {
        let words = ["replay", "--prepare", run, "-C"].map(OsStr::new);
        fresh.run_forebay(&[&words[..], &[place.as_os_str()]].concat())
    });
    match made.and_then(|()| place.cache_policy(args.cache).prepare_caches()) {
        Ok(()) => Ok(fresh),
        Err(stop) => fresh.remove().and(Err(stop)),
    }
}

/// What the replay itself took.
pub(super) fn replay_seconds(args: &Args, log: &Path) -> Option<f64> {
    args.replay.as_ref()?;
    let text = std::fs::read(log).ok()?;
    let text = String::from_utf8_lossy(&text);
    let told = text.lines().filter_map(|line| line.strip_prefix(LAST.0)?.strip_suffix(LAST.1));
    // Of several that began together the last counts.
    told.filter_map(|seconds| seconds.parse().ok()).reduce(f64::max)
}

/// Says that it was a replay, and of what.
pub(super) fn print_replay_note(args: &Args) {
    let Some(run) = &args.replay else { return };
    let think = match (args.no_think, args.speed) {
        (true, _) => "no time between operations: I/O alone".to_owned(),
        (false, Some(speed)) => format!("time between operations divided by {speed}"),
        (false, None) => "time between operations as it was".to_owned(),
    };
    println!("a replay of {}, without its tools; {think}", run.display());
}

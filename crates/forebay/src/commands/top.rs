//! `forebay top`: what runs and mounts do just now.

mod cells;
mod display_state;
mod hosts;
mod keys;
mod queues;
mod screen;
mod section_lines;
mod view;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use forebay_model::Seconds;
use forebay_volume::launch::resolve_mount_point;
use forebay_volume::live::{LiveStatus, list_daemons, query_daemon};
use serde_json::json;

use crate::console;
use crate::exit::CommandError;
use crate::interrupt_signals::InterruptSignals;
use display_state::DisplayState;
use hosts::HostSamplers;
use view::DaemonView;

/// Between the two looks of `--once`, for rates.
const ONCE: Duration = Duration::from_millis(500);
/// Rows of `--once` as text: nothing has to fit a screen.
const ONCE_ROWS: u16 = 60;

/// Options of `forebay top`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  forebay top                      all runs and mounts of yours, those here first\n  \
    forebay top /mnt/project         one of them\n  \
    forebay top --sample filer.run   with what `forebay sample` writes of another machine\n  \
    forebay top --once --json        its figures, for scripts\n\n\
    Keys: q ends it, arrows scroll, tab shows the next run, s sorts files, ? explains.\n\
    Bytes that go past Forebay (kernel passthrough) are not in its figures; it says so.\n\n\
    Exit codes: 0, or 1 if nothing of yours runs, or nothing at MOUNT."
)]
pub(crate) struct Args {
    /// A directory that is managed or mounted; without it, all of yours
    #[arg(value_name = "MOUNT")]
    mount: Option<PathBuf>,
    /// Look once, print it, and end
    #[arg(long)]
    once: bool,
    /// Print JSON on standard output: sums since each began, and rates per second
    #[arg(long, requires = "once")]
    json: bool,
    /// Show the machine, too, whose samples `forebay sample` writes to this file just now
    #[arg(long, value_name = "FILE")]
    sample: Vec<PathBuf>,
    /// Between two looks, such as 500ms
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_interval)]
    every: Seconds,
}

fn parse_interval(word: &str) -> Result<Seconds, String> {
    let time: Seconds =
        word.parse().map_err(|why: forebay_model::ParseRealError| why.to_string())?;
    let fits = (0.1..=60.0).contains(&time.get());
    fits.then_some(time).ok_or_else(|| "it is from 100ms to 1min".to_owned())
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let wanted = args.mount.as_deref().map(resolve_mount_point);
    let mut hosts = HostSamplers::open_samples(&args.sample)?;
    let others = hosts.has_others() && wanted.is_none();
    let find = || match find_live_daemons(wanted.as_deref()) {
        // There are other machines to look at.
        Err(_) if others => Ok(Vec::new()),
        found => found,
    };
    let views: Vec<DaemonView> = find()?.into_iter().map(DaemonView::from_first_look).collect();
    if args.once {
        std::thread::sleep(ONCE);
        let mut state = DisplayState::new(views, false);
        state.update_views(find().unwrap_or_default());
        state.hosts = hosts.sample_all();
        let text = match args.json {
            true => as_json(&state),
            false => as_text(&mut state),
        };
        console::print(&text);
        return Ok(0);
    }
    if !std::io::stdout().is_terminal() {
        let why = "standard output is no terminal";
        return Err(CommandError::new(
            1,
            why,
            "`forebay top --once` prints once, --json for scripts",
        ));
    }
    let state = DisplayState::new(views, std::env::var_os("NO_COLOR").is_none());
    let every = Duration::from_secs_f64(args.every.get());
    keys::watch_terminal(state, &mut hosts, every, &InterruptSignals::block_signals(), || {
        find().unwrap_or_default()
    })
}

/// Daemons of this user; with `at`, the one that shows this directory.
fn find_live_daemons(at: Option<&std::path::Path>) -> Result<Vec<LiveStatus>, CommandError> {
    let stop = |why: String| CommandError::new(1, why, "is /proc mounted? `forebay doctor` says");
    let pids = list_daemons().map_err(|error| stop(format!("looking for daemons: {error}")))?;
    let (mut found, mut silent) = (Vec::new(), None);
    for pid in pids {
        match query_daemon(pid) {
            Ok(live) => found.extend(live),
            Err(why) => silent = Some(why),
        }
    }
    let Some(at) = at else {
        if found.is_empty() {
            let why =
                silent.map_or_else(|| "nothing of yours runs".to_owned(), |why| why.to_string());
            let next = "`forebay run -- COMMAND` or `forebay mount VOLUME DIR` first; this looks at \
                        your own alone";
            return Err(CommandError::new(1, why, next));
        }
        // What is at work here comes first, then the newest.
        let here = std::env::current_dir().unwrap_or_default();
        let is_here = |live: &LiveStatus| live.points.iter().any(|point| here.starts_with(point));
        found.sort_by_key(|live| (!is_here(live), live.at_us));
        return Ok(found);
    };
    // Of several that lie in each other the innermost shows it.
    let depth = |live: &LiveStatus| {
        let above = live.points.iter().filter(|point| at.starts_with(point));
        above.map(|point| point.as_os_str().len()).max()
    };
    let nearest =
        found.into_iter().filter(|live| depth(live).is_some()).max_by_key(|live| depth(live));
    nearest.map(|live| vec![live]).ok_or_else(|| {
        let why = format!("nothing of yours is at {}", at.display());
        CommandError::new(1, why, "`forebay top` without a directory shows all of yours")
    })
}

fn as_json(state: &DisplayState) -> String {
    let one = |view: &DaemonView| {
        let mut live = json!(view.now);
        live["per_s"] = view.rates_json();
        live
    };
    let all: Vec<_> = state.views.iter().map(one).collect();
    let machines = hosts::as_json(&state.hosts);
    json!({ "schema": 1, "daemons": all, "machines": machines }).to_string() + "\n"
}

/// All in one table, and one screen for each, without what only a terminal needs.
fn as_text(state: &mut DisplayState) -> String {
    let mut text = String::new();
    let width = console::terminal_width().clamp(60, 200);
    if state.views.len() > 1 {
        text = section_lines::daemon_rows(&state.views, None, width).join("\n") + "\n\n";
    }
    for number in 0..state.views.len().max(1) {
        state.shown = number;
        if number > 0 {
            text.push('\n');
        }
        text.push_str(&screen::screen_text(state, width as u16, ONCE_ROWS));
    }
    text
}

#[cfg(test)]
mod tests;

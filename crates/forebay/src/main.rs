//! The `forebay` command: the only place that prints, exits, and reads the clock for people.

#[macro_use]
mod console;

mod command_help;
mod commands;
mod daemon_logs;
mod exit;
mod foreign;
mod interrupt_signals;
mod jobs;
mod joining;
mod next_steps;
mod output;
mod peer_options;
mod placement;
mod run_start;
mod runs;
mod scenario;
mod simulated_run_file;
mod slurm_programs;
mod state_directories;
mod storages;
mod summary_text;
mod write_back_progress;

use std::ffi::OsString;

use clap::{FromArgMatches, Parser};
use forebay_model::name_escaping;

/// What `--version` says; `-V` has the first line.
const LONG_VERSION: &str = concat!(env!("FOREBAY_VERSION"), "\n", env!("FOREBAY_BUILT_FOR"));

/// Tiered storage for sequencing pipelines.
#[derive(Debug, Parser)]
#[command(name = "forebay", version = env!("FOREBAY_VERSION"), long_version = LONG_VERSION)]
#[command(max_term_width = 100, subcommand_required = true)]
#[command(
    after_help = "Exit codes of Forebay's own: 2 wrong usage, 120 the daemon was lost during \
    the run, 121 files could not be written back from their tier, or published, or were not waited for, 125 nothing was run, 126 the command can't be executed, 127 no such command.\n\
    Otherwise `forebay run` ends as its command ends."
)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

/// All commands with their options, as help, completions and pages of the manual have them.
fn command_line_definition() -> clap::Command {
    command_help::with_help_page::<Cli>()
}

fn main() {
    let mut words = std::env::args_os();
    if let Some(program) = words.next().as_deref().and_then(jobs::find_stand_in) {
        let words: Vec<_> = words.collect();
        std::process::exit(jobs::submit_job(program, &words));
    }
    let parsed = command_line_definition().try_get_matches_from(command_line());
    let command = match parsed.and_then(|words| Cli::from_arg_matches(&words)) {
        Ok(cli) => cli.command,
        // Of wrong usage it says what it was given.
        Err(error) if error.use_stderr() => {
            let words = error.render();
            let words =
                if console::wants_colour() { words.ansi().to_string() } else { words.to_string() };
            console::write_stderr(&humanize_number_errors(words));
            std::process::exit(error.exit_code())
        }
        Err(help) => help.exit(),
    };
    let code = match command.run() {
        Ok(code) => code,
        Err(stop) => {
            console::error(&stop.message, stop.next.as_deref());
            stop.code
        }
    };
    std::process::exit(code)
}

/// The words of the command line. `forebay help NAME` is `forebay NAME --help`, of which the library
/// knows the nearest name if there is none.
fn command_line() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if words.len() > 2 && words[1] == "help" {
        words.remove(1);
        words.push("--help".into());
    }
    words
}

/// What the library says of numbers, in words of people.
fn humanize_number_errors(words: String) -> String {
    let said = [
        ("invalid digit found in string", "it is no whole number, such as 2"),
        ("cannot parse integer from empty string", "it is no whole number, such as 2"),
        ("number too large to fit in target type", "it is too large"),
        ("number too small to fit in target type", "it is too small"),
        ("is not in 0..=4294967295", "is no whole number from 0 on"),
        ("is not in 1..=4294967295", "is no whole number from 1 on"),
        ("invalid float literal", "it is no number, such as 1.5"),
    ];
    said.iter().fold(words, |words, (theirs, ours)| words.replace(theirs, ours))
}

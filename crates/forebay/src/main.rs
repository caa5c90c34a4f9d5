//! The `forebay` command: the only place that prints, exits, and reads the clock for people.

#[macro_use]
mod say;

mod commands;
mod daemon_logs;
mod ends;
mod exit;
mod keep;
mod output;
mod placement;
mod runs;
mod scenario;
mod storages;
mod summary_text;
mod underway;

use clap::Parser;
use forebay_model::named;

/// Tiered storage for sequencing pipelines.
#[derive(Debug, Parser)]
#[command(name = "forebay", version, max_term_width = 100, subcommand_required = true)]
#[command(
    after_help = "Exit codes of Forebay's own: 2 wrong usage, 120 the daemon was lost during \
    the run, 121 files could not be brought home from their tier, or published, or were not waited for, 125 nothing was run, 126 the command can't be executed, 127 no such command.\n\
    Otherwise `forebay run` ends as its command ends."
)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        // Of wrong usage it says what it was given.
        Err(error) if error.use_stderr() => {
            let words = error.render();
            say::text(&if say::colour() { words.ansi().to_string() } else { words.to_string() });
            std::process::exit(error.exit_code())
        }
        Err(help) => help.exit(),
    };
    let code = match command.run() {
        Ok(code) => code,
        Err(stop) => {
            say::error(&stop.message, stop.next.as_deref());
            stop.code
        }
    };
    std::process::exit(code)
}

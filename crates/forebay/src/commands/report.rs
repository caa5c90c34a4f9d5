//! `forebay report`: one page of HTML that shows one run or compares several.
//!
//! It reads run files and nothing else, and writes a file that needs no network. What it is not: it
//! draws nothing; the page does that, from the data that the panels put into it.

mod bins;
mod document;
mod indexed_run;
mod inputs;
mod page;
mod page_columns;
mod page_text;
mod panels;
mod price_sheet;
mod strings;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use forebay_model::{ByteCount, Kind};

use crate::exit::CommandError;
use crate::output::{Force, OutputKind, OutputTarget};
use crate::{console, runs};
use indexed_run::IndexedRun;

/// Options of `forebay report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay report                                        the newest run here, as report.html\n  \
    forebay report . -o all.html                          all runs here\n  \
    forebay report predicted.run measured.run -o both.html\n  \
    forebay report nfs=1.run nfs=2.run lustre=3.run lustre=4.run -o storages.html\n  \
    forebay report bench/ -o bench.html\n  \
    forebay report day1.run filer.run -o day1.html        with what `forebay sample` saw\n\n\
    The page is one file that needs no network: open it in any browser, or send it. With several \
    runs it has a panel that compares them.\n\n\
    Exit codes: 0; 1 if a run can't be read or the page can't be written; 2 wrong usage.")]
pub(crate) struct Args {
    /// Run files, measured, simulated or imported; NAME=RUN to give one a name, and those of one
    /// name are repeats; a directory for all runs in it, such as `forebay bench` left or a project's;
    /// and what `forebay sample` wrote of other machines meanwhile. Without any, the newest run here
    #[arg(value_name = "RUN")]
    runs: Vec<OsString>,
    /// Where the page goes; - for standard output
    #[arg(short, long, value_name = "FILE.html", default_value = "report.html")]
    output: PathBuf,
    /// Print the data of the page on standard output, and make no page
    #[arg(long, conflicts_with = "output")]
    json: bool,
    #[command(flatten)]
    prices: price_sheet::Options,
    #[command(flatten)]
    force: Force,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let inputs = match &args.runs[..] {
        [] => inputs::find_inputs(&[runs::newest_run()?.into_os_string()])?,
        runs => inputs::find_inputs(runs)?,
    };
    let sheet = price_sheet::load_price_sheet(&args.prices)?;
    let output = args.output.as_path();
    let is_file = !args.json && output.as_os_str() != "-";
    let place =
        is_file.then(|| OutputTarget::claim(output, OutputKind::Text, args.force)).transpose()?;
    let (inputs, samples) =
        inputs::split_samples(inputs).map_err(|error| unreadable_run(&error))?;
    if inputs.is_empty() {
        let next = "name the run, too, that went on while they were taken";
        return Err(CommandError::new(1, "these are samples of machines, and no run", next));
    }
    let mut runs = Vec::new();
    for input in inputs {
        if std::io::stderr().is_terminal() {
            console::show_passing_line(&format!("forebay: reading {}", input.file.display()));
        }
        runs.push(
            IndexedRun::read_input(&input, &samples).map_err(|error| unreadable_run(&error))?,
        );
    }
    console::clear_passing_line();
    let data = document::build_document(&runs, sheet.as_ref());
    let data = page_text::script_safe(&data.to_string());
    if args.json {
        console::print(&(data + "\n"));
        return Ok(0);
    }
    let page = page::render_page(&runs, &data);
    let Some(place) = place else {
        // Whoever reads may have seen enough (`| head`).
        let _ = std::io::stdout().write_all(page.as_bytes());
        return Ok(0);
    };
    place.write(page.as_bytes())?;
    let size = ByteCount(page.len() as u64);
    console::note(&format!("the report is in {} ({size})", output.display()));
    Ok(0)
}

/// A run that can't be read, and what to do.
fn unreadable_run(error: &forebay_model::Error) -> CommandError {
    let next = match error.kind() {
        Kind::NewerSchema => "take the Forebay that wrote it; no page was made",
        Kind::Damaged => "leave it out, and the others can be shown; no page was made",
        _ => "`forebay run -o FILE -- COMMAND` makes a run file; no page was made",
    };
    CommandError::new(1, error.to_string(), next)
}

//! `forebay export`: what a run or a workload file says, in the forms of other tools.

mod multiqc;
mod otlp;
mod wfformat;

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;

use crate::exit::CommandError;
use crate::output::{Force, OutputKind, OutputTarget};

/// A form of another tool.
struct Format {
    name: &'static str,
    write: fn(&Args) -> Result<(), CommandError>,
}

const FORMATS: &[Format] = &[wfformat::FORMAT, multiqc::FORMAT, otlp::FORMAT];

/// Options of `forebay export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Formats:\n  \
    wfformat   WfFormat 1.5 of WfCommons: tasks with the time that they compute, and files; of one\n             \
    run file, workload file or study\n  \
    multiqc    custom content of MultiQC: a row of general statistics for each run, time by task,\n             \
    bytes by storage, sizes of files; of run files, into a directory\n  \
    otlp       a trace for OpenTelemetry (Jaeger, Tempo, any collector) in JSON: a span for the run\n             \
    and one for each task; of run files. Each line is the body of one request\n\n\
    Examples:\n  forebay export a.run --format wfformat -o a.json\n  \
    forebay export a.run b.run --format multiqc -o results/forebay && multiqc results\n  \
    forebay export a.run --format otlp -o trace.json && curl -H 'Content-Type: application/json' \\\n    \
    --data-binary @trace.json http://localhost:4318/v1/traces\n\n\
    Exit codes: 0, or 1 if there is nothing to export, or it can't be written.")]
pub(crate) struct Args {
    /// Run files; or one workload file, or a study's folder
    #[arg(required = true)]
    what: Vec<PathBuf>,
    /// In which form
    #[arg(
        long,
        value_parser = PossibleValuesParser::new(FORMATS.iter().map(|format| format.name)),
        default_value = "wfformat"
    )]
    format: String,
    /// Where it goes, a file or a directory; without it, to standard output
    #[arg(short, long, value_name = "PLACE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let format = FORMATS.iter().find(|format| format.name == args.format);
    (format.expect("clap takes names of the table only").write)(args)?;
    Ok(0)
}

fn claim_output(path: &Path, args: &Args) -> Result<OutputTarget, CommandError> {
    OutputTarget::claim(path, OutputKind::Text, args.force)
}

//! `forebay doctor`: what works here.

use crate::exit::Stop;

/// Options of `forebay doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<i32, Stop> {
    let _ = args.json;
    Ok(0)
}

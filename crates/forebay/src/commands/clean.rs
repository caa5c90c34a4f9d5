//! `forebay clean`: removes old runs of a project.

use std::path::PathBuf;

use forebay_model::ByteCount;

use super::list;
use crate::console;
use crate::exit::CommandError;

/// Options of `forebay clean`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  forebay clean --keep 5 --dry-run     what would go\n  \
    forebay clean --keep 5\n\n\
    It removes run files in .forebay/runs alone, the oldest first: files on other tiers, and runs \
    that -o put elsewhere, stay. The newest run always stays.\n\n\
    Exit codes: 0; 1 if one could not be removed.")]
pub(crate) struct Args {
    /// The project
    #[arg(default_value = ".")]
    directory: PathBuf,
    /// So many of the newest runs stay
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep: u32,
    /// Say what would be removed, and remove nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let kept = list::list_project_runs(&args.directory)?;
    let old = kept.len().saturating_sub(args.keep as usize);
    for run in &kept[..old] {
        if args.dry_run {
            println!("{}", run.path.display());
            continue;
        }
        std::fs::remove_file(&run.path).map_err(|error| {
            let message = format!("{} can't be removed: {error}", run.path.display());
            CommandError::new(1, message, "those before it are gone, those behind it are there")
        })?;
    }
    let bytes = ByteCount(kept[..old].iter().map(|run| run.bytes).sum());
    let done = if args.dry_run { "would be removed" } else { "were removed" };
    let stay = kept.len() - old;
    console::note(&format!("{old} runs ({bytes}) {done}, {stay} stay"));
    Ok(0)
}

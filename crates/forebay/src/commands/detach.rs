//! `forebay detach`: nothing of it is shown any more.

use std::fs;
use std::path::PathBuf;

use forebay_volume::reads::remove_learned_index;

use super::attach::{load_attachments, path_within_volume, save_attachments};
use crate::exit::CommandError;

/// Options of `forebay detach`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: forebay detach . ref")]
pub(crate) struct Args {
    /// The volume
    volume: PathBuf,
    /// Where in it something is attached
    path: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let (volume, mut attached) = load_attachments(&args.volume)?;
    let at = path_within_volume(&volume, &args.path);
    if attached.remove(&at).is_none() {
        let places: Vec<String> = attached.iter().map(|one| one.at.display().to_string()).collect();
        let next = match places.is_empty() {
            true => "nothing is attached to this volume".to_owned(),
            false => format!("something is attached at {}", places.join(", ")),
        };
        return Err(CommandError::new(1, format!("nothing is attached at {}", at.display()), next));
    }
    save_attachments(&volume, &attached)?;
    remove_learned_index(&volume, &at);
    // Empty, as it was made; a directory that holds something is somebody's.
    let _ = fs::remove_dir(volume.join(at));
    Ok(0)
}

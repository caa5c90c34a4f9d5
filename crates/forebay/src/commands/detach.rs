//! `forebay detach`: nothing of it is shown any more.

use std::fs;
use std::path::PathBuf;

use forebay_volume::reads::forget_learned;

use super::attach::{open, save, within};
use crate::exit::Stop;

/// Options of `forebay detach`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: forebay detach . ref")]
pub(crate) struct Args {
    /// The volume
    volume: PathBuf,
    /// Where in it something is attached
    path: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<i32, Stop> {
    let (volume, mut attached) = open(&args.volume)?;
    let at = within(&volume, &args.path);
    if attached.remove(&at).is_none() {
        let places: Vec<String> = attached.iter().map(|one| one.at.display().to_string()).collect();
        let next = match places.is_empty() {
            true => "nothing is attached to this volume".to_owned(),
            false => format!("something is attached at {}", places.join(", ")),
        };
        return Err(Stop::new(1, format!("nothing is attached at {}", at.display()), next));
    }
    save(&volume, &attached)?;
    forget_learned(&volume, &at);
    // Empty, as it was made; a directory that holds something is somebody's.
    let _ = fs::remove_dir(volume.join(at));
    Ok(0)
}

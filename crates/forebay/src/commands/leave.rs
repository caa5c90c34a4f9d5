//! `forebay leave`: the end of a mount on a machine that is about to be taken away.

use std::path::PathBuf;

use forebay_model::Micros;
use forebay_volume::launch::UnmountManner;

use super::unmount::unmount;
use crate::exit::CommandError;

/// Two minutes are what AWS gives, less what a script takes to hear of it.
const USUAL: &str = "90s";

/// Options of `forebay leave`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: forebay leave --within 60s ~/work\n\n\
    For the notice of a spot instance, a preemption, a shutdown. Programs that still use the mount are \
    cut off: their requests fail from now on. What was written until then is saved: names go to the book \
    or the bucket, bytes to the bucket, files on tiers to their places; other nodes do not wait for \
    this one's lease. Status 0: all of it is safe elsewhere; 121: not all of it within the time, or it \
    could not be brought, and it says how much is left and where; 1: nothing of Forebay's is mounted \
    there.")]
pub(crate) struct Args {
    /// Where the volume is shown
    dir: PathBuf,
    /// Return after this time at the latest, such as 90s or 2m; what is not done then goes on as long as
    /// the machine is there
    #[arg(long, value_name = "TIME", default_value = USUAL)]
    within: Micros,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    unmount(&args.dir, UnmountManner::Leave { within: args.within.into() })
}

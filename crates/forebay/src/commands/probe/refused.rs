//! What a probe does not do without being asked, and why one ended.

use std::path::Path;

use forebay_model::{ByteCount, Reach};
use rustix::io::Errno;

use super::Args;
use super::bounds::ProbeStop;
use super::probed_directory::ProbedDirectory;
use crate::exit::CommandError;

/// Beyond this a probe asks first, wherever it is.
const BYTES_ASK: u64 = 4 << 30;
/// What a probe may take without asking on a storage that others use, too.
const GENTLE: (f64, u64, u64) = (60.0, 1 << 30, 20_000);
/// Which part of the free room a probe may write.
const ROOM: u64 = 10;

/// Asks before it takes much, and leaves free room alone.
pub(super) fn refuse_excess(args: &Args, ground: &ProbedDirectory) -> Result<(), CommandError> {
    let (shown, fs_type) = (args.dir.display(), &ground.fs_type);
    let (seconds, bytes, operations) = GENTLE;
    let more =
        args.time.get() > seconds || args.bytes > ByteCount(bytes) || args.operations > operations;
    let shared = ground.reach != Reach::Node;
    if !args.yes && (args.bytes > ByteCount(BYTES_ASK) || shared && more) {
        let why = match shared {
            true => format!(
                "{shown} is on {fs_type}, which others may use, too, and this is more \
                             than the usual 60 s, 1 GiB and 20,000 operations"
            ),
            false => format!("{} is much for a probe of {shown}", args.bytes),
        };
        return Err(CommandError::new(2, why, "--yes does it all the same"));
    }
    if let Some(free) = ground.free.filter(|free| args.bytes.get() > free.get() / ROOM) {
        let why = format!(
            "{shown} has {free} free, and {} that a probe may write are more than a tenth of it",
            args.bytes
        );
        return Err(CommandError::new(1, why, "allow less with --bytes, or free some room"));
    }
    Ok(())
}

pub(super) fn explain_halt(halt: ProbeStop, dir: &Path) -> CommandError {
    let shown = dir.display();
    match halt {
        ProbeStop::Signal(signal) => CommandError::new(
            128 + signal,
            "interrupted; nothing is left of the probe",
            "start it again",
        ),
        ProbeStop::Over(option) => CommandError::new(
            1,
            format!("{shown}: {option} ended the probe before its first round did"),
            format!("allow more with {option}"),
        ),
        ProbeStop::Failed(what, errno) => {
            let next = match errno {
                Errno::NOSPC | Errno::DQUOT => "free some room there first",
                _ => "a probe needs a storage that works; nothing is left of it",
            };
            CommandError::new(1, format!("{shown}: {what} failed: {errno}"), next)
        }
    }
}

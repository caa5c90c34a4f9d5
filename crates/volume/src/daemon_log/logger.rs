//! A daemon begins to speak, and ends.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::mpsc::{TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::Builder;
use std::time::Duration;

use parking_lot::Mutex;

use super::file::{LogFile, MOST};
use super::log_folders::{self, ABOUT, LogOwner};
use super::log_queue::{VOICE, WriterMessage};
use super::log_writer::LogWriter;
use super::{LOG, LogOptions};

/// Lines that wait to be written; more are counted.
const QUEUE: usize = 1024;
/// How long somebody waits until lines are written, in steps.
const PATIENCE: u32 = 50;
const STEP: Duration = Duration::from_millis(20);

/// What this daemon writes to.
struct DaemonLog {
    wanted: LogOptions,
    file: Arc<Mutex<Option<LogFile>>>,
    /// Why there is no place for it.
    no_place: Option<String>,
}

static SPOKEN: OnceLock<DaemonLog> = OnceLock::new();

/// Writes from now on what this process says, and said before. Whatever fails is told at the end by
/// [`log_problem`], and nothing else comes of it.
///
/// All signals must be held back in this thread.
pub(crate) fn start_logging(wanted: LogOptions, about: &LogOwner, stderr: Option<OwnedFd>) {
    let Some(voice) = VOICE.get() else { return };
    let taken = log_folders::claim_log_folder(&wanted.folder, about);
    let no_place = taken.as_ref().err().map(ToString::to_string);
    let file = Arc::new(Mutex::new(taken.ok().map(|folder| LogFile::in_folder(folder, MOST))));
    let (queue, words) = sync_channel(QUEUE);
    let stderr = stderr.map(|fd| (File::from(fd), wanted.to_journal));
    let mut writer = LogWriter { voice: Arc::clone(voice), file: Arc::clone(&file), stderr };
    // Written at once, with what was said before: whoever is killed has said who it was.
    tracing::info!(
        "Forebay {} (process {}) serves {} at {}",
        env!("CARGO_PKG_VERSION"),
        about.pid,
        about.volume,
        about.points.join(", ")
    );
    voice.attach_writer(queue).iter().for_each(|said| writer.write_line(said));
    // Without this thread the log stays empty, and the daemon serves.
    let _ = Builder::new().name("forebay-log".into()).spawn(move || writer.run_writer(&words));
    let shelf = wanted.folder.parent().map(PathBuf::from);
    let _ = SPOKEN.set(DaemonLog { wanted, file, no_place });
    let _ = Builder::new().name("forebay-hup".into()).spawn(reopen_at_hangup);
    log_panics();
    if let Some(shelf) = shelf {
        log_folders::prune_log_folders(&shelf);
    }
}

/// SIGHUP: the log has been moved away, for another to be begun.
fn reopen_at_hangup() {
    let Some(queue) = VOICE.get().and_then(|voice| voice.queue()) else { return };
    loop {
        // SAFETY: a zeroed set is valid, and all signals are held back in every thread.
        unsafe {
            let mut only: libc::sigset_t = std::mem::zeroed();
            libc::sigaddset(&mut only, libc::SIGHUP);
            let mut signal = 0;
            while libc::sigwait(&only, &mut signal) != 0 {}
        }
        let _ = queue.send(WriterMessage::Reopen);
    }
}

/// A fault of ours is told before what comes of it.
fn log_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |fault| {
        let payload = fault.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let place = fault.location().map(ToString::to_string).unwrap_or_default();
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("a thread").to_owned();
        tracing::error!("a fault of Forebay's in {name}, {place}: {}", text.unwrap_or("no words"));
        before(fault);
        // It may be the last that this process does.
        if name == "main" {
            wait_until_written(false);
        }
    }));
}

/// Waits until all is written that was said, but not for ever.
fn wait_until_written(is_end: bool) {
    let Some(queue) = VOICE.get().and_then(|voice| voice.queue()) else { return };
    let (done, is_done) = sync_channel(1);
    let mut word = WriterMessage::Until(done, is_end);
    for _ in 0..PATIENCE {
        match queue.try_send(word) {
            Ok(()) => {
                // A disk that takes no more must not hold the end of a run.
                let _ = is_done.recv_timeout(STEP * PATIENCE);
                return;
            }
            Err(TrySendError::Full(back)) => word = back,
            Err(TrySendError::Disconnected(_)) => return,
        }
        std::thread::sleep(STEP);
    }
}

/// Where this daemon's log is.
pub(crate) fn path() -> Option<PathBuf> {
    SPOKEN.get().map(|spoken| spoken.wanted.folder.join(LOG))
}

/// Why there is less in the log than was said, if so.
pub(crate) fn log_problem() -> Option<String> {
    let DaemonLog { wanted, file, no_place } = SPOKEN.get()?;
    let folder = wanted.folder.display();
    if let Some(why) = no_place {
        return Some(format!("the daemon has no log, since there is no place in {folder}: {why}"));
    }
    let Some(file) = file.try_lock_for(STEP) else {
        return Some(format!("the daemon's log in {folder} is waited for: its disk is slow"));
    };
    let file = file.as_ref().filter(|file| file.lost > 0)?;
    let (why, lost) = (file.why.as_deref().unwrap_or("no reason was given"), file.lost);
    Some(format!("lines of the daemon's log in {folder} are missing, {lost} so far: {why}"))
}

/// The daemon has little more to say. Where all went well, or `all_is_told`, and nobody asked for it,
/// the log goes with it. Tells what [`log_problem`] tells.
pub(crate) fn close(all_is_told: bool) -> Option<String> {
    let spoken = SPOKEN.get()?;
    wait_until_written(true);
    tracing::info!("all is done");
    wait_until_written(false);
    let trouble = log_problem();
    let went_well = VOICE.get().is_some_and(|voice| !voice.has_warned()) && trouble.is_none();
    if (went_well || all_is_told)
        && !spoken.wanted.is_asked_for
        && let Some(mut file) = spoken.file.try_lock_for(STEP)
        && let Some(file) = file.take()
    {
        file.remove_files(ABOUT);
        log_folders::remove_log_folder(&spoken.wanted.folder);
    }
    trouble
}

#[cfg(test)]
mod tests {
    //! If this fails, a daemon that dies of a fault of ours says nothing.
    use super::super::LogLevels;
    use super::super::log_queue::{LogQueue, subscriber_for};
    use super::*;

    #[test]
    fn a_panic_is_told_with_its_place() {
        let voice = Arc::new(LogQueue::default());
        // Who panics meanwhile in another thread has no listener, and is told of as before.
        log_panics();
        let caught = tracing::subscriber::with_default(
            subscriber_for(&LogLevels::default(), Arc::clone(&voice)),
            || std::panic::catch_unwind(|| panic!("three\nlegs")),
        );
        assert!(caught.is_err());
        let held = voice.attach_writer(sync_channel(1).0);
        let line = held.first().map(|said| said.log_line()).unwrap_or_default();
        assert!(line.contains(" ERROR daemon_log::logger: a fault of Forebay's in "), "{line}");
        assert!(
            line.contains("daemon_log/logger.rs:") && line.ends_with(": three\\nlegs\n"),
            "{line}"
        );
    }
}

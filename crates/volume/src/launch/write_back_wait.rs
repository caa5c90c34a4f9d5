//! The end of a run, as the front waits for it: it tells how far files have come, and lets whoever
//! does not want to wait go.

use std::mem::MaybeUninit;

use forebay_model::Micros;
use rustix::process::Pid;

use super::{Channel, Hears, ToLauncher, WriteBackProgress};
use forebay_os::mount_users::is_zombie;

/// Between two looks for a signal, or for the daemon's next word.
pub(super) const LOOK_MS: u16 = 50;
/// After so long without a word, a file takes its time: how far they have come is told again.
const SILENCE_MS: u64 = 500;
/// What ends the wait.
const LEAVE: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// What the wait came to.
pub(super) enum WriteBackWait {
    /// The daemon's last word; `None`: it is gone.
    Word(Option<ToLauncher>),
    /// Somebody had enough when files had come so far. The daemon goes on.
    Left(WriteBackProgress),
}

/// How far files had come when the daemon spoke last.
#[derive(Default)]
pub(super) struct Latest {
    now: Option<WriteBackProgress>,
    silent_ms: u64,
}

impl Latest {
    /// The daemon has spoken of it.
    pub(super) fn is_some(&self) -> bool {
        self.now.is_some()
    }

    /// How far files had come.
    pub(super) fn progress(&self) -> Option<WriteBackProgress> {
        self.now
    }

    /// The daemon speaks.
    pub(super) fn note_progress(&mut self, now: WriteBackProgress, tell: fn(&WriteBackProgress)) {
        tell(&now);
        *self = Latest { now: Some(now), silent_ms: 0 };
    }

    /// It was silent for [`LOOK_MS`] more.
    pub(super) fn note_silence(&mut self, tell: fn(&WriteBackProgress)) {
        self.silent_ms += u64::from(LOOK_MS);
        if let Some(now) = self.now
            && self.silent_ms.is_multiple_of(SILENCE_MS)
        {
            let took = Micros(now.took.0 + self.silent_ms * 1000);
            tell(&WriteBackProgress { took, ..now });
        }
    }
}

/// Waits for the daemon's last word.
pub(super) fn wait_for_last_word(
    control: &Channel,
    daemon: Pid,
    tell: fn(&WriteBackProgress),
    hears: Hears,
) -> WriteBackWait {
    let mut latest = Latest::default();
    loop {
        if control.has_message_within(LOOK_MS) {
            match control.receive_message::<ToLauncher>() {
                Some(ToLauncher::WriteBackProgress(now)) => latest.note_progress(now, tell),
                Some(ToLauncher::Waits(_)) => {}
                Some(word) if hears.tell_now(&word) => {}
                word => return WriteBackWait::Word(word),
            }
        } else if is_zombie(daemon) && !control.has_message_within(0) {
            // What is left of it keeps our channel, and says nothing any more.
            return WriteBackWait::Word(None);
        } else {
            latest.note_silence(tell);
        }
        // Before files come home there is little to wait for, and a summary to be had.
        if let Some(now) = latest.now
            && take_leave_signal()
        {
            return WriteBackWait::Left(now);
        }
    }
}

/// Takes such a signal, if one waits that the caller does not ignore.
fn take_leave_signal() -> bool {
    // SAFETY: zeroed sets, actions and times are valid; the calls fill or read them.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in LEAVE {
            let mut now = MaybeUninit::<libc::sigaction>::zeroed();
            libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr());
            if now.assume_init().sa_sigaction != libc::SIG_IGN {
                libc::sigaddset(&mut set, signal);
            }
        }
        let at_once: libc::timespec = std::mem::zeroed();
        libc::sigtimedwait(&set, std::ptr::null_mut(), &at_once) > 0
    }
}

//! From `tracing` to a queue. Before there is a daemon, what is said is held in memory, which the
//! daemon inherits.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::LogLevels;
use super::limit::{LineAdmission, RepeatLimit};
use super::line::LogLine;
use forebay_os::clock::{Clock, MachineClock};

/// Lines that are held before there is a daemon.
const HELD: usize = 1000;
/// How many different errors are said at the end.
const ERRORS_SAID: usize = 20;

/// A kind of line: where it comes from, and how bad it is.
type Kind = (Level, &'static str);

/// What the thread that writes is told.
#[derive(Debug)]
pub(super) enum WriterMessage {
    /// A line.
    Said(LogLine),
    /// Lines are being left out.
    Wake,
    /// The file may have another name now.
    Reopen,
    /// All before this is to be written; with `true` it is the end.
    Until(SyncSender<()>, bool),
}

/// What this process says.
pub(super) static VOICE: OnceLock<Arc<LogQueue>> = OnceLock::new();

/// Takes in what is said, and never waits.
#[derive(Debug, Default)]
pub(super) struct LogQueue {
    queue: OnceLock<SyncSender<WriterMessage>>,
    held: Mutex<Vec<LogLine>>,
    limit: Mutex<RepeatLimit<Identifier, Kind>>,
    /// Lines for which the queue had no place.
    lost: AtomicU64,
    /// Lines that are warnings or worse.
    warned: AtomicU64,
    /// Errors that no request waits for. A bucket's are not among them: its health has words of its
    /// own.
    errors: Mutex<Vec<String>>,
}

impl LogQueue {
    fn enqueue_line(&self, said: LogLine) {
        if said.level <= Level::WARN {
            self.warned.fetch_add(1, Relaxed);
        }
        if said.level == Level::ERROR && !said.module.starts_with("bucket") {
            let mut errors = self.errors.lock();
            if errors.len() < ERRORS_SAID && !errors.contains(&said.text) {
                errors.push(said.text.clone());
            }
        }
        match self.queue.get() {
            Some(queue) => self.send_or_count_lost(queue, WriterMessage::Said(said)),
            None => {
                let mut held = self.held.lock();
                if held.len() < HELD {
                    held.push(said);
                }
            }
        }
    }

    fn send_or_count_lost(&self, queue: &SyncSender<WriterMessage>, word: WriterMessage) {
        if let Err(TrySendError::Full(WriterMessage::Said(_))) = queue.try_send(word) {
            self.lost.fetch_add(1, Relaxed);
        }
    }

    /// From now on a thread takes what is said; gives what was said before.
    pub(super) fn attach_writer(&self, queue: SyncSender<WriterMessage>) -> Vec<LogLine> {
        let _ = self.queue.set(queue);
        self.take_held()
    }

    fn take_held(&self) -> Vec<LogLine> {
        std::mem::take(&mut *self.held.lock())
    }

    pub(super) fn queue(&self) -> Option<&SyncSender<WriterMessage>> {
        self.queue.get()
    }

    /// How many lines got lost since this was asked.
    pub(super) fn take_lost_count(&self) -> u64 {
        self.lost.swap(0, Relaxed)
    }

    /// Whether something went wrong so far.
    pub(super) fn has_warned(&self) -> bool {
        self.warned.load(Relaxed) > 0
    }

    /// Lines of each kind that were left out, as lines; with `all`, also of what goes on.
    pub(super) fn suppressed_lines(&self, all: bool) -> Vec<LogLine> {
        let due = self.limit.lock().take_due_counts(MachineClock.elapsed_nanos(), all);
        let line = |((level, target), more): (Kind, u64)| {
            LogLine::with_current_time(
                level,
                target,
                &format!("{more} more like this were left out"),
            )
        };
        due.into_iter().map(line).collect()
    }

    /// Whether lines were left out of which nobody was told.
    pub(super) fn has_suppressed(&self) -> bool {
        self.limit.lock().has_suppressed()
    }

    fn handle_event(&self, event: &Event<'_>) {
        let known = event.metadata();
        let (level, target) = (*known.level(), known.target());
        // Who asks for more than is said by itself wants all of it.
        if level <= Level::INFO {
            let (kind, now) = (known.callsite(), MachineClock.elapsed_nanos());
            match self.limit.lock().admit_line(kind, (level, target), now) {
                LineAdmission::Yes => {}
                LineAdmission::Counted => return,
                LineAdmission::CountedFirst => {
                    if let Some(queue) = self.queue.get() {
                        self.send_or_count_lost(queue, WriterMessage::Wake);
                    }
                    return;
                }
            }
        }
        let mut words = Words::default();
        event.record(&mut words);
        self.enqueue_line(LogLine::with_current_time(level, target, &words.0));
    }
}

/// The message of an event, and other fields behind it.
#[derive(Default)]
struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a text does not fail.
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

struct QueueLayer(Arc<LogQueue>);

impl<S: Subscriber> Layer<S> for QueueLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        self.0.handle_event(event);
    }
}

/// Who hands events of these levels to a voice.
pub(super) fn subscriber_for(
    levels: &LogLevels,
    voice: Arc<LogQueue>,
) -> impl Subscriber + Send + Sync {
    tracing_subscriber::registry().with(levels.0.clone()).with(QueueLayer(voice))
}

/// From now on nothing that is said gets lost: it is held until there is a daemon. Where a program
/// has a listener of its own it keeps it.
pub(crate) fn start_buffering(levels: &LogLevels) {
    let voice = Arc::new(LogQueue::default());
    if tracing::subscriber::set_global_default(subscriber_for(levels, Arc::clone(&voice))).is_ok() {
        let _ = VOICE.set(voice);
    }
}

/// Errors so far that nobody was told of, for the end of the run or mount.
pub(crate) fn take_errors() -> Vec<String> {
    VOICE.get().map(|voice| std::mem::take(&mut *voice.errors.lock())).unwrap_or_default()
}

/// Of a process that becomes another program: what it said goes into the log that its daemon keeps.
pub(crate) fn append_held_lines(wanted: &super::LogOptions) {
    let held = VOICE.get().map(|voice| voice.take_held()).unwrap_or_default();
    if !held.is_empty() {
        let text: String = held.iter().map(LogLine::log_line).collect();
        // What can't be written there is not worth the command.
        let _ = super::file::append_lines(&wanted.folder, text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, a storm of errors fills the disk, or goes by untold.
    use std::sync::mpsc::sync_channel;

    use super::*;

    /// What is said meanwhile, as lines without their time.
    fn said(levels: &str, speak: impl FnOnce()) -> (Arc<LogQueue>, Vec<String>) {
        let voice = Arc::new(LogQueue::default());
        let levels = levels.parse().expect("levels");
        tracing::subscriber::with_default(subscriber_for(&levels, Arc::clone(&voice)), speak);
        let held = voice.attach_writer(sync_channel(1).0);
        let line = |said: &LogLine| said.log_line()[25..].to_owned();
        (voice, held.iter().map(line).collect())
    }

    #[test]
    fn a_storm_is_ten_lines_and_a_number() {
        let (voice, lines) = said("info", || {
            for number in 0..30 {
                tracing::warn!("nothing works, {number}");
            }
            tracing::warn!(files = 3, "something else");
        });
        assert_eq!(lines.len(), 11);
        assert_eq!(lines[9], "WARN  daemon_log::log_queue::tests: nothing works, 9\n");
        assert_eq!(lines[10], "WARN  daemon_log::log_queue::tests: something else files=3\n");
        assert!(voice.has_suppressed() && voice.has_warned());
        let left = voice.suppressed_lines(true);
        assert_eq!(left.len(), 1);
        let text = &left[0].log_line()[25..];
        assert_eq!(text, "WARN  daemon_log::log_queue::tests: 20 more like this were left out\n");
    }

    #[test]
    fn who_asks_for_more_is_told_all_of_it() {
        let (voice, lines) = said("info,daemon_log=debug", || {
            (0..30).for_each(|number| tracing::debug!("step {number}"));
            tracing::trace!("not this");
        });
        assert_eq!(lines.len(), 30);
        assert!(!voice.has_suppressed() && !voice.has_warned());
    }

    #[test]
    fn a_queue_that_is_full_costs_lines_and_no_time() {
        let (voice, words) = (Arc::new(LogQueue::default()), sync_channel(2));
        voice.attach_writer(words.0);
        let levels = "debug".parse().expect("a level");
        tracing::subscriber::with_default(subscriber_for(&levels, Arc::clone(&voice)), || {
            (0..5).for_each(|number| tracing::debug!("{number}"));
        });
        assert_eq!((words.1.try_iter().count(), voice.take_lost_count()), (2, 3));
        assert_eq!(voice.take_lost_count(), 0);
    }
}

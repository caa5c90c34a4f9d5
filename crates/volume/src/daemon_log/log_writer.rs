//! The thread that writes what was said.

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use parking_lot::Mutex;
use tracing::Level;

use super::file::LogFile;
use super::line::LogLine;
use super::log_queue::{LogQueue, WriterMessage};

/// Between two looks whether lines that were left out are to be told.
const LOOK: Duration = Duration::from_secs(1);

/// What it writes to.
pub(super) struct LogWriter {
    pub(super) voice: Arc<LogQueue>,
    /// `None`: there is no place for one.
    pub(super) file: Arc<Mutex<Option<LogFile>>>,
    /// Standard error, and whether that is the journal.
    pub(super) stderr: Option<(std::fs::File, bool)>,
}

impl LogWriter {
    /// Writes until the process ends.
    pub(super) fn run_writer(&mut self, words: &Receiver<WriterMessage>) {
        loop {
            let word = match self.voice.has_suppressed() {
                true => words.recv_timeout(LOOK),
                false => words.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let lost = self.voice.take_lost_count();
            if lost > 0 {
                let text = format!("{lost} lines came faster than they could be written");
                self.write_line(&LogLine::with_current_time(Level::WARN, module_path!(), &text));
            }
            self.voice.suppressed_lines(false).iter().for_each(|said| self.write_line(said));
            match word {
                Ok(WriterMessage::Said(said)) => self.write_line(&said),
                Ok(WriterMessage::Reopen) => {
                    if let Some(file) = &mut *self.file.lock() {
                        file.reopen();
                    }
                    self.write_line(&LogLine::with_current_time(
                        Level::INFO,
                        module_path!(),
                        "the log was opened again",
                    ));
                }
                Ok(WriterMessage::Until(done, is_end)) => {
                    if is_end {
                        self.voice
                            .suppressed_lines(true)
                            .iter()
                            .for_each(|said| self.write_line(said));
                    }
                    let _ = done.send(());
                }
                Ok(WriterMessage::Wake) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    pub(super) fn write_line(&mut self, said: &LogLine) {
        if let Some(file) = &mut *self.file.lock() {
            file.write_line(&said.log_line());
        }
        if let Some((stderr, is_journal)) = &mut self.stderr {
            let line = if *is_journal { said.journal_line() } else { said.log_line() };
            // Nobody may be there to read it.
            let _ = stderr.write_all(line.as_bytes());
        }
    }
}

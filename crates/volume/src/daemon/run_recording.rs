//! The run file while the run lasts: a thread that writes once a second what was gathered, and the
//! copy at the end.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use forebay_model::{Error, Fact, Header, Kind, RunEnd, RunWriter};
use parking_lot::Mutex;

use crate::recorder::Recorder;
use forebay_os::file_identity::proc_fd_path;
use forebay_os::own_folder::{OWN, create_own_folder};
use forebay_os::real_path::{ensure_directory, ensure_own_folder};

/// Between two writes: what a kill -9 can take from the record.
const EVERY: Duration = Duration::from_secs(1);
/// Facts kept in memory while the disk is full; older ones are dropped, and the run says so.
const MOST_KEPT: usize = 2_000_000;

struct RecordingState {
    writer: RunWriter,
    /// Not yet written.
    facts: Vec<Fact>,
    dropped: bool,
    trouble: Option<String>,
}

impl RecordingState {
    fn write_pending(&mut self, recorder: &Recorder) {
        recorder.drain_facts(&mut self.facts);
        if self.facts.is_empty() {
            return;
        }
        match self.writer.write_facts(&self.facts) {
            Ok(()) => self.facts.clear(),
            Err(error) => {
                tracing::warn!("the record waits to be written: {error}");
                self.trouble = Some(error.to_string());
                if self.facts.len() > MOST_KEPT {
                    self.facts.drain(..MOST_KEPT / 2);
                    self.dropped = true;
                }
            }
        }
    }
}

/// Keeps the record.
pub(super) struct RecordingThread {
    book: Arc<Mutex<RecordingState>>,
    recorder: Arc<Recorder>,
    output: PathBuf,
    /// What has that name, as far as this run knows.
    stands: Option<(u64, u64)>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RecordingThread {
    /// Makes the run file and begins to write.
    pub(super) fn start_recording(
        state: &Path,
        output: PathBuf,
        header: Header,
        recorder: Arc<Recorder>,
    ) -> Result<RecordingThread, Error> {
        let writer = RunWriter::create(state, header)?;
        let book = RecordingState { writer, facts: Vec::new(), dropped: false, trouble: None };
        let book = Arc::new(Mutex::new(book));
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::Builder::new().name("forebay-record".into()).spawn({
            let (book, recorder) = (Arc::clone(&book), Arc::clone(&recorder));
            move || {
                while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(EVERY) {
                    book.lock().write_pending(&recorder);
                }
            }
        });
        let stands = file_identity(&output);
        Ok(RecordingThread {
            book,
            recorder,
            output,
            stands,
            stop: Some(stop),
            thread: thread.ok(),
        })
    }

    /// Where the run file goes.
    pub(super) fn output(&self) -> &Path {
        &self.output
    }

    /// It goes there instead.
    pub(super) fn set_output(&mut self, output: PathBuf) {
        self.output = output;
    }

    /// Nothing was run: leaves no file.
    pub(super) fn abandon_record(&mut self) {
        self.stop_writer();
        remove_run_file(self.book.lock().writer.path());
    }

    fn stop_writer(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// Copies out what is known while the run goes on.
    pub(super) fn copy_provisional(&mut self, ended: RunEnd) -> (Option<PathBuf>, Vec<String>) {
        let taken = self.avoid_foreign_output();
        let mut book = self.book.lock();
        self.recorder.record_fact(Fact::Ended(ended));
        book.write_pending(&self.recorder);
        let copied = copy_out(&book.writer, &self.output);
        self.stands = file_identity(&self.output);
        summarize_output(&book, copied, &self.output, taken)
    }

    /// What another run wrote meanwhile where this one was to go stays: two were given one name.
    fn avoid_foreign_output(&mut self) -> Option<String> {
        let now = file_identity(&self.output);
        if now.is_none() || now == self.stands {
            return None;
        }
        let mut name = self.output.file_stem().unwrap_or_default().to_owned();
        name.push(format!("-{}.run", std::process::id()));
        let mine = self.output.with_file_name(name);
        let theirs = std::mem::replace(&mut self.output, mine);
        self.stands = None;
        Some(format!("{} is another run's, which ended first; it stays as it is", theirs.display()))
    }

    /// Writes the end, copies the run out, and removes the state.
    pub(super) fn finish_record(
        &mut self,
        ended: RunEnd,
        notes: &[(String, String)],
    ) -> (Option<PathBuf>, Vec<String>) {
        self.stop_writer();
        let taken = self.avoid_foreign_output();
        let mut book = self.book.lock();
        self.recorder.record_fact(Fact::Ended(RunEnd {
            complete: ended.complete && !book.dropped,
            ..ended
        }));
        book.write_pending(&self.recorder);
        let finished = book.writer.add_notes(notes).and_then(|()| book.writer.finish_run());
        let copied = finished.and_then(|()| copy_out(&book.writer, &self.output));
        if copied.is_ok() && book.facts.is_empty() {
            let path = book.writer.path().to_owned();
            let told = summarize_output(&book, copied, &self.output, taken);
            remove_run_file(&path);
            return told;
        }
        summarize_output(&book, copied, &self.output, taken)
    }
}

/// Which file has this name.
fn file_identity(path: &Path) -> Option<(u64, u64)> {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// Takes the names of a run file away; the writer may still hold it.
fn remove_run_file(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", path.display()));
    }
}

/// What became of the run file, and what a person should know of it.
fn summarize_output(
    book: &RecordingState,
    copied: Result<(), Error>,
    output: &Path,
    taken: Option<String>,
) -> (Option<PathBuf>, Vec<String>) {
    let mut warnings: Vec<String> = book.trouble.iter().cloned().chain(taken).collect();
    if book.dropped {
        warnings.push("part of the record was dropped: the state directory was full".into());
    }
    match copied {
        Ok(()) => (Some(output.to_owned()), warnings),
        Err(error) => {
            warnings.push(format!("{error}; the run is at {}", book.writer.path().display()));
            (Some(book.writer.path().to_owned()), warnings)
        }
    }
}

/// What Forebay's own folder in a covered directory keeps runs in.
const RUNS: &str = "runs";

/// Copies to `output`, making the directory that Forebay keeps its runs in. The covered directory may
/// be another user's, who must not choose where this one writes.
fn copy_out(writer: &RunWriter, output: &Path) -> Result<(), Error> {
    let (Some(covered), Some(name)) = (managed_directory_of(output), output.file_name()) else {
        return writer.copy_to(output);
    };
    let runs = create_own_folder(&covered.join(OWN))
        .and_then(|()| ensure_own_folder(covered))
        .and_then(|own| ensure_directory(&own, OsStr::new(RUNS)))
        .map_err(|why| {
            let what = format!("cannot write run file {}: {why}", output.display());
            Error::new(Kind::Io, what).with_source(why)
        })?;
    let runs = proc_fd_path(runs.as_fd());
    let dest = Path::new(OsStr::from_bytes(runs.to_bytes())).join(name);
    writer.copy_through(&dest, output)
}

/// The directory in whose own folder a run file is kept, if it is kept in one.
fn managed_directory_of(output: &Path) -> Option<&Path> {
    let runs = output.parent().filter(|runs| runs.ends_with(Path::new(OWN).join(RUNS)))?;
    runs.parent()?.parent()
}

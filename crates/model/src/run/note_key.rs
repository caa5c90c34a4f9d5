//! What the headers of some runs say besides ([`Header::more`]): each key once, with the type of its
//! value. Keys of other versions of Forebay stay in the file and are nobody's here.

use super::Header;
use crate::{ByteCount, Seconds};
use std::marker::PhantomData;

/// A key of [`Header::more`] whose values are a `T`.
#[derive(Debug)]
pub struct NoteKey<T> {
    name: &'static str,
    value: PhantomData<fn() -> T>,
}

/// What a run was sampled with, where nothing but the machine was recorded.
pub const SAMPLED_EVERY: NoteKey<Seconds> = NoteKey::new("sampled_every_s");
/// What a request took on its way to Forebay and back, in nanoseconds.
pub const REQUEST_NS: NoteKey<u64> = NoteKey::new("request_ns");
/// How long files were written back after the last task.
pub const WRITTEN_BACK_FOR: NoteKey<Seconds> = NoteKey::new("homecoming_s");
/// Files that were written back.
pub const WRITTEN_BACK: FileNotes = FileNotes::new("brought_home_files", "brought_home_bytes");
/// Those of them that were written back while the run went on.
pub const DRAINED: FileNotes = FileNotes::new("drained_files", "drained_bytes");
/// Files that went, as their rule says.
pub const DISCARDED: FileNotes = FileNotes::new("discarded_files", "discarded_bytes");
/// Files that stay on their tier, as their rule says.
pub const KEPT: FileNotes = FileNotes::new("kept_files", "kept_bytes");
/// Files that were copied to where results go.
pub const PUBLISHED: FileNotes = FileNotes::new("published_files", "published_bytes");
/// Files that could not be written back.
pub const LEFT_FILES: NoteKey<u64> = NoteKey::new("left_files");
/// Files that stayed in place against their rule.
pub const SPILLED_FILES: NoteKey<u64> = NoteKey::new("spilled_files");
/// Folders that were on tiers as a whole: nobody recorded what happened in them.
pub const WHOLE_FOLDERS: NoteKey<u64> = NoteKey::new("whole_folders");
/// What looked on: `fuse`, `bpf` or `notify`.
pub const RECORDER: NoteKey<String> = NoteKey::new("recorder");
/// The value of [`RECORDER`] of a run whose recorder saw when operations were, not how long they took.
pub const NOTIFY: &str = "notify";
/// How much was traced: `files` or `every-read`.
pub const TRACE: NoteKey<String> = NoteKey::new("trace");
/// Events that the kernel had no room for: what the record says is the least that happened.
pub const LOST_EVENTS: NoteKey<u64> = NoteKey::new("lost_events");
/// Rings of io_uring: what went through them is not in the record.
pub const IO_URING_RINGS: NoteKey<u64> = NoteKey::new("io_uring_rings");
/// Calls of programs for another kind of processor, of 32 bits: not in the record.
pub const CALLS_OF_32_BITS: NoteKey<u64> = NoteKey::new("calls_of_32_bits");
/// Descriptors of recorded files that came from elsewhere: what went through them is not in the record.
pub const STRANGE_DESCRIPTORS: NoteKey<u64> = NoteKey::new("strange_descriptors");
/// The node that a job ran on, by the name that its batch system has for it.
pub const NODE: NoteKey<String> = NoteKey::new("node");
/// What a job of another run was sent as: one word for each call of `sbatch` or `srun`.
pub const JOB: NoteKey<String> = NoteKey::new("job");
/// The program that sent it.
pub const JOB_SENT_BY: NoteKey<String> = NoteKey::new("job_sent_by");
/// Run files that were joined.
pub const JOINED_RUNS: NoteKey<u64> = NoteKey::new("joined_runs");
/// Jobs that began, and of which there was no run file when the others were joined.
pub const JOBS_NOT_RECORDED: NoteKey<u64> = NoteKey::new("jobs_not_recorded");
/// What a simulated run cost by a price sheet, in USD.
pub const COST_USD: NoteKey<f64> = NoteKey::new("cost_usd");
/// The same line by line, in JSON.
pub const COST: NoteKey<String> = NoteKey::new("cost");

/// How many files, and how many bytes they have.
#[derive(Debug)]
pub struct FileNotes {
    /// The files.
    pub files: NoteKey<u64>,
    /// Their bytes.
    pub bytes: NoteKey<ByteCount>,
}

impl FileNotes {
    const fn new(files: &'static str, bytes: &'static str) -> FileNotes {
        FileNotes { files: NoteKey::new(files), bytes: NoteKey::new(bytes) }
    }

    /// Both, for [`Header::more`].
    pub fn to_notes(&self, files: u64, bytes: u64) -> [(String, String); 2] {
        [self.files.to_note(&files), self.bytes.to_note(&ByteCount(bytes))]
    }
}

/// What a note's value may be.
pub trait NoteValue: Sized {
    /// As it is written.
    fn to_text(&self) -> String;
    /// `None`: it is no such value.
    fn from_text(text: &str) -> Option<Self>;
}

impl NoteValue for u64 {
    fn to_text(&self) -> String {
        self.to_string()
    }

    fn from_text(text: &str) -> Option<u64> {
        text.parse().ok()
    }
}

impl NoteValue for f64 {
    fn to_text(&self) -> String {
        self.to_string()
    }

    fn from_text(text: &str) -> Option<f64> {
        text.parse().ok()
    }
}

impl NoteValue for String {
    fn to_text(&self) -> String {
        self.clone()
    }

    fn from_text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }
}

impl NoteValue for Seconds {
    fn to_text(&self) -> String {
        self.get().to_string()
    }

    fn from_text(text: &str) -> Option<Seconds> {
        text.parse().ok().map(Seconds)
    }
}

impl NoteValue for ByteCount {
    fn to_text(&self) -> String {
        self.0.to_string()
    }

    fn from_text(text: &str) -> Option<ByteCount> {
        text.parse().ok().map(ByteCount)
    }
}

impl<T> NoteKey<T> {
    const fn new(name: &'static str) -> NoteKey<T> {
        NoteKey { name, value: PhantomData }
    }

    /// As it is in [`Header::more`].
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<T: NoteValue> NoteKey<T> {
    /// The key with this value, for [`Header::more`].
    pub fn to_note(&self, value: &T) -> (String, String) {
        (self.name.to_owned(), value.to_text())
    }
}

/// How much a tier may take, for [`Header::more`].
pub fn capacity_note(tier: &str, bytes: ByteCount) -> (String, String) {
    (format!("capacity_bytes.{tier}"), bytes.to_text())
}

impl Header {
    /// What it says under this key, if it says so.
    pub fn note<T: NoteValue>(&self, key: &NoteKey<T>) -> Option<T> {
        self.note_text(key.name).and_then(T::from_text)
    }

    /// How many files, and their bytes; both or nothing.
    pub fn file_notes(&self, keys: &FileNotes) -> Option<(u64, ByteCount)> {
        self.note(&keys.files).zip(self.note(&keys.bytes))
    }

    /// How much a tier may take, if its site said so.
    pub fn capacity(&self, tier: &str) -> Option<ByteCount> {
        self.note_text(&format!("capacity_bytes.{tier}")).and_then(ByteCount::from_text)
    }

    /// What a request took on its way to Forebay and back, beside what it did there.
    pub fn request_latency(&self) -> Option<Seconds> {
        self.note(&REQUEST_NS).map(|nanos| Seconds(nanos as f64 / 1e9))
    }

    fn note_text(&self, name: &str) -> Option<&str> {
        self.more.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, a report shows nothing of what a run noted.
    use super::*;

    #[test]
    fn notes_come_back_as_what_they_were() {
        let mut header = Header::default();
        header.more.extend(DRAINED.to_notes(3, 4096));
        header.more.push(WRITTEN_BACK_FOR.to_note(&Seconds(1.25)));
        header.more.push(REQUEST_NS.to_note(&57_000));
        header.more.push(capacity_note("fast", ByteCount(1 << 40)));
        header.more.push((COST_USD.name().to_owned(), "much".to_owned()));
        assert_eq!(header.file_notes(&DRAINED), Some((3, ByteCount(4096))));
        assert_eq!(header.note(&WRITTEN_BACK_FOR), Some(Seconds(1.25)));
        assert_eq!(header.request_latency(), Some(Seconds(57e-6)));
        assert_eq!(header.capacity("fast"), Some(ByteCount(1 << 40)));
        assert_eq!(header.capacity("slow"), None);
        assert_eq!(header.note(&COST_USD), None, "no number");
        assert_eq!(header.file_notes(&KEPT), None);
    }
}

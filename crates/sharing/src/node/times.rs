//! Times of access and of change. Mostly they are the time of modification, which each record has;
//! where they are not, an attribute of the record says so, which programs do not see.

use forebay_book::FileRecord;

use super::state::File;

const TIMES: &[u8] = b"forebay.times";

/// Times of last access and of last change, nanoseconds since 1970.
pub(super) fn times_of(record: &FileRecord) -> (i64, i64) {
    let said = record.attributes.iter().find(|(name, _)| name == TIMES);
    let parts = said.and_then(|(_, value)| value.split_at_checked(8));
    let number = |bytes: &[u8]| bytes.try_into().map(i64::from_le_bytes).ok();
    let read = parts.and_then(|(accessed, changed)| Some((number(accessed)?, number(changed)?)));
    read.unwrap_or((record.mtime_ns, record.mtime_ns))
}

fn set_times(record: &mut FileRecord, (accessed, changed): (i64, i64)) {
    record.attributes.retain(|(name, _)| name != TIMES);
    if (accessed, changed) != (record.mtime_ns, record.mtime_ns) {
        let value = [accessed.to_le_bytes(), changed.to_le_bytes()].concat();
        record.attributes.push((TIMES.to_vec(), value));
    }
}

impl File {
    /// Its bytes or names changed now: that is the time of access, too.
    pub(super) fn note_modified(&mut self, now: i64) {
        self.record.mtime_ns = now;
        set_times(&mut self.record, (now, now));
    }

    /// Its attributes changed now, and these times were set.
    pub(super) fn note_changed(&mut self, now: i64, accessed: Option<i64>, modified: Option<i64>) {
        let was = times_of(&self.record).0;
        self.record.mtime_ns = modified.unwrap_or(self.record.mtime_ns);
        set_times(&mut self.record, (accessed.unwrap_or(was), now));
    }
}

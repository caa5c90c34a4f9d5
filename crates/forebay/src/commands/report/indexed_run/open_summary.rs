//! One open file, in numbers that can be added up.

use forebay_model::{IoCount, Micros, OpenSession};

/// What one open did.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenSummary {
    pub(super) from: Micros,
    pub(super) to: Micros,
    pub(super) write: bool,
    pub(super) created: bool,
    pub(super) read: u64,
    pub(super) written: u64,
    pub(super) calls: u64,
    pub(super) size: Option<u64>,
    /// It read the file, or may have.
    pub(super) reads: bool,
    /// It wrote the file, or may have.
    pub(super) writes: bool,
    /// How much it read was not seen.
    pub(super) read_hidden: bool,
    pub(super) write_hidden: bool,
}

pub(super) fn summarize_open(open: &OpenSession) -> OpenSummary {
    let bytes = |io: Option<IoCount>| io.map_or(0, |io| io.bytes.get());
    let calls = |io: Option<IoCount>| io.map_or(0, |io| io.calls);
    let write_hidden = open.write && open.wrote.is_none();
    let grown = match (open.size_at_open, open.size_at_close) {
        (before, Some(after)) if write_hidden => (after - before.unwrap_or_default()).get(),
        _ => 0,
    };
    OpenSummary {
        from: open.opened,
        to: open.closed.unwrap_or(open.opened).max(open.opened),
        write: open.write,
        created: open.created,
        read: bytes(open.read),
        written: bytes(open.wrote) + grown,
        calls: calls(open.read) + calls(open.wrote),
        size: open.size_at_close.or(open.size_at_open).map(|size| size.get()),
        reads: open.has_read(),
        writes: open.has_written(),
        read_hidden: open.read.is_none(),
        write_hidden,
    }
}

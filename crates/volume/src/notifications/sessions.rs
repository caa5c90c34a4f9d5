//! Open files, and what was read and written through them, by their positions: plain reads and writes
//! move a position, and all calls that move one otherwise, or move bytes beside it, are told. Nothing
//! is guessed: what positions do not say is not seen.

use forebay_model::{AccessPattern, SizeClass};
use rustc_hash::FxHashMap;

use super::places::Identity;
use crate::kernel_events::Place;

/// What was moved, and what nobody saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) read: u64,
    pub(super) wrote: u64,
    /// From now on these are not known.
    pub(super) hides_reads: bool,
    pub(super) hides_writes: bool,
    /// It was one call, of this kind: see [`cell_of`].
    pub(super) cell: Option<u32>,
}

/// A plain read or write that was let go on.
#[derive(Debug, Clone, Copy)]
struct PlainCall {
    writes: bool,
}

/// One open file.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) identity: Identity,
    /// Where it was opened.
    pub(super) place: Place,
    pub(super) directory: bool,
    reads: bool,
    pub(super) writes: bool,
    appends: bool,
    size_at_open: u64,
    /// Up to which position bytes are counted; `None`: it was set by a call of unknown result.
    counted_to: Option<u64>,
    under_way: Option<PlainCall>,
    ends: [u64; 2],
    /// Descriptors of all processes that hold it.
    pub(super) holders: u32,
}

/// Kind, size and order of one call, as events of the kernel number them.
pub(super) fn cell_of(writes: bool, bytes: u64, pattern: AccessPattern) -> u32 {
    let size = SizeClass::for_bytes(bytes);
    let size = SizeClass::ALL.iter().position(|class| *class == size).unwrap_or(0) as u32;
    u32::from(writes) << 3 | size << 1 | u32::from(pattern == AccessPattern::Random)
}

impl Session {
    /// Opened with these flags.
    pub(super) fn new(
        identity: Identity,
        place: Place,
        directory: bool,
        flags: u32,
        size: u64,
    ) -> Session {
        let access = flags & libc::O_ACCMODE as u32;
        Session {
            identity,
            place,
            directory,
            reads: access != libc::O_WRONLY as u32,
            writes: access != libc::O_RDONLY as u32,
            appends: flags & libc::O_APPEND as u32 != 0,
            size_at_open: size,
            counted_to: Some(0),
            under_way: None,
            ends: [0; 2],
            holders: 1,
        }
    }

    /// The position is this now. `alone`: nobody else has the file open for writing.
    pub(super) fn advance(&mut self, position: u64, alone: bool) -> Moved {
        let call = self.under_way.take();
        let Some(from) = self.counted_to.replace(position) else { return Moved::default() };
        let writes = match (self.reads, self.writes, call) {
            (_, _, Some(call)) => call.writes,
            (false, true, None) => true,
            (true, false, None) => false,
            // Read or written: who knows.
            _ if position == from => return Moved::default(),
            _ => return Moved { hides_reads: true, hides_writes: true, ..Moved::default() },
        };
        if position < from {
            // Somebody moved it whom we do not see.
            return Moved { hides_reads: true, hides_writes: self.writes, ..Moved::default() };
        }
        let begin = match writes && self.appends {
            true if position == from => from,
            true if !alone => return Moved { hides_writes: true, ..Moved::default() },
            // Each write begins at the end.
            true => from.max(self.size_at_open.min(position)),
            false => from,
        };
        let bytes = position - begin;
        let cell = call.filter(|_| bytes > 0).map(|_| self.note_call(writes, begin, bytes));
        match writes {
            true => Moved { wrote: bytes, cell, ..Moved::default() },
            false => Moved { read: bytes, cell, ..Moved::default() },
        }
    }

    /// Bytes at a place of their own: positions do not move.
    pub(super) fn move_at(&mut self, writes: bool, offset: u64, bytes: u64) -> Moved {
        if bytes == 0 {
            return Moved::default();
        }
        let cell = Some(self.note_call(writes, offset, bytes));
        match writes {
            true => Moved { wrote: bytes, cell, ..Moved::default() },
            false => Moved { read: bytes, cell, ..Moved::default() },
        }
    }

    fn note_call(&mut self, writes: bool, offset: u64, bytes: u64) -> u32 {
        let end = &mut self.ends[usize::from(writes)];
        let pattern = AccessPattern::from_offsets(*end, offset, bytes);
        *end = offset + bytes;
        cell_of(writes, bytes, pattern)
    }

    /// A plain read or write begins.
    pub(super) fn begin_plain_call(&mut self, writes: bool) {
        self.under_way = Some(PlainCall { writes });
    }

    /// The position will be this; `None`: who knows.
    pub(super) fn set_position(&mut self, position: Option<u64>) {
        self.counted_to = position;
    }
}

/// What stands in a table of descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    Session(u64),
    /// Nothing that is recorded.
    Outside,
}

/// A table of descriptors: of one process, or of several that share it.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) held: FxHashMap<i32, Held>,
    pub(super) processes: u32,
    /// Opens under way, of which the number is not known yet.
    pub(super) opening: u32,
    /// From here on the lowest free number is looked for.
    pub(super) lowest: i32,
}

impl Table {
    /// The number that the next open gets, as far as is known: the lowest that is free (open(2)).
    pub(super) fn guess_next(&mut self) -> i32 {
        while self.held.contains_key(&self.lowest) {
            self.lowest += 1;
        }
        self.lowest
    }

    /// An open got another number.
    pub(super) fn correct_guess(&mut self, fd: i32) {
        self.lowest = fd;
    }

    /// Descriptors of recorded files, in order.
    pub(super) fn sessions(&self) -> Vec<(i32, u64)> {
        let sessions = self.held.iter().filter_map(|(fd, held)| match held {
            Held::Session(number) => Some((*fd, *number)),
            Held::Outside => None,
        });
        let mut sessions: Vec<_> = sessions.collect();
        sessions.sort_unstable();
        sessions
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, records say that other amounts were moved than were, or say it without knowing.
    use super::*;
    use forebay_model::TreeId;

    const AT: Identity = Identity { device: 1, inode: 2 };

    fn open(flags: i32, size: u64) -> Session {
        Session::new(AT, (TreeId(0), b"f".to_vec()), false, flags as u32, size)
    }

    fn read(bytes: u64) -> Moved {
        Moved { read: bytes, ..Moved::default() }
    }

    fn wrote(bytes: u64) -> Moved {
        Moved { wrote: bytes, ..Moved::default() }
    }

    #[test]
    fn positions_tell_what_was_moved() {
        let mut reader = open(libc::O_RDONLY, 100);
        assert_eq!((reader.advance(70, true), reader.advance(70, true)), (read(70), read(0)));
        reader.set_position(Some(10));
        assert_eq!(reader.advance(100, true), read(90));
        let mut writer = open(libc::O_WRONLY, 0);
        assert_eq!(writer.advance(512, false), wrote(512));
    }

    #[test]
    fn appending_begins_at_the_end_and_is_not_known_beside_others() {
        let mut log = open(libc::O_WRONLY | libc::O_APPEND, 1000);
        assert_eq!(log.advance(0, true), wrote(0));
        assert_eq!((log.advance(1010, true), log.advance(1030, true)), (wrote(10), wrote(20)));
        assert!(log.advance(1040, false).hides_writes);
        assert_eq!(log.advance(1040, false), wrote(0), "nothing is not much");
    }

    #[test]
    fn what_positions_do_not_say_is_not_seen() {
        let mut both = open(libc::O_RDWR, 0);
        assert_eq!(both.advance(0, true), Moved::default());
        let moved = both.advance(5, true);
        assert!(moved.hides_reads && moved.hides_writes && moved.wrote == 0);
        let mut sought = open(libc::O_RDONLY, 100);
        sought.set_position(None);
        assert_eq!(sought.advance(50, true), Moved::default());
        let mut moved = open(libc::O_RDONLY, 100);
        moved.advance(50, true);
        assert!(moved.advance(40, true).hides_reads, "somebody else holds it");
    }

    #[test]
    fn single_calls_have_size_and_order() {
        let mut both = open(libc::O_RDWR, 0);
        both.begin_plain_call(true);
        assert_eq!(both.advance(5000, true), Moved { cell: Some(0b1010), ..wrote(5000) });
        both.begin_plain_call(false);
        assert_eq!(both.advance(5000, true), read(0), "the end of the file");
        assert_eq!(both.move_at(false, 1 << 20, 10), Moved { cell: Some(0b0001), ..read(10) });
        assert_eq!(both.move_at(true, 0, 0), Moved::default());
    }

    #[test]
    fn the_next_open_gets_the_lowest_free_number() {
        let mut table = Table::default();
        let open = |table: &mut Table, fd| table.held.insert(fd, Held::Outside);
        for fd in 0..5 {
            assert_eq!(table.guess_next(), fd);
            open(&mut table, fd);
        }
        // One in between was closed: the guess is wrong once, and right from then on.
        table.held.remove(&1);
        assert_eq!(table.guess_next(), 5);
        table.correct_guess(1);
        open(&mut table, 1);
        assert_eq!(table.guess_next(), 5);
    }
}

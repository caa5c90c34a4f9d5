//! What is measured, and what each figure comes to as Forebay counts operations.

use std::collections::BTreeMap;

use forebay_model::{AccessPattern, ByteCount, Op, OpKey};
use forebay_plan::calibrate::Batch;

use super::calls::SMALL;

/// Sequential reads and writes are of so many bytes.
pub(super) const PIECE: usize = 1 << 20;
/// At so many threads at once reads, writes and names are measured.
pub(super) const THREADS: [u32; 5] = [1, 2, 4, 8, 16];

macro_rules! figures {
    ($($figure:ident $name:literal [$($op:ident $count:literal),*],)*) => {
        /// Something that is measured.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Figure { $($figure,)* }

        impl Figure {
            /// What people call it.
            pub(super) const fn name(self) -> &'static str {
                match self { $(Figure::$figure => $name,)* }
            }

            /// Operations without bytes that it is, once the names in it are known.
            const fn names(self) -> &'static [(Op, f64)] {
                match self { $(Figure::$figure => &[$((Op::$op, $count)),*],)* }
            }
        }
    };
}

figures! {
    Absent "look-up of a name that is not there" [LookupFailed 1.0],
    Present "look-up of a name that is there" [Lookup 1.0],
    Getattr "attributes" [Getattr 1.0],
    Create "create" [LookupFailed 1.0, Create 1.0],
    Close "close after write" [Flush 1.0],
    Small "small file: create, write 4 KiB, close" [LookupFailed 1.0, Create 1.0, Flush 1.0],
    Open "open" [Open 1.0],
    Setattr "chmod" [Setattr 1.0],
    Xattr "extended attribute" [Xattr 1.0],
    // The kernel asks whether the file has capabilities that end with its bytes.
    Truncate "truncate" [Xattr 1.0, Truncate 1.0],
    Rename "rename" [LookupFailed 1.0, Rename 1.0],
    Unlink "unlink" [Unlink 1.0],
    Fsync "fsync of 4 KiB" [Fsync 1.0],
    Fsyncdir "fsync of a directory" [Fsyncdir 1.0],
    Mkdir "mkdir" [LookupFailed 1.0, Mkdir 1.0],
    Opendir "opendir" [Opendir 1.0],
    Readdir "readdir" [Readdir 2.0],
    Rmdir "rmdir" [Rmdir 1.0],
    Symlink "symlink" [LookupFailed 1.0, Symlink 1.0],
    Readlink "readlink" [Readlink 1.0],
    Link "link" [LookupFailed 1.0, Link 1.0],
    FirstRead "first 4 KiB of a file" [],
    Names "names: stat, create, close, stat, unlink"
        [Getattr 2.0, LookupFailed 1.0, Create 1.0, Flush 1.0, Unlink 1.0],
    Write "sequential write with fsync" [Fsync 1.0],
    IntoMemory "sequential write without fsync" [],
    Read "sequential read" [],
    RandomRead "random reads of 4 KiB" [],
    RandomWrite "random writes of 4 KiB" [],
    ObjectAbsent "HEAD of an object that is not there" [LookupFailed 1.0],
    ObjectHead "HEAD of an object" [Lookup 1.0],
    ObjectPut "PUT of 4 KiB" [Create 1.0],
    ObjectGet "GET of an object of 4 KiB" [Open 1.0],
    ObjectList "LIST of one object" [Readdir 1.0],
    ObjectCopy "COPY and DELETE" [Rename 1.0],
    ObjectDelete "DELETE" [Unlink 1.0],
    ObjectNames "names: PUT of nothing, HEAD, DELETE" [Create 1.0, Lookup 1.0, Unlink 1.0],
    Upload "PUT of a large object" [Create 1.0],
    Download "GET of a large object" [Open 1.0],
}

/// What is the same in all rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundSizes {
    /// Pieces of a file that one thread alone reads and writes; more threads share them.
    pub(super) pieces: u64,
    /// Random reads, and writes, of each thread.
    pub(super) random: u64,
    /// Names that were just looked up are asked for again.
    pub(super) asks_again: bool,
    /// Random writes go through memory, so an fsync ends them.
    pub(super) random_synced: bool,
}

impl RoundSizes {
    /// Pieces for each of so many threads.
    pub(super) fn pieces_per_thread(&self, threads: u32) -> u64 {
        (self.pieces / u64::from(threads)).max(1)
    }
}

/// Seconds of each figure, at each number of threads, round by round.
pub(super) type FigureSeconds = BTreeMap<(Figure, u32), Vec<f64>>;

/// The figure as a batch; `None`: it is told, and no part of a profile, since a write costs its
/// storage at once there.
pub(super) fn make_batch(
    figure: Figure,
    threads: u32,
    sizes: &RoundSizes,
    seconds: Vec<f64>,
) -> Option<Batch> {
    if figure == Figure::IntoMemory {
        return None;
    }
    let mut ops: Vec<(OpKey, f64)> =
        figure.names().iter().map(|(op, count)| (OpKey::without_bytes(*op), *count)).collect();
    use Figure::{Download, FirstRead, Names, ObjectGet, ObjectPut, RandomRead, RandomWrite};
    use Figure::{Read, Rename, Rmdir, Small, Unlink, Upload};
    if sizes.asks_again && matches!(figure, Rename | Unlink | Rmdir | Figure::Link | Names) {
        ops.push((OpKey::without_bytes(Op::Lookup), 1.0));
    }
    let (pieces, piece) = (sizes.pieces_per_thread(threads), PIECE as u64);
    let small = SMALL as u64;
    let (random, sequential) = (AccessPattern::Random, AccessPattern::Sequential);
    let data = match figure {
        Small | ObjectPut => Some((Op::Write, 1, small, sequential)),
        FirstRead | ObjectGet => Some((Op::Read, 1, small, sequential)),
        Read | Download => Some((Op::Read, pieces, piece, sequential)),
        Figure::Write | Upload => Some((Op::Write, pieces, piece, sequential)),
        RandomRead => Some((Op::Read, sizes.random, small, random)),
        RandomWrite => Some((Op::Write, sizes.random, small, random)),
        _ => None,
    };
    if figure == RandomWrite && sizes.random_synced {
        ops.push((OpKey::without_bytes(Op::Fsync), 1.0));
    }
    let (mut read, mut written) = (ByteCount::ZERO, ByteCount::ZERO);
    if let Some((op, count, size, pattern)) = data {
        ops.push((OpKey::with_bytes(op, size, pattern), count as f64));
        *(if op == Op::Read { &mut read } else { &mut written }) = ByteCount(count * size);
    }
    let name = figure.name().to_owned();
    Some(Batch { name, threads, ops, read, written, seconds })
}

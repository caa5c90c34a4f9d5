//! What the kernel's side writes: the layouts of `bpf/recorder.bpf.c`, which are one with these.

use zerocopy::{FromBytes, Immutable, KnownLayout};

/// What an event tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A file or directory was opened.
    Opened,
    /// Something was done to a name.
    Named,
    /// The first of two names; the second follows from the same thread.
    NamedFirst,
    /// Something was done to an open file.
    Used,
    /// What was read and written through an open file since it was told last.
    Moved,
    /// A descriptor of an open file went.
    Closed,
    /// An open file was mapped into memory.
    Mapped,
    /// A range was copied out of an open file.
    CopiedFrom,
    /// A process was started.
    Forked,
    /// A process runs a program now.
    Ran,
    /// The file of that program, if it is in a recorded directory.
    ProgramFile,
    /// Its working directory, likewise.
    WorkingDirectory,
    /// A process ended.
    Exited,
}

impl Kind {
    const ALL: [Kind; 13] = [
        Kind::Opened,
        Kind::Named,
        Kind::NamedFirst,
        Kind::Used,
        Kind::Moved,
        Kind::Closed,
        Kind::Mapped,
        Kind::CopiedFrom,
        Kind::Forked,
        Kind::Ran,
        Kind::ProgramFile,
        Kind::WorkingDirectory,
        Kind::Exited,
    ];
}

/// The head of each event; what follows it are a text and names, as long as it says.
#[derive(Debug, Clone, Copy, Default, FromBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Event {
    pub(crate) kind: u32,
    /// The process's number.
    pub(crate) process: u32,
    /// When it was over, in nanoseconds of the machine's monotonic clock.
    pub(crate) at: u64,
    /// How long it took.
    pub(crate) nanos: u64,
    /// What the call returned.
    pub(crate) result: i64,
    /// Number of the open file; of a fork: the parent's process.
    pub(crate) file: u64,
    pub(crate) inode: u64,
    /// Of the file; all ones: not known.
    pub(crate) size: u64,
    /// Of a fork: when the process started, in nanoseconds since boot.
    pub(crate) bytes: u64,
    /// The kind of operation; of an open: the kernel's mode of it; of sums: which.
    pub(crate) op: u32,
    pub(crate) flags: u32,
    pub(crate) mode: u32,
    /// The recorded directory from which the names lead; -1: none.
    pub(crate) tree: i32,
    pub(crate) names: u32,
    pub(crate) text: u32,
    pub(crate) thread: u32,
    /// Of sums: calls; of an open: the inode's generation.
    pub(crate) count: u32,
}

/// What the kernel counted for a process that ended: nanoseconds and bytes.
#[derive(Debug, Clone, Copy, FromBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Usage {
    pub(crate) user: u64,
    pub(crate) system: u64,
    pub(crate) children_user: u64,
    pub(crate) children_system: u64,
    pub(crate) rchar: u64,
    pub(crate) wchar: u64,
    pub(crate) read_bytes: u64,
    pub(crate) write_bytes: u64,
}

/// One event, with what follows its head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told<'b> {
    pub(crate) kind: Kind,
    pub(crate) head: Event,
    /// Names, innermost first, each with its NUL.
    pub(crate) names: &'b [u8],
    pub(crate) text: &'b [u8],
    rest: &'b [u8],
}

impl<'b> Told<'b> {
    /// An event of our own making, without text or names.
    pub(crate) fn without_names(kind: Kind, head: Event) -> Told<'static> {
        Told { kind, head, names: &[], text: &[], rest: &[] }
    }

    /// Reads an event; `None` if it is none.
    pub(crate) fn parse(bytes: &'b [u8]) -> Option<Told<'b>> {
        let (head, rest) = Event::read_from_prefix(bytes).ok()?;
        let kind = *Kind::ALL.get(head.kind as usize)?;
        let text = rest.get(..head.text as usize)?;
        let names = rest.get(head.text as usize..)?.get(..head.names as usize)?;
        Some(Told { kind, head, names, text, rest })
    }

    /// The names as a path below their directory.
    pub(crate) fn path(&self) -> Vec<u8> {
        path_of(self.names)
    }

    /// What an ended process has used.
    pub(crate) fn usage(&self) -> Option<Usage> {
        Some(Usage::read_from_prefix(self.rest).ok()?.0)
    }

    /// The short name of a program that runs now: it lies where opens have their inode and size.
    pub(crate) fn comm(&self) -> Vec<u8> {
        let mut comm = self.head.inode.to_ne_bytes().to_vec();
        comm.extend(self.head.size.to_ne_bytes());
        comm.truncate(comm.iter().position(|byte| *byte == 0).unwrap_or(comm.len()));
        comm
    }
}

/// Names, innermost first, each with its NUL, as a path.
pub(crate) fn path_of(names: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = names.split(|byte| *byte == 0).filter(|n| !n.is_empty()).collect();
    let parts: Vec<&[u8]> = parts.into_iter().rev().collect();
    parts.join(&b'/')
}

#[cfg(test)]
mod tests {
    //! If these fail, what the kernel tells is taken for something else.
    use super::*;

    #[test]
    fn an_event_is_as_long_as_the_kernel_writes_it() {
        assert_eq!((size_of::<Event>(), size_of::<Usage>()), (96, 64));
        assert_eq!(Kind::Exited as usize + 1, Kind::ALL.len());
        assert!(Kind::ALL.iter().enumerate().all(|(number, kind)| *kind as usize == number));
    }

    #[test]
    fn names_are_read_from_inside_out_and_no_further_than_they_go() {
        let mut bytes = vec![0u8; 96];
        bytes[80..84].copy_from_slice(&10u32.to_ne_bytes());
        bytes[84..88].copy_from_slice(&3u32.to_ne_bytes());
        assert!(Told::parse(&bytes).is_none(), "it says more than there is");
        bytes.extend(b"xy\0c.txt\0bb\0\0");
        let told = Told::parse(&bytes).expect("an event");
        assert_eq!((told.kind, told.path()), (Kind::Opened, b"bb/c.txt".to_vec()));
        assert_eq!(told.text, b"xy\0");
        bytes[0] = 99;
        assert!(Told::parse(&bytes).is_none(), "no such kind");
        assert!(Told::parse(&[0; 95]).is_none());
        assert_eq!(path_of(b""), b"", "the directory itself");
    }
}

//! Kinds of file systems, by the number that statfs(2) gives each.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::fstatfs;

/// What matters of a file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystemKind {
    /// Its type's name, as the mount table has it.
    pub name: String,
    /// All changes are made on this machine, and watches see them.
    pub local: bool,
    /// It is stacked on others itself (overlay), so passthrough must go one deeper.
    pub stacked: bool,
}

/// Magic number, name, local, stacked: see statfs(2) and the kernel's `magic.h`.
const KINDS: [(u64, &str, bool, bool); 12] = [
    (0xEF53, "ext4", true, false),
    (0x5846_5342, "xfs", true, false),
    (0x9123_683E, "btrfs", true, false),
    (0x0102_1994, "tmpfs", true, false),
    (0xF2F5_2010, "f2fs", true, false),
    (0x2FC1_2FC1, "zfs", true, false),
    (0xCA45_1A4E, "bcachefs", true, false),
    (0x794C_7630, "overlay", true, true),
    (0x6969, "nfs", false, false),
    (0x0BD0_0BD0, "lustre", false, false),
    (0x6573_5546, "fuse", false, true),
    (0xFF53_4D42, "cifs", false, false),
];

/// The kind of file system behind a descriptor; an unknown one is taken for remote.
///
/// # Errors
/// Those of fstatfs(2).
pub fn file_system_kind(fd: impl AsFd) -> io::Result<FileSystemKind> {
    let magic = fstatfs(fd)?.f_type as u64 & 0xFFFF_FFFF;
    Ok(match KINDS.iter().find(|(known, ..)| *known == magic) {
        Some((_, name, local, stacked)) => {
            FileSystemKind { name: (*name).into(), local: *local, stacked: *stacked }
        }
        None => FileSystemKind { name: format!("{magic:#x}"), local: false, stacked: false },
    })
}

#[cfg(test)]
mod tests {
    //! If it fails, a storage elsewhere is taken for a local one, and its caches for the truth.
    use super::*;

    #[test]
    fn proc_is_no_local_storage() {
        let here = std::fs::File::open("/proc/self").expect("proc is mounted");
        assert!(!file_system_kind(&here).expect("statfs").local);
    }
}

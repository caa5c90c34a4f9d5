//! Where a probe works: is the directory one that it may use, what is below it, and a hidden place of
//! its own in it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use forebay_model::{ByteCount, Reach};

use crate::exit::CommandError;

/// Types of file systems (statfs(2)), their names, and who sees them. Behind FUSE may be anything;
/// most of it is a network.
const TYPES: [(u32, &str, Reach); 24] = [
    (0x6969, "nfs", Reach::Shared),
    (0x0BD0_0BD0, "lustre", Reach::Shared),
    (0x6573_5546, "fuse", Reach::Shared),
    (0xFF53_4D42, "cifs", Reach::Shared),
    (0xFE53_4D42, "smb3", Reach::Shared),
    (0x00C3_6400, "ceph", Reach::Shared),
    (0x1983_0326, "beegfs", Reach::Shared),
    (0x4750_4653, "gpfs", Reach::Shared),
    (0x0102_1997, "9p", Reach::Shared),
    (0x5346_414F, "afs", Reach::Shared),
    (0x7461_636F, "ocfs2", Reach::Shared),
    (0x0116_1970, "gfs2", Reach::Shared),
    (0xAAD7_AAEA, "panfs", Reach::Shared),
    (0x2003_0528, "orangefs", Reach::Shared),
    (0xEF53, "ext4", Reach::Node),
    (0x5846_5342, "xfs", Reach::Node),
    (0x9123_683E, "btrfs", Reach::Node),
    (0x0102_1994, "tmpfs", Reach::Node),
    (0x2FC1_2FC1, "zfs", Reach::Node),
    (0xF2F5_2010, "f2fs", Reach::Node),
    (0x794C_7630, "overlay", Reach::Node),
    (0x8584_58F6, "ramfs", Reach::Node),
    (0xCA45_1A4E, "bcachefs", Reach::Node),
    (0x3153_464A, "jfs", Reach::Node),
];

/// What is below a directory.
#[derive(Debug)]
pub(super) struct ProbedDirectory {
    pub(super) dir: PathBuf,
    pub(super) fs_type: String,
    pub(super) reach: Reach,
    /// `None`: this file system does not say.
    pub(super) free: Option<ByteCount>,
}

impl ProbedDirectory {
    /// Looks at a directory, and touches nothing.
    pub(super) fn inspect_directory(dir: &Path) -> Result<ProbedDirectory, CommandError> {
        let shown = dir.display();
        let stop = |why: String| {
            CommandError::new(
                1,
                format!("{shown}: {why}"),
                "name a directory that is there and yours",
            )
        };
        let found = dir.canonicalize().map_err(|error| stop(error.to_string()))?;
        if !found.is_dir() {
            return Err(stop("is no directory".to_owned()));
        }
        let open = rustix::fs::openat(
            rustix::fs::CWD,
            &found,
            rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        );
        let errno = |errno: rustix::io::Errno| stop(errno.to_string());
        let open = open.map_err(errno)?;
        let kind = rustix::fs::fstatfs(&open).map_err(errno)?.f_type as u32;
        let room = rustix::fs::fstatvfs(&open).map_err(errno)?;
        if room.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY) {
            return Err(stop("is mounted read-only, and a probe writes".to_owned()));
        }
        let known = TYPES.iter().find(|(number, ..)| *number == kind);
        let (fs_type, reach) = match known {
            Some((_, name, reach)) => ((*name).to_owned(), *reach),
            None => (format!("file system {kind:#x}"), Reach::Node),
        };
        let free = ByteCount(room.f_bavail.saturating_mul(room.f_frsize));
        let free = (room.f_blocks > 0).then_some(free);
        Ok(ProbedDirectory { dir: found, fs_type, reach, free })
    }

    /// How long a client may go on knowing a name, in seconds: then it has to ask again.
    pub(super) fn name_cache_seconds(&self) -> f64 {
        match (self.reach, self.fs_type.as_str()) {
            (Reach::Node, _) => 0.0,
            (_, "fuse") => 1.5,
            _ => 4.0,
        }
    }
}

/// A hidden directory that is not there any more when this ends, however it ends.
#[derive(Debug)]
pub(super) struct HiddenDirectory {
    pub(super) path: PathBuf,
    removed: bool,
}

impl HiddenDirectory {
    pub(super) fn create_in_directory(
        ground: &ProbedDirectory,
    ) -> Result<HiddenDirectory, CommandError> {
        let path = ground.dir.join(format!(".forebay-probe-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| {
            let next = match error.kind() {
                ErrorKind::PermissionDenied => "a probe writes: name a directory that is yours",
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some room there first",
                ErrorKind::AlreadyExists => "nobody uses it: remove it",
                _ => "a probe makes a directory of its own there",
            };
            CommandError::new(1, format!("{}: {error}", path.display()), next)
        })?;
        Ok(HiddenDirectory { path, removed: false })
    }

    pub(super) fn remove(mut self) -> Result<(), CommandError> {
        self.removed = true;
        std::fs::remove_dir_all(&self.path).map_err(|error| {
            let message = format!("{} is left: {error}", self.path.display());
            CommandError::new(1, message, "remove it by hand")
        })
    }
}

impl Drop for HiddenDirectory {
    fn drop(&mut self) {
        if !self.removed {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

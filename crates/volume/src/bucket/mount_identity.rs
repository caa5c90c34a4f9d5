//! In which life of its file system a directory is used. What was written and not flushed is there
//! as long as the machine runs and the file system stays mounted: a file system that is mounted
//! again may be a copy of an earlier moment, or one that a power failure left.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Tells this boot of the machine and this mount of the directory's file system from all others;
/// `None`: the machine does not tell its boots apart.
pub(super) fn boot_and_mount_id(folder: &Path) -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let device = std::fs::metadata(folder).ok()?.dev();
    let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let mounted =
        mount_instance_number(&device).map_or(String::new(), |number| format!(" {number}"));
    Some(format!("{} {device}{mounted}", boot.trim()))
}

/// The number of the directory that ext4, XFS and others have in sysfs as long as a block device is
/// mounted: each mount gets another one, and all mount namespaces see the same. File systems
/// without a device of their own can't be copied block by block.
fn mount_instance_number(device: &str) -> Option<u64> {
    let link = std::fs::read_link(format!("/sys/dev/block/{device}")).ok()?;
    let name = link.file_name()?;
    let kinds = std::fs::read_dir("/sys/fs").ok()?.flatten();
    let mut mounts = kinds.filter_map(|kind| std::fs::metadata(kind.path().join(name)).ok());
    mounts.next().map(|mount| mount.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_directories_of_a_file_system_have_one_life() {
        let folder = tempfile::tempdir().expect("a folder");
        let life = boot_and_mount_id(folder.path());
        std::fs::create_dir(folder.path().join("inner")).expect("made");
        assert!(life.is_some() && boot_and_mount_id(&folder.path().join("inner")) == life);
        assert_ne!(boot_and_mount_id(Path::new("/proc")), life, "another file system");
    }
}

//! Where this machine keeps what it has read of an attached prefix: a directory that one run or
//! mount uses at a time. Who comes while it is in use gets another. docs/formats/tiers.md draws it.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, SeekFrom, flock, openat, seek, syncfs};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::super::mount_identity::boot_and_mount_id;
use super::super::state_directory::write_atomically;

const LOCK: &str = "lock";
const ABOUT: &str = "prefix.json";
const TREE: &str = "tree";
/// A hole, for a moment.
const PROBE: &str = "probe";
/// Runs on one machine at a time that show the same prefix.
const MOST: u32 = 256;
/// The longest name of a directory that is made of a URL.
const LONGEST: usize = 200;

/// A directory that nobody else uses meanwhile.
#[derive(Debug)]
pub(crate) struct AttachmentDirectory {
    folder: PathBuf,
    about: AttachmentInfo,
    _lock: File,
}

/// What it says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct AttachmentInfo {
    url: String,
    /// What is here may be in memory alone, in this life of its file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
}

/// A name for a directory that no other volume or prefix has, but where it would be too long.
#[must_use]
pub fn directory_name_for(url: &str) -> String {
    let path = url.split_once("://").map_or(url, |(_, path)| path);
    let plain = |part: char| part.is_ascii_alphanumeric() || matches!(part, '.' | '_' | '-');
    // `%` is in no plain name, so that no two share one.
    let spell = |part: char| match part {
        part if plain(part) => part.to_string(),
        part => format!("%{:x}", u32::from(part)),
    };
    let mut name: String = path.chars().map(spell).collect();
    if name.len() > LONGEST {
        name.truncate(LONGEST);
        name.push_str(&format!("%%{:08x}", crc32fast::hash(path.as_bytes())));
    }
    name
}

impl AttachmentDirectory {
    /// Takes the first directory for `url` below `root` that nobody uses, and makes it if need be.
    /// What a crash of the machine may have damaged is thrown away.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn lock_unused_directory(root: &Path, url: &str) -> io::Result<AttachmentDirectory> {
        let name = directory_name_for(url);
        for number in 1..=MOST {
            let name = if number == 1 { name.clone() } else { format!("{name}%{number}") };
            let folder = root.join(name);
            DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            let mut how = OpenOptions::new();
            let lock = how.create(true).truncate(false).write(true).open(folder.join(LOCK))?;
            if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            let about: Option<AttachmentInfo> = match std::fs::read(folder.join(ABOUT)) {
                Ok(text) => Some(serde_json::from_slice(&text)?),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            if about.as_ref().is_some_and(|about| about.url != url) {
                continue;
            }
            let now = boot_and_mount_id(&folder);
            let is_of_now = |boot: &Option<String>| now.is_some() && *boot == now;
            let is_safe = about.is_some_and(|about| about.boot.is_none() || is_of_now(&about.boot));
            let about = AttachmentInfo { url: url.to_owned(), boot: Some(now.unwrap_or_default()) };
            let held = AttachmentDirectory { folder, about, _lock: lock };
            held.begin_use(is_safe)?;
            return Ok(held);
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    fn begin_use(&self, is_safe: bool) -> io::Result<()> {
        if !is_safe {
            match std::fs::remove_dir_all(self.tree_directory()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        match DirBuilder::new().create(self.tree_directory()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => std::fs::set_permissions(self.tree_directory(), Permissions::from_mode(0o755))?,
        }
        self.write_about(&self.about)
    }

    /// Throws away what is here, and makes the directory again.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn remake_empty(&self) -> io::Result<()> {
        self.begin_use(false)
    }

    fn write_about(&self, about: &AttachmentInfo) -> io::Result<()> {
        write_atomically(&self.folder.join(ABOUT), &serde_json::to_vec(about)?)
    }

    /// What is shown.
    pub(crate) fn tree_directory(&self) -> PathBuf {
        self.folder.join(TREE)
    }

    /// The same, open to read.
    pub(crate) fn open_tree(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(CWD, self.tree_directory(), flags, Mode::empty())?)
    }

    /// Whether the file system tells holes from data: else nobody knows what has come of a file.
    pub(super) fn can_seek_holes(&self) -> bool {
        let name = self.folder.join(PROBE);
        let hole = File::create(&name).and_then(|file| file.set_len(1 << 20).map(|()| file));
        let told = hole.is_ok_and(|file| seek(&file, SeekFrom::Data(0)) == Err(Errno::NXIO));
        let _ = std::fs::remove_file(name);
        told
    }

    /// Nobody uses it any more: all that is here survives a crash of the machine.
    pub(super) fn make_durable(&self) -> io::Result<()> {
        syncfs(self.open_tree()?)?;
        self.write_about(&AttachmentInfo { boot: None, ..self.about.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_directory_of_its_own_and_finds_it_again() {
        assert_eq!(directory_name_for("s3://lab/run-1"), "lab%2frun-1");
        assert_ne!(directory_name_for("s3://lab/a/b"), directory_name_for("s3://lab/a%2fb"));
        let long = |end: &str| directory_name_for(&format!("s3://lab/{}{end}", "x".repeat(900)));
        assert!(long("a").len() < 250 && long("a") != long("b"));
        let root = tempfile::tempdir().expect("a directory");
        let take =
            |url| AttachmentDirectory::lock_unused_directory(root.path(), url).expect("taken");
        let (one, two, other) = (take("s3://b/a"), take("s3://b/a"), take("s3://b/c"));
        assert!(one.folder != two.folder && one.folder != other.folder);
        std::fs::write(one.tree_directory().join("x"), "kept").expect("written");
        let place = one.folder.clone();
        drop(one);
        let again = take("s3://b/a");
        assert!(
            again.folder == place && again.tree_directory().join("x").is_file(),
            "the same boot"
        );
    }

    #[test]
    fn what_a_crash_of_the_machine_may_have_damaged_is_not_believed() {
        let root = tempfile::tempdir().expect("a directory");
        let of_boot = |boot: Option<&str>| {
            let held =
                AttachmentDirectory::lock_unused_directory(root.path(), "s3://b/a").expect("taken");
            std::fs::write(held.tree_directory().join("x"), "bytes").expect("written");
            held.write_about(&AttachmentInfo {
                boot: boot.map(str::to_owned),
                ..held.about.clone()
            })
            .expect("noted");
            drop(held);
            let held =
                AttachmentDirectory::lock_unused_directory(root.path(), "s3://b/a").expect("taken");
            held.tree_directory().join("x").is_file()
        };
        assert!(!of_boot(Some("another")));
        assert!(of_boot(None), "it was settled");
        let held =
            AttachmentDirectory::lock_unused_directory(root.path(), "s3://b/a").expect("taken");
        held.make_durable().expect("settled");
        let text = std::fs::read_to_string(held.folder.join(ABOUT)).expect("read");
        assert_eq!(text, "{\"url\":\"s3://b/a\"}");
    }
}

//! Links into rooms of tiers where no book says that there are any: somebody has removed it, and its
//! spare is not there. They are told of, and not followed: who may say that a room belongs to this
//! directory is the book alone.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat, readlinkat};

use super::tiered_links::walk_links;
use crate::tiers::LeftBehindFile;
use crate::tiers::tier_directory::number_from_key;
use crate::tiers::walk::WalkMode;

/// Links that look like ours.
#[derive(Debug, Clone, Default)]
pub struct StrayLinks {
    /// How many.
    pub count: u64,
    /// The first, and where it leads.
    pub first: Option<(PathBuf, PathBuf)>,
    /// Directories that may not be looked into.
    pub closed: Vec<LeftBehindFile>,
}

/// Looks for them below a directory without a book.
///
/// # Errors
/// The directory can't be opened.
pub fn find_stray_links(directory: &Path) -> std::io::Result<StrayLinks> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(CWD, directory, flags, Mode::empty())?;
    let mut links = (0, None);
    let closed = walk_links(&root, WalkMode::Look, &mut |dir, name, path| {
        let Ok(target) = readlinkat(dir, name, Vec::with_capacity(256)) else { return };
        let target = Path::new(OsStr::from_bytes(target.to_bytes()));
        if leads_to_tier_directory(target) {
            links.0 += 1;
            links.1.get_or_insert_with(|| (path.to_owned(), target.to_owned()));
        }
    });
    let (count, first) = links;
    Ok(StrayLinks { count, first, closed })
}

/// TIER/forebay-UID/ROOM-TIER/NUMBER.NAME
fn leads_to_tier_directory(target: &Path) -> bool {
    let part = |path: Option<&Path>| path?.file_name()?.to_str().map(str::to_owned);
    let (room, user) = (target.parent(), target.parent().and_then(Path::parent));
    let is_body = target.file_name().is_some_and(|name| number_from_key(name.as_bytes()).is_some());
    let is_room = part(room).is_some_and(|room| {
        let number = room.split_once('-').map(|(number, _)| number);
        number.is_some_and(|n| n.len() == 16 && n.bytes().all(|byte| byte.is_ascii_hexdigit()))
    });
    let is_ours = part(user).and_then(|user| user.strip_prefix("forebay-")?.parse::<u32>().ok());
    target.is_absolute() && is_body && is_room && is_ours.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_into_rooms_are_taken_for_ours() {
        let dir = tempfile::tempdir().expect("made");
        let room = "/scratch/forebay-7/0123456789abcdef-fast";
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, dir.path().join(name)).expect("made");
        };
        std::fs::create_dir(dir.path().join("d")).expect("made");
        let others = ["a.bam", "/scratch/2a.bam", "/scratch/forebay-7/x/2a.bam"];
        others.iter().enumerate().for_each(|(n, target)| link(target, &n.to_string()));
        link(&format!("{room}/notes"), "4");
        assert_eq!(find_stray_links(dir.path()).expect("read").count, 0);
        link(&format!("{room}/2a.a.bam"), "d/a.bam");
        let found = find_stray_links(dir.path()).expect("read");
        assert_eq!(found.count, 1);
        let first = ("d/a.bam".into(), format!("{room}/2a.a.bam").into());
        assert_eq!(found.first, Some(first));
    }
}

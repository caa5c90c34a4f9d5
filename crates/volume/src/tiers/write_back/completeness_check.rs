//! Looking whether everything that belongs to a volume is there, without changing anything.

use std::collections::BTreeSet;
use std::ffi::{CString, OsStr};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, openat};

use super::{Tiers, packed_dirs, tiered_links};
use crate::tiers::walk::WalkMode;
use crate::tiers::{OWN, staging_path};

/// Something that is not as it should be.
#[derive(Debug, Clone)]
pub struct TierFinding {
    /// The file or directory that it is about.
    pub path: PathBuf,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub next: &'static str,
}

/// What a volume has.
#[derive(Debug, Clone, Default)]
pub struct TierCheckReport {
    /// Files of their own on tiers, and their bytes.
    pub placed: (u64, u64),
    /// Packed files, and their bytes.
    pub packed: (u64, u64),
    /// All that is wrong.
    pub findings: Vec<TierFinding>,
}

/// Looks at all files of the volume in `directory`: links and bodies, and every byte that is
/// packed.
///
/// # Errors
/// The directory can't be opened.
pub fn check_volume(tiers: &Tiers) -> std::io::Result<TierCheckReport> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(tiers.book.root(), c".", flags, Mode::empty())?;
    let mut checked = TierCheckReport::default();
    if let Some(book) = tiers.removed_manifest() {
        let what = "it was removed: where files are is known from its spare alone";
        checked.add_finding(book, what, "`forebay restore` writes them back");
    }
    for entry in &tiers.missing {
        checked.add_finding(&entry.path, "its tier is not there", "mount what belongs there");
    }
    for (entry, why) in &tiers.foreign {
        let what = format!("the book calls it a room of this directory, and it is none: {why}");
        let next = "nothing in it was touched; if .forebay came from elsewhere, remove it";
        checked.add_finding(&entry.path, &what, next);
    }
    for (folder, directory) in tiers.whole_folders_with_files() {
        let what =
            format!("its files are in {}, where a run that was killed had it", directory.display());
        checked.add_finding(&folder, &what, "`forebay restore` writes them back");
    }
    let found = tiered_links::find_tiered_links(&root, tiers, WalkMode::Look);
    for (lost, _) in &found.lost {
        let next = "the bytes are gone with the body: remove the link, and make the file again";
        checked.add_finding(&lost.path, &format!("a link without a body: {}", lost.why), next);
    }
    for left in &found.left {
        checked.add_finding(&left.path, &left.why, "see what is said of its tier");
    }
    for closed in &found.closed {
        checked.add_finding(&closed.path, &closed.why, "check as the user who owns it, or as root");
    }
    let mut linked: BTreeSet<(usize, CString)> = BTreeSet::new();
    for group in found.groups {
        checked.placed.0 += 1;
        checked.placed.1 += tiers.stat_data_file(&group.placed).map_or(0, |body| body.stx_size);
        linked.insert((group.placed.room, group.placed.key));
    }
    for (number, room) in tiers.rooms.iter().enumerate() {
        let is_orphan = room.orphan_matcher();
        for body in std::fs::read_dir(&room.path).into_iter().flatten().flatten() {
            let key = CString::new(body.file_name().as_bytes()).unwrap_or_default();
            let retired =
                key.to_bytes().starts_with(super::super::tier_directory::RETIRED.as_bytes());
            let is_linked = linked.contains(&(number, key.clone()));
            if !retired && !is_linked && found.closed.is_empty() && !is_orphan(&key) {
                let next = "copy it to where it belongs, or remove it";
                checked.add_finding(&body.path(), "no name leads to it", next);
            }
        }
    }
    for name in staging_path::list_staged_names(root.as_fd()) {
        let path = Path::new(OWN).join("moving").join(OsStr::from_bytes(name.to_bytes()));
        let next =
            "the next run with rules or `forebay restore` takes it away; the file itself is whole";
        checked.add_finding(&path, "a copy that was on its way when a run was killed", next);
    }
    checked.check_pack(&root, tiers);
    Ok(checked)
}

impl TierCheckReport {
    fn add_finding(&mut self, path: &Path, what: &str, next: &'static str) {
        self.findings.push(TierFinding { path: path.to_owned(), what: what.to_owned(), next });
    }

    fn check_pack(&mut self, root: &std::os::fd::OwnedFd, tiers: &Tiers) {
        let Some(pack) = tiers.pack() else { return };
        let (files, bytes, spoilt) = pack.verify_all_files();
        self.packed = (files, bytes);
        for one in spoilt {
            let path = PathBuf::from(OsStr::from_bytes(&one.path));
            let what = format!("its packed bytes are not what was written: {}", one.why);
            self.add_finding(&path, &what, "remove it inside a run, and make it again");
        }
        let dirs = pack.packed_directories();
        let places = packed_dirs::find_in_place(root, &dirs, WalkMode::Look);
        for dir in dirs.iter().filter(|dir| !places.contains_key(&dir.key)) {
            let why = packed_dirs::why_not_found(root, &dir.path);
            let what = format!("{} packed files were in it, and {why}", dir.names.len());
            let next = "its files stay packed: a backup of the directory itself brings none back";
            self.add_finding(Path::new(OsStr::from_bytes(&dir.path)), &what, next);
        }
    }
}

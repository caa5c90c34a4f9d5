//! A folder of a bucket as a directory here: made of a listing, with what came before and is the
//! same still.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use forebay_model::is_file_name;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, XattrFlags, chmodat, fchmod, fgetxattr, fsetxattr,
    ftruncate, mkdirat, openat, unlinkat,
};

use super::super::evicted_files::EvictedFile;
use super::super::placeholder::{AWAY, is_evicted, set_mtime};
use super::super::tree_record::{ContentLocation, Time};
use forebay_objstore::{FolderListing, ListedObject};
use forebay_os::file_identity::{FileIdentity, proc_fd_path, statx_nofollow};

/// The extended attribute that says which state of its object a file has.
const OBJECT: &str = "user.forebay.object";
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const NEW: OFlags = OFlags::RDWR.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::CLOEXEC);
/// Whatever the umask: everybody may read who may read the volume.
const FOLDER: Mode = Mode::from_bits_retain(0o755);
const PLAIN: Mode = Mode::from_bits_retain(0o644);

/// What became of a directory.
#[derive(Debug, Default)]
pub(super) struct FilledDirectory {
    /// Files whose bytes are in the bucket.
    pub(super) away: Vec<(FileIdentity, u64, EvictedFile)>,
    /// Keys that no file can have for a name.
    pub(super) odd: Vec<String>,
}

enum WantedEntry<'a> {
    Folder,
    File(&'a ListedObject),
}

/// Makes `dir` as the folder whose keys begin with `above` is.
///
/// # Errors
/// Those of the file system.
pub(super) fn fill_directory(
    dir: &OwnedFd,
    folder: &FolderListing,
    above: &str,
) -> io::Result<FilledDirectory> {
    let mut filled = FilledDirectory { odd: folder.odd.clone(), ..FilledDirectory::default() };
    let mut wanted: BTreeMap<&str, WantedEntry<'_>> = BTreeMap::new();
    for name in &folder.folders {
        match is_file_name(name.as_bytes()) {
            true => drop(wanted.insert(name, WantedEntry::Folder)),
            false => filled.odd.push(format!("{above}{name}/")),
        }
    }
    for object in &folder.objects {
        // A name is a folder or a file: where both are, the folder has more in it.
        match is_file_name(object.name.as_bytes()) && !wanted.contains_key(object.name.as_str()) {
            true => drop(wanted.insert(&object.name, WantedEntry::File(object))),
            false => filled.odd.push(format!("{above}{}", object.name)),
        }
    }
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let is_folder = entry.file_type() == FileType::Directory;
        let known = name.to_str().ok().and_then(|text| wanted.remove_entry(text));
        match known {
            Some((_, WantedEntry::Folder)) if is_folder => {}
            Some((_, WantedEntry::File(object))) if !is_folder => {
                match open_if_same_state(dir, name, object)? {
                    Some(file) => filled.add_file(&file, object, above)?,
                    None => {
                        unlinkat(dir, name, AtFlags::empty())?;
                        filled.add_file(&make_placeholder(dir, object)?, object, above)?;
                    }
                }
            }
            other => {
                remove_entry(dir, name, is_folder)?;
                wanted.extend(other);
            }
        }
    }
    for (name, what) in wanted {
        match what {
            WantedEntry::Folder => {
                mkdirat(dir, name, FOLDER)?;
                chmodat(dir, name, FOLDER, AtFlags::empty())?;
            }
            WantedEntry::File(object) => {
                filled.add_file(&make_placeholder(dir, object)?, object, above)?
            }
        }
    }
    Ok(filled)
}

impl FilledDirectory {
    fn add_file(&mut self, file: &OwnedFd, object: &ListedObject, above: &str) -> io::Result<()> {
        let (sec, nsec) = object.written;
        let mtime = Time { sec, nsec };
        set_mtime(file, mtime)?;
        if is_evicted(file) {
            let stat = statx_nofollow(file.as_fd(), c"")?;
            let version = object.version.as_ref().map(|version| version.0.clone());
            let key = format!("{above}{}", object.name);
            let place = ContentLocation::Own { key, version, size: object.size };
            self.away.push((
                FileIdentity::from_statx(&stat),
                stat.stx_ino,
                EvictedFile { place, sums: None, mtime },
            ));
        }
        Ok(())
    }
}

/// What tells the state of an object: its ETag, or what comes nearest to one.
fn object_state(object: &ListedObject) -> String {
    match &object.version {
        Some(version) => version.0.clone(),
        None => format!("{} {}.{:09}", object.size, object.written.0, object.written.1),
    }
}

/// The file, if it has this state of the object.
fn open_if_same_state(
    dir: &OwnedFd,
    name: &CStr,
    object: &ListedObject,
) -> io::Result<Option<OwnedFd>> {
    let file = openat(dir, name, FILE | OFlags::NONBLOCK, Mode::empty())?;
    let mut value = [0u8; 1024];
    let length = fgetxattr(&file, OBJECT, &mut value[..]).unwrap_or(0);
    let is_same = &value[..length] == object_state(object).as_bytes();
    let is_long = statx_nofollow(file.as_fd(), c"")?.stx_size == object.size;
    Ok((is_same && is_long).then_some(file))
}

/// Makes a file without its bytes. Which state it has comes last, or a kill would leave half of it.
fn make_placeholder(dir: &OwnedFd, object: &ListedObject) -> io::Result<OwnedFd> {
    let file = openat(dir, object.name.as_str(), NEW, Mode::RUSR | Mode::WUSR)?;
    fchmod(&file, PLAIN)?;
    if object.size > 0 {
        fsetxattr(&file, AWAY, b"1", XattrFlags::CREATE)?;
        ftruncate(&file, object.size)?;
    }
    fsetxattr(&file, OBJECT, object_state(object).as_bytes(), XattrFlags::CREATE)?;
    Ok(file)
}

fn remove_entry(dir: &OwnedFd, name: &CStr, is_folder: bool) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    if !is_folder {
        return Ok(unlinkat(dir, name, AtFlags::empty())?);
    }
    let above =
        std::path::PathBuf::from(std::ffi::OsStr::from_bytes(proc_fd_path(dir.as_fd()).to_bytes()));
    std::fs::remove_dir_all(above.join(std::ffi::OsStr::from_bytes(name.to_bytes())))
}

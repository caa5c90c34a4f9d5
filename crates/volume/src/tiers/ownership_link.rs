//! The deed of a room: a link beside it whose text says which volume it is of. The book of a volume
//! says where its rooms are, and a book comes along with a directory that somebody sends; the deed
//! lies where nobody but this user writes. A room is a volume's if each names the other.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use forebay_model::TierId;
use rustix::fs::{CWD, Mode, OFlags, openat, readlinkat, symlinkat};
use rustix::io::Errno;

use super::manifest_format::ManifestEntry;
use forebay_os::file_identity::{FileIdentity, statx_nofollow};

/// The format that this program writes; it reads no newer one.
const FORMAT: u32 = 1;
/// Hexadecimal digits before the tier in the name of a room.
const DIGITS: usize = 16;

/// What tells the covered directory, also after it was renamed: inode, and time of birth in
/// nanoseconds since 1970 (0: none).
fn volume_identity(volume: &Path) -> io::Result<(u64, i128)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(CWD, volume, flags, Mode::empty())?;
    let FileIdentity { inode, born, .. } =
        FileIdentity::from_statx(&statx_nofollow(folder.as_fd(), c"")?);
    Ok((inode, born))
}

/// Where the deed of a room is.
pub(super) fn path_for(room: &Path) -> PathBuf {
    let mut path = room.as_os_str().to_owned();
    path.push(".volume");
    PathBuf::from(path)
}

/// Writes the deed of a room that is new.
///
/// # Errors
/// Those of the tier's file system.
pub(super) fn write_link(room: &Path, volume: &Path) -> io::Result<()> {
    let (inode, born) = volume_identity(volume)?;
    let known = format!("{FORMAT} {inode} {born} ");
    let text = [known.as_bytes(), volume.as_os_str().as_bytes()].concat();
    match symlinkat(text.as_slice(), CWD, path_for(room)) {
        // XFS takes a kilobyte: what tells the directory is enough.
        Err(Errno::NAMETOOLONG) => Ok(symlinkat(known, CWD, path_for(room))?),
        done => Ok(done?),
    }
}

/// Looks whether a room that a book names is the volume's. It says nothing of a room that is not
/// there.
///
/// # Errors
/// `InvalidInput`, in words: it is not, or nobody can say.
pub(super) fn check_ownership(entry: &ManifestEntry, volume: &Path) -> io::Result<()> {
    let refuse = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    if !is_named_as_ours(entry) {
        return refuse("no directory that Forebay makes is called so".to_owned());
    }
    let text = match readlinkat(CWD, path_for(&entry.path), Vec::new()) {
        Ok(text) => text.into_bytes(),
        // An earlier version made the room: its name, which nobody guesses, is all there is.
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut parts = text.splitn(4, |byte| *byte == b' ');
    let mut number = || parts.next().and_then(|part| std::str::from_utf8(part).ok()?.parse().ok());
    let (format, inode, born): (_, Option<i128>, Option<i128>) = (number(), number(), number());
    if format.is_none_or(|format| format > i128::from(FORMAT)) {
        return refuse("a newer Forebay made it".to_owned());
    }
    let was = parts.next().unwrap_or_default();
    let now = volume_identity(volume)?;
    let is_same = inode == Some(now.0.into()) && born == Some(now.1);
    match is_same || was == volume.as_os_str().as_bytes() {
        true => Ok(()),
        false => refuse(format!("it has files of {}", String::from_utf8_lossy(was))),
    }
}

/// `forebay-UID/ROOM-TIER`, as [`super::volume_manifest::Manifest::add_tier_directory`] makes it.
fn is_named_as_ours(entry: &ManifestEntry) -> bool {
    let ManifestEntry { tier: TierId(tier), path, .. } = entry;
    let name = path.file_name().and_then(|name| name.to_str());
    let above = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let user = format!("forebay-{}", rustix::process::geteuid().as_raw());
    let is_room = |name: &str| {
        name.split_at_checked(DIGITS).is_some_and(|(digits, rest)| {
            digits.bytes().all(|digit| digit.is_ascii_hexdigit())
                && rest.strip_prefix('-') == Some(tier)
        })
    };
    path.is_absolute() && above == Some(&user) && name.is_some_and(is_room)
}

#[cfg(test)]
mod tests {
    //! If these fail, a directory that somebody sent has Forebay move this user's own files.
    use std::fs;

    use super::*;

    fn entry(path: PathBuf) -> ManifestEntry {
        ManifestEntry { tier: TierId("far".to_owned()), path, folder: None }
    }

    #[test]
    fn a_room_is_a_volumes_if_each_names_the_other() {
        let here = tempfile::tempdir().expect("a directory");
        let of = |name: &str| here.path().join(name);
        let mine = of(&format!("forebay-{}", rustix::process::geteuid().as_raw()));
        let room = entry(mine.join("0123456789abcdef-far"));
        fs::create_dir_all(&room.path).expect("made");
        for volume in ["one", "other"] {
            fs::create_dir(of(volume)).expect("made");
        }
        check_ownership(&room, &of("one")).expect("of an earlier version: there is no deed");
        write_link(&room.path, &of("one")).expect("written");
        check_ownership(&room, &of("one")).expect("it is its own");
        let error = check_ownership(&room, &of("other")).expect_err("a copy of the book");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains("one"), "{error}");
        fs::rename(of("one"), of("renamed")).expect("renamed");
        check_ownership(&room, &of("renamed")).expect("it is still the same");
        fs::create_dir(of("one")).expect("made");
        check_ownership(&room, &of("one")).expect("put back from a backup");
        for text in ["2 1 1 /x", "?", " "] {
            fs::remove_file(path_for(&room.path)).expect("removed");
            std::os::unix::fs::symlink(text, path_for(&room.path)).expect("linked");
            assert!(check_ownership(&room, &of("one")).is_err(), "of a newer format: {text:?}");
        }
    }

    #[test]
    fn no_other_directory_is_taken_for_a_room() {
        let user = rustix::process::geteuid().as_raw();
        for path in [
            "/home/me/data".to_owned(),
            format!("/t/forebay-{user}/data"),
            format!("/t/forebay-{user}/0123456789abcdef-other"),
            format!("/t/forebay-{user}/0123456789abcdeg-far"),
            format!("/t/forebay-{}/0123456789abcdef-far", user + 1),
            format!("t/forebay-{user}/0123456789abcdef-far"),
            format!("/t/forebay-{user}/0123456789abcdef-far/.."),
        ] {
            let error =
                check_ownership(&entry(path.clone().into()), Path::new("/")).expect_err(&path);
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{path}: {error}");
        }
    }
}

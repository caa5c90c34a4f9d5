//! The deed of a room: a file beside it that says which volume it is of. The book of a volume says
//! where its rooms are, and a book comes along with a directory that somebody sends; the deed lies
//! where nobody but this user writes. A room is a volume's if each names the other.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use forebay_model::TierId;
use rustix::fs::{CWD, Mode, OFlags, openat};
use serde::{Deserialize, Serialize};

use super::book::Entry;
use crate::native::{Identity, stat_of};

/// The format that this program writes; it reads no newer one.
const FORMAT: u32 = 1;
/// Hexadecimal digits before the tier in the name of a room.
const DIGITS: usize = 16;

/// See FORMATS.md.
#[derive(Debug, Serialize, Deserialize)]
struct Deed {
    format: u32,
    /// The covered directory, where it was when the room was made.
    volume: String,
    /// Tells it after it was renamed: inode, and time of birth in nanoseconds since 1970 (0: none).
    inode: u64,
    born: i64,
}

impl Deed {
    fn of(volume: &Path) -> io::Result<Deed> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, volume, flags, Mode::empty())?;
        let Identity { inode, born, .. } = Identity::of(&stat_of(folder.as_fd(), c"")?);
        let volume = volume.to_string_lossy().into_owned();
        Ok(Deed { format: FORMAT, volume, inode, born: born as i64 })
    }
}

/// Where the deed of a room is.
pub(super) fn file(room: &Path) -> PathBuf {
    let mut path = room.as_os_str().to_owned();
    path.push(".volume");
    PathBuf::from(path)
}

/// Writes the deed of a room that is new.
///
/// # Errors
/// Those of the tier's file system.
pub(super) fn write(room: &Path, volume: &Path) -> io::Result<()> {
    let mut text = serde_json::to_vec(&Deed::of(volume)?)?;
    text.push(b'\n');
    let mut out = File::create_new(file(room))?;
    out.write_all(&text)?;
    out.sync_all()
}

/// Looks whether a room that a book names is the volume's. It says nothing of a room that is not
/// there.
///
/// # Errors
/// `InvalidInput`, in words: it is not, or nobody can say.
pub(super) fn check(entry: &Entry, volume: &Path) -> io::Result<()> {
    let refuse = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why.to_owned()));
    if !is_named_as_ours(entry) {
        return refuse("no directory that Forebay makes is called so");
    }
    let deed: Deed = match fs::read(file(&entry.path)) {
        Ok(text) => serde_json::from_slice(&text)?,
        // An earlier version made the room: its name, which nobody guesses, is all there is.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let now = Deed::of(volume)?;
    match (deed.inode, deed.born) == (now.inode, now.born) || deed.volume == now.volume {
        _ if deed.format > FORMAT => refuse("a newer Forebay made it"),
        true => Ok(()),
        false => refuse(&format!("it has files of {}", deed.volume)),
    }
}

/// `forebay-UID/ROOM-TIER`, as [`super::book::Book::add`] makes it.
fn is_named_as_ours(entry: &Entry) -> bool {
    let Entry { tier: TierId(tier), path } = entry;
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
    use super::*;

    fn entry(path: PathBuf) -> Entry {
        Entry { tier: TierId("far".to_owned()), path }
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
        check(&room, &of("one")).expect("of an earlier version: there is no deed");
        write(&room.path, &of("one")).expect("written");
        check(&room, &of("one")).expect("it is its own");
        let error = check(&room, &of("other")).expect_err("a copy of the book");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains("one"), "{error}");
        fs::rename(of("one"), of("renamed")).expect("renamed");
        check(&room, &of("renamed")).expect("it is still the same");
        fs::create_dir(of("one")).expect("made");
        check(&room, &of("one")).expect("put back from a backup");
        let newer = fs::read_to_string(file(&room.path)).expect("read");
        fs::write(file(&room.path), newer.replace(":1,", ":2,")).expect("written");
        assert!(check(&room, &of("one")).is_err(), "of a newer format");
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
            let error = check(&entry(path.clone().into()), Path::new("/")).expect_err(&path);
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{path}: {error}");
        }
    }
}

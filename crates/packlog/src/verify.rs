//! Looking at every byte of a pack.

use rustix::io::Errno;

use super::pack_index::ContentLocation;
use super::{Pack, PackedDir};

/// A packed file that is not whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedFile {
    /// Where it was when its directory got its first packed file.
    pub path: Vec<u8>,
    pub why: Errno,
}

impl Pack {
    /// Reads all files; tells how many there are, their bytes, and those that are spoilt.
    pub fn verify_all_files(&self) -> (u64, u64, Vec<DamagedFile>) {
        let (mut files, mut bytes, mut spoilt) = (0, 0, Vec::new());
        for PackedDir { key, path, names } in self.packed_directories() {
            for name in names {
                let Some(found) = self.lookup_name(key, &name) else { continue };
                files += 1;
                bytes += found.attr.size;
                if let Err(why) = self.verify_file(found.ino) {
                    let mut path = path.clone();
                    if !path.is_empty() {
                        path.push(b'/');
                    }
                    path.extend_from_slice(&name);
                    spoilt.push(DamagedFile { path, why });
                }
            }
        }
        (files, bytes, spoilt)
    }

    fn verify_file(&self, ino: u64) -> Result<(), Errno> {
        let bytes = self.state.lock().index.inodes.get(ino).ok_or(Errno::STALE)?.bytes;
        match bytes {
            ContentLocation::Body { work } => self.works.open(work).map(drop),
            _ => self.read_content(ino).map(drop),
        }
    }
}

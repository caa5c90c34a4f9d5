//! The pack of a volume: beside the room of its tier, in a directory of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_model::TierId;

use super::private_directories::{check_owned_exclusively, make_directory};
use super::{TierDirectory, TierError, Tiers};
use forebay_packlog::{DAMAGED, DiscardedIndex, Pack, PackEnvironment, Time};

/// A pack, and the room that it is beside of.
#[derive(Debug)]
pub(super) struct TierPack {
    pub(super) pack: Arc<Pack>,
    pub(super) room: usize,
}

/// Where the pack of a room is.
pub(super) fn pack_directory(room: &Path) -> PathBuf {
    let mut path = room.as_os_str().to_owned();
    path.push(".packed");
    PathBuf::from(path)
}

impl Tiers {
    /// Opens the pack that there is, and makes the one that rules want.
    pub(super) fn open_pack(
        &mut self,
        wanted: Option<&TierId>,
        repair: bool,
    ) -> Result<(), TierError> {
        for (number, room) in self.rooms.iter().enumerate() {
            let path = pack_directory(&room.path);
            let here = wanted == Some(&room.tier) && room.writable;
            let is_there = fs::symlink_metadata(&path).is_ok();
            if !here && !is_there {
                continue;
            }
            let pack = match open_pack_at(room, &path) {
                // Nothing was packed before, and nothing can be now: files stay in place.
                Err(trouble) if !is_there && trouble.is_full() => {
                    let _ = fs::remove_file(path.join("log"));
                    let _ = fs::remove_dir(&path);
                    self.note_full_tier(&trouble);
                    continue;
                }
                Err(trouble) if repair && trouble.error.to_string().contains(DAMAGED) => {
                    let (pack, lost) = salvage_pack(&path)?;
                    self.salvaged = Some((path.join("log.damaged"), lost));
                    pack
                }
                opened => opened?,
            };
            match &self.packing {
                None => self.packing = Some(TierPack { pack: Arc::new(pack), room: number }),
                // One of them is what an earlier run left, and empty.
                Some(other) if other.pack.is_empty() => {
                    self.packing = Some(TierPack { pack: Arc::new(pack), room: number });
                }
                Some(_) if pack.is_empty() => {}
                Some(other) => {
                    let tier = &self.rooms[other.room].tier;
                    let error = io::Error::other(format!(
                        "files of this directory are packed on tier {tier} already, and packed \
                         files share one tier: `forebay restore` writes them back"
                    ));
                    return Err(TierError { path, step: "packing on", error });
                }
            }
        }
        // A pack with files stays where it is.
        if let (Some(wanted), Some(packing)) = (wanted, &self.packing)
            && self.rooms[packing.room].tier != *wanted
        {
            let path = pack_directory(&self.rooms[packing.room].path);
            let error = io::Error::other(format!(
                "the rules pack files on tier {wanted}, but this one still has some: `forebay \
                 restore` writes them back"
            ));
            return Err(TierError { path, step: "leaving", error });
        }
        Ok(())
    }

    /// The damaged log of packed files that was kept, and how many bytes of it say nothing.
    pub fn salvaged_log(&self) -> Option<(&Path, u64)> {
        self.salvaged.as_ref().map(|(path, lost)| (path.as_path(), *lost))
    }

    /// The packed files.
    pub(crate) fn pack(&self) -> Option<&Arc<Pack>> {
        self.packing.as_ref().map(|packing| &packing.pack)
    }

    /// Closes the tiers in a process that has no more use for them. What is left is memory.
    pub(crate) fn into_names(self) -> Option<DiscardedIndex> {
        Arc::into_inner(self.packing?.pack).map(Pack::into_names)
    }

    /// The room beside the pack.
    pub(crate) fn pack_tier_directory(&self) -> Option<&TierDirectory> {
        self.packing.as_ref().map(|packing| &self.rooms[packing.room])
    }

    /// Whether new files may be packed on the tier with this number.
    pub(crate) fn has_pack_on(&self, number: usize) -> bool {
        self.packing.as_ref().is_some_and(|packing| packing.room == number)
    }

    /// Counts what the pack takes, against the capacity of its tier.
    pub(crate) fn charge_pack(&self) {
        if let Some(packing) = &self.packing {
            let now = packing.pack.bytes_on_tier();
            let before = self.pack_charged.swap(now, std::sync::atomic::Ordering::Relaxed);
            self.rooms[packing.room].charge_bytes(before, now);
        }
    }

    /// Takes a pack without files away.
    pub(super) fn close_pack(&self) {
        for room in &self.rooms {
            let path = pack_directory(&room.path);
            let pack = match &self.packing {
                Some(packing) if self.rooms[packing.room].path == room.path => {
                    Arc::clone(&packing.pack)
                }
                _ if fs::symlink_metadata(&path).is_err() => continue,
                _ => match open_pack_at(room, &path) {
                    Ok(pack) => Arc::new(pack),
                    Err(_) => continue,
                },
            };
            if pack.is_empty() && pack.remove_storage().is_ok() {
                let _ = fs::remove_dir(&path);
            }
        }
    }
}

fn open_pack_at(room: &TierDirectory, path: &Path) -> Result<Pack, TierError> {
    make_directory(path, 0o700).map_err(TierError::with_context(path, "making"))?;
    check_owned_exclusively(path).map_err(TierError::with_context(path, "using"))?;
    tracing::debug!("the pack of tier {} is in {}", room.tier, path.display());
    Pack::open(path, pack_environment()?)
        .map_err(TierError::with_context(path, "opening the packed files in"))
}

fn salvage_pack(path: &Path) -> Result<(Pack, u64), TierError> {
    Pack::open_salvaged(path, pack_environment()?)
        .map_err(TierError::with_context(path, "repairing the packed files in"))
}

fn pack_environment() -> Result<PackEnvironment, TierError> {
    Ok(PackEnvironment {
        clock: Box::new(coarse_time),
        boot: read_boot_id().map_err(TierError::with_context(Path::new(BOOT), "reading"))?,
        salt: Box::new(|| coarse_time().nsec ^ std::process::id().rotate_left(16)),
    })
}

/// The clock by which file systems stamp.
fn coarse_time() -> Time {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    Time { sec: now.tv_sec, nsec: now.tv_nsec as u32 }
}

const BOOT: &str = "/proc/sys/kernel/random/boot_id";

fn read_boot_id() -> io::Result<[u8; 16]> {
    let text = fs::read_to_string(BOOT)?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let number = u128::from_str_radix(&digits, 16).map_err(io::Error::other)?;
    Ok(number.to_be_bytes())
}

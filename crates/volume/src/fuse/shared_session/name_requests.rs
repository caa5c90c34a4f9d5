//! Requests about names and attributes of a shared volume.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use forebay_book::{EntryName, FileKind, FolderId, InodeNumber};
use forebay_sharing::{AttributeChange, NewFile, RenameRule, Seen};
use rustix::fs::{FileType, RenameFlags};
use rustix::io::Errno;
use zerocopy::IntoBytes;

use super::super::abi::{self, fattr, op};
use super::super::session::parse_name;
use super::{Asked, SharedSession, attr_of, entry_of, type_of};
use crate::native::Result;

/// `XATTR_CREATE` and `XATTR_REPLACE` (setxattr(2)).
const MUST_NOT_BE: u32 = 1;
const MUST_BE: u32 = 2;

fn entry_name(name: &std::ffi::CStr) -> Result<EntryName> {
    let is_long = name.count_bytes() > 255;
    EntryName::new(name.to_bytes())
        .map_err(|_| if is_long { Errno::NAMETOOLONG } else { Errno::INVAL })
}

/// A name at the start of `bytes`, and what follows it.
fn take_name(bytes: &[u8]) -> Result<(EntryName, &[u8])> {
    let (name, rest) = parse_name(bytes)?;
    Ok((entry_name(name)?, rest))
}

impl SharedSession {
    pub(super) fn lookup(&self, asked: &Asked<'_>) -> Result<()> {
        let (name, _) = take_name(asked.body)?;
        let found = self.node.look_up(asked.folder(), &name)?.ok_or(Errno::NOENT)?;
        asked.reply(&[entry_of(&found).as_bytes()])
    }

    pub(super) fn getattr(&self, asked: &Asked<'_>) -> Result<()> {
        let seen = self.node.attributes(asked.file())?;
        reply_attributes(asked, &seen)
    }

    pub(super) fn setattr(&self, asked: &Asked<'_>) -> Result<()> {
        let (ask, _) = asked.parse::<abi::SetattrIn>()?;
        let has = |bit| ask.valid & bit != 0;
        let said = |seconds: u64, nanos: u32| {
            seconds.cast_signed().saturating_mul(1_000_000_000).saturating_add(i64::from(nanos))
        };
        let time = |is_set, is_now, said| match (has(is_set), has(is_now)) {
            (_, true) => Some(self.node.now()),
            (true, false) => Some(said),
            (false, false) => None,
        };
        let change = AttributeChange {
            mode: has(fattr::MODE).then_some(ask.mode),
            uid: has(fattr::UID).then_some(ask.uid),
            gid: has(fattr::GID).then_some(ask.gid),
            size: has(fattr::SIZE).then_some(ask.size),
            mtime_ns: time(fattr::MTIME, fattr::MTIME_NOW, said(ask.mtime, ask.mtimensec)),
            atime_ns: time(fattr::ATIME, fattr::ATIME_NOW, said(ask.atime, ask.atimensec)),
        };
        if has(fattr::KILL_SUIDGID) || change.uid.is_some() || change.gid.is_some() {
            self.drop_set_id_bits(asked)?;
        }
        let seen = self.node.set_attributes(asked.file(), change)?;
        reply_attributes(asked, &seen)
    }

    pub(super) fn readlink(&self, asked: &Asked<'_>) -> Result<()> {
        let target = self.node.read(asked.file(), 0, 4096)?;
        asked.reply(&[&target])
    }

    pub(super) fn make(&self, asked: &Asked<'_>) -> Result<()> {
        let (mut target, mut rdev) = (Vec::new(), 0);
        let (name, kind, mode) = match asked.header.opcode {
            op::MKNOD => {
                let (ask, rest) = asked.parse::<abi::MknodIn>()?;
                let kind = match FileType::from_raw_mode(ask.mode) {
                    FileType::RegularFile => FileKind::Regular,
                    FileType::Fifo => FileKind::Fifo,
                    FileType::Socket => FileKind::Socket,
                    FileType::CharacterDevice => FileKind::CharacterDevice,
                    FileType::BlockDevice => FileKind::BlockDevice,
                    _ => return Err(Errno::INVAL),
                };
                rdev = u64::from(ask.rdev);
                (take_name(rest)?.0, kind, ask.mode & !ask.umask)
            }
            op::MKDIR => {
                let (ask, rest) = asked.parse::<abi::MkdirIn>()?;
                (take_name(rest)?.0, FileKind::Folder, ask.mode & !ask.umask)
            }
            _ => {
                let (name, rest) = take_name(asked.body)?;
                target = parse_name(rest)?.0.to_bytes().to_vec();
                (name, FileKind::Symlink, 0o777)
            }
        };
        let seen = self.make_file(asked, &name, kind, (mode, rdev, target))?;
        asked.reply(&[entry_of(&seen).as_bytes()])
    }

    pub(super) fn make_file(
        &self,
        asked: &Asked<'_>,
        name: &EntryName,
        kind: FileKind,
        (mode, rdev, target): (u32, u64, Vec<u8>),
    ) -> Result<Seen> {
        let (uid, gid) = (asked.header.uid, asked.header.gid);
        let new = NewFile { kind, mode: mode & 0o7777, uid, gid, rdev, target };
        self.node.create(asked.folder(), name, &new)
    }

    pub(super) fn link(&self, asked: &Asked<'_>) -> Result<()> {
        let (ask, rest) = asked.parse::<abi::LinkIn>()?;
        let (name, _) = take_name(rest)?;
        let file = InodeNumber(ask.oldnodeid.cast_signed());
        let seen = self.node.link(file, asked.folder(), &name)?;
        asked.reply(&[entry_of(&seen).as_bytes()])
    }

    pub(super) fn remove(&self, asked: &Asked<'_>) -> Result<()> {
        let (name, _) = take_name(asked.body)?;
        match asked.header.opcode {
            op::UNLINK => self.node.unlink(asked.folder(), &name)?,
            _ => self.node.rmdir(asked.folder(), &name)?,
        }
        asked.reply(&[])
    }

    pub(super) fn rename(&self, asked: &Asked<'_>) -> Result<()> {
        let (to, flags, rest) = match asked.header.opcode {
            op::RENAME2 => {
                let (ask, rest) = asked.parse::<abi::Rename2In>()?;
                (ask.newdir, ask.flags, rest)
            }
            _ => {
                let (ask, rest) = asked.parse::<abi::RenameIn>()?;
                (ask.newdir, 0, rest)
            }
        };
        let rule = match flags {
            0 => RenameRule::Replace,
            flags if flags == RenameFlags::NOREPLACE.bits() => RenameRule::KeepTarget,
            _ => return Err(Errno::INVAL),
        };
        let (old, rest) = take_name(rest)?;
        let (new, _) = take_name(rest)?;
        let to = FolderId(to.cast_signed());
        self.node.rename((asked.folder(), &old), (to, &new), rule)?;
        asked.reply(&[])
    }

    pub(super) fn opendir(&self, asked: &Asked<'_>) -> Result<()> {
        let names = self.node.list(asked.folder())?;
        let fh = self.next_handle.fetch_add(1, Relaxed);
        self.listings.lock().insert(fh, Arc::new(names));
        asked.reply(&[abi::OpenOut { fh, open_flags: 0, backing_id: 0 }.as_bytes()])
    }

    pub(super) fn readdir(&self, asked: &Asked<'_>) -> Result<()> {
        let (ask, _) = asked.parse::<abi::ReadIn>()?;
        let names = self.listings.lock().get(&ask.fh).cloned().ok_or(Errno::BADF)?;
        let mut out = Vec::new();
        let own = asked.header.nodeid;
        let folder = type_of(FileKind::Folder).as_raw_mode() >> 12;
        let dots = [(&b"."[..], own, folder), (b"..", own, folder)];
        let listed = names.iter().map(|one| {
            let kind = type_of(one.kind).as_raw_mode() >> 12;
            (one.name.as_bytes(), one.file.0.cast_unsigned(), kind)
        });
        let all = dots.into_iter().chain(listed).zip(1u64..).skip(ask.offset as usize);
        for ((name, ino, kind), off) in all {
            let size = (size_of::<abi::Dirent>() + name.len()).next_multiple_of(8);
            if out.len() + size > ask.size as usize {
                break;
            }
            let end = out.len() + size;
            let head = abi::Dirent { ino, off, namelen: name.len() as u32, kind };
            out.extend_from_slice(head.as_bytes());
            out.extend_from_slice(name);
            out.resize(end, 0);
        }
        asked.reply(&[&out])
    }

    pub(super) fn releasedir(&self, asked: &Asked<'_>) -> Result<()> {
        let (ask, _) = asked.parse::<abi::ReleaseIn>()?;
        self.listings.lock().remove(&ask.fh);
        asked.reply(&[])
    }

    pub(super) fn extended(&self, asked: &Asked<'_>) -> Result<()> {
        let file = asked.file();
        let answer = match asked.header.opcode {
            op::SETXATTR => {
                let (ask, rest) = asked.parse::<abi::SetxattrIn>()?;
                let (key, value) = parse_name(rest)?;
                let value = value.get(..ask.size as usize).ok_or(Errno::INVAL)?;
                let must_be = match ask.flags {
                    MUST_NOT_BE => Some(false),
                    MUST_BE => Some(true),
                    _ => None,
                };
                self.node.set_extended(file, key.to_bytes(), Some(value), must_be)?;
                return asked.reply(&[]);
            }
            op::REMOVEXATTR => {
                let (key, _) = parse_name(asked.body)?;
                self.node.set_extended(file, key.to_bytes(), None, Some(true))?;
                return asked.reply(&[]);
            }
            op::GETXATTR => {
                let (ask, rest) = asked.parse::<abi::GetxattrIn>()?;
                let key = parse_name(rest)?.0.to_bytes();
                // The kernel asks for capabilities before each write.
                if !key.starts_with(b"user.") {
                    return Err(Errno::NODATA);
                }
                let all = self.node.extended(file)?;
                let found = all.into_iter().find(|(name, _)| name == key);
                (ask.size, found.ok_or(Errno::NODATA)?.1)
            }
            _ => {
                let (ask, _) = asked.parse::<abi::GetxattrIn>()?;
                let all = self.node.extended(file)?;
                let names = all.into_iter().flat_map(|(mut name, _)| {
                    name.push(0);
                    name
                });
                (ask.size, names.collect())
            }
        };
        match answer {
            (0, bytes) => {
                let out = abi::GetxattrOut { size: bytes.len() as u32, padding: 0 };
                asked.reply(&[out.as_bytes()])
            }
            (size, bytes) if bytes.len() > size as usize => Err(Errno::RANGE),
            (_, bytes) => asked.reply(&[&bytes]),
        }
    }
}

pub(super) fn reply_attributes(asked: &Asked<'_>, seen: &Seen) -> Result<()> {
    let out = abi::AttrOut {
        attr_valid: seen.attribute_trust.as_secs(),
        attr_valid_nsec: seen.attribute_trust.subsec_nanos(),
        dummy: 0,
        attr: attr_of(seen),
    };
    asked.reply(&[out.as_bytes()])
}

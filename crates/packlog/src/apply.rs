//! What each record does to the index: the same function when it is written and when it is read
//! again, so the two can't differ.

use std::collections::BTreeMap;

use super::name::PackedName;
use super::pack_index::{ContentLocation, Dir, INODE_COST, Index, Inode};
use super::record::{Attr, Record};
use forebay_os::short_name::ShortName;

impl Index {
    /// Takes in a record; its data, if it has any, begin at `at`. `false`: it makes no sense here,
    /// and nothing was done.
    pub(super) fn apply_record(
        &mut self,
        record: &Record<'_>,
        at: u64,
        head_crc: u32,
        size: u64,
    ) -> bool {
        match *record {
            Record::Begin { boot } => self.begin_run(boot),
            Record::Safe { .. } => {}
            Record::Dir { dir, key, path } => {
                if dir as usize != self.dirs.len() {
                    return false;
                }
                self.dirs.push(Dir { key, path: path.to_vec(), names: BTreeMap::new() });
                self.by_key.insert(key, dir);
            }
            Record::Make { ino, dir, name, attr, work } => {
                let fits = dir < self.dirs.len() as u32 && !self.inodes.contains(ino);
                let Some(short) = ShortName::from_file_name(name) else { return false };
                if !fits || self.name_in_directory(dir, name).is_some() {
                    return false;
                }
                let work_now = (work != 0).then_some(work);
                let inode = Inode { attr, links: 0, bytes: ContentLocation::Empty, work: work_now };
                self.inodes.insert(ino, inode);
                self.newest = self.newest.max(ino);
                self.newest_work = self.newest_work.max(work);
                self.live += INODE_COST;
                self.add_name(dir, short, ino);
            }
            Record::Work { ino, work } => {
                self.newest_work = self.newest_work.max(work);
                let Some(inode) = self.inodes.get_mut(ino) else { return false };
                inode.work = (work != 0).then_some(work);
            }
            Record::Content { ino, mtime, ctime, work } => {
                let bytes = match size {
                    0 => ContentLocation::Empty,
                    _ => ContentLocation::Log { at, size: size as u32, crc: head_crc },
                };
                let attr = Attr { size, mtime, ctime, ..Attr::default() };
                return self.set_content(ino, bytes, attr, (work != 0).then_some(work));
            }
            Record::Body { ino, size, mtime, ctime } => {
                let work = self.inodes.get(ino).and_then(|inode| inode.work);
                let Some(work) = self.data_file_number(ino).or(work) else { return false };
                let attr = Attr { size, mtime, ctime, ..Attr::default() };
                return self.set_content(ino, ContentLocation::Body { work }, attr, None);
            }
            Record::Attr { ino, attr } => {
                let Some(inode) = self.inodes.get_mut(ino) else { return false };
                // The size belongs to the bytes.
                inode.attr = Attr { size: inode.attr.size, ..attr };
            }
            Record::Link { ino, dir, name, ctime } => {
                let Some(short) = ShortName::from_file_name(name) else { return false };
                if !self.inodes.contains(ino)
                    || !self.has_directory(dir)
                    || self.name_in_directory(dir, name).is_some()
                {
                    return false;
                }
                self.add_name(dir, short, ino);
                self.update_ctime(ino, ctime);
            }
            Record::Move { dir, name, to, new, ctime, over } => {
                let Some(moved) = self.name_in_directory(dir, name).map(|name| name.ino) else {
                    return false;
                };
                let Some(short) = ShortName::from_file_name(new) else { return false };
                if !self.has_directory(to) {
                    return false;
                }
                if self.name_in_directory(to, new).is_some_and(|old| old.ino == moved) {
                    // Two names of one file: rename(2) does nothing.
                    return true;
                }
                let hid = self.name_in_directory(to, new).and_then(|old| old.marks().over);
                self.remove_name(to, new, ctime);
                self.dirs[dir as usize].names.remove(name);
                self.update_ctime(moved, ctime);
                self.dirs[to as usize].names.insert(short, PackedName::new(moved, over.or(hid)));
            }
            Record::Swap { dir, name, to, new, ctime } => {
                let (Some(one), Some(other)) =
                    (self.name_in_directory(dir, name), self.name_in_directory(to, new))
                else {
                    return false;
                };
                let (one, other) = (one.ino, other.ino);
                for (dir, name, ino) in [(dir, name, other), (to, new, one)] {
                    if let Some(entry) = self.dirs[dir as usize].names.get_mut(name) {
                        entry.ino = ino;
                    }
                    self.update_ctime(ino, ctime);
                }
            }
            Record::Drop { dir, name, ctime } => {
                if self.name_in_directory(dir, name).is_none() {
                    return false;
                }
                self.remove_name(dir, name, ctime);
            }
            Record::Yield { dir, name, to } => {
                let Some(dir) = self.dirs.get_mut(dir as usize) else { return false };
                let Some(name) = dir.names.get_mut(name) else { return false };
                name.marks_mut().yields = Some(to);
            }
            Record::Hide { dir, name, over } => {
                let Some(dir) = self.dirs.get_mut(dir as usize) else { return false };
                let Some(name) = dir.names.get_mut(name) else { return false };
                name.marks_mut().over = Some(over);
            }
            Record::Land { dir, name, to } => {
                let Some(dir) = self.dirs.get_mut(dir as usize) else { return false };
                let Some(name) = dir.names.get_mut(name) else { return false };
                name.marks_mut().lands = Some(to);
            }
        }
        true
    }
}

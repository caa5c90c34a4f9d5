//! Random operations on a pack and on a model of it.

use std::collections::BTreeMap;

use rustix::io::Errno;

use super::super::{Attr, LARGEST, Pack, Result, Time, WorkingFile};
use super::disk::Doom;
use super::{DIRS, NAMES};

/// xorshift64*, so that a seed replays a failure.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    /// Neighbours begin far apart.
    pub(super) fn from(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A seed for another's dice.
    pub(super) fn seed(&mut self) -> u64 {
        self.below(1 << 30) as u64 + 1
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }
}

/// What a pack should hold: names, and the bytes and modes of files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) names: BTreeMap<(usize, usize), u64>,
    pub(super) files: BTreeMap<u64, (Vec<u8>, u32)>,
}

impl Model {
    fn changed(&self, change: impl Fn(&mut Model)) -> Model {
        let mut model = self.clone();
        change(&mut model);
        let used: Vec<u64> = model.names.values().copied().collect();
        model.files.retain(|ino, _| used.contains(ino));
        model
    }
}

/// The same as a pack shows it.
pub(super) fn shown(pack: &Pack) -> Model {
    let mut model = Model::default();
    for (dir, key) in DIRS.iter().enumerate() {
        for (name, ino) in pack.list_names(*key) {
            let name = NAMES.iter().position(|known| *known == name).expect("a known name");
            assert_eq!(pack.lookup_name(*key, NAMES[name]).map(|found| found.ino), Some(ino));
            model.names.insert((dir, name), ino);
            let work = pack.prepare_working_file(ino, false).expect("its bytes").0;
            let size = pack.attributes_and_links(ino).expect("it is there").0.size;
            let mut bytes = vec![0; size as usize + 1];
            let count = rustix::io::pread(&work.file, &mut bytes[..], 0).expect("read");
            assert_eq!(count as u64, size, "size of {ino}");
            bytes.truncate(count);
            model
                .files
                .insert(ino, (bytes, pack.attributes_and_links(ino).expect("it is there").0.mode));
            pack.release_working_file(ino, work);
        }
    }
    for ino in model.files.keys() {
        let links = model.names.values().filter(|other| *other == ino).count();
        assert_eq!(
            pack.attributes_and_links(*ino).expect("it is there").1 as usize,
            links,
            "links of {ino}"
        );
    }
    model
}

/// A moment: what a kill must leave, and what a power failure may.
#[derive(Debug, Clone)]
pub(super) struct Moment {
    /// With all bytes.
    pub(super) now: Model,
    /// With the bytes that are in the log.
    pub(super) logged: Model,
}

/// Runs random operations on a pack and a model, and tells the model after each.
pub(super) struct Story<'p> {
    pub(super) pack: &'p Pack,
    pub(super) dice: Dice,
    pub(super) is: Moment,
    /// What the operation that is being done comes to.
    pub(super) next: Option<Moment>,
    /// What was in the log at any moment since the last sync.
    pub(super) past: Vec<Model>,
    /// Kills in the middle of writes to working files.
    pub(super) doom: Doom,
    open: BTreeMap<u64, WorkingFile>,
    /// Largest size of a file in bytes.
    pub(super) most: usize,
}

pub(super) fn story(pack: &Pack, seed: u64) -> Story<'_> {
    let now = shown(pack);
    let is = Moment { logged: now.clone(), now: now.clone() };
    let (past, doom, open) = (vec![now], Doom::default(), BTreeMap::new());
    Story { pack, dice: Dice(seed), is, next: None, past, doom, open, most: 1 << 20 }
}

impl Story<'_> {
    /// Does what leads to the next moment.
    fn comes(&mut self, next: Moment, what: impl FnOnce(&Pack) -> Result<()>) -> Result<()> {
        self.next = Some(next);
        let done = what(self.pack);
        let next = self.next.take();
        if let (Ok(()), Some(next)) = (done, next) {
            self.past.push(next.logged.clone());
            self.is = next;
        }
        done
    }

    /// Does what changes names, and with them what is logged.
    fn changes(
        &mut self,
        change: impl Fn(&mut Model),
        what: impl FnOnce(&Pack) -> Result<()>,
    ) -> Result<()> {
        let now = self.is.now.changed(&change);
        self.comes(Moment { now, logged: self.is.logged.changed(&change) }, what)
    }

    fn settle(&mut self, ino: u64, work: &WorkingFile, more: bool) -> Result<()> {
        let mut next = self.is.clone();
        if let Some(file) = next.now.files.get(&ino) {
            next.logged.files.insert(ino, file.clone());
        }
        self.comes(next, |pack| pack.commit_content(ino, work, more))
    }

    pub(super) fn sync(&mut self) -> Result<()> {
        self.pack.sync()?;
        self.past = vec![self.is.logged.clone()];
        Ok(())
    }

    pub(super) fn rewrite(&mut self) -> Result<()> {
        self.pack.rewrite_log(&mut self.pack.state.lock())
    }

    fn pick(&mut self) -> Option<((usize, usize), u64)> {
        let all: Vec<_> = self.is.now.names.iter().map(|(place, ino)| (*place, *ino)).collect();
        let at = (!all.is_empty()).then(|| self.dice.below(all.len()))?;
        Some(all[at])
    }

    pub(super) fn step(&mut self) -> Result<()> {
        let at = (self.dice.below(2), self.dice.below(NAMES.len()));
        match self.dice.below(10) {
            0..3 => self.make(at),
            3..6 => self.write(),
            6 => self.rename(at),
            7 => self.link(at),
            8 => self.remove(),
            _ => self.swap(),
        }
    }

    fn make(&mut self, at: (usize, usize)) -> Result<()> {
        let (key, name) = of(at);
        let attr = Attr { mode: self.dice.below(0o1000) as u32, ..Attr::default() };
        let ino = self.pack.state.lock().index.next_inode_number();
        let mut made = None;
        let change = |model: &mut Model| {
            model.names.insert(at, ino);
            model.files.insert(ino, (Vec::new(), attr.mode));
        };
        let done = self.changes(change, |pack| {
            made = Some(pack.create_file(key, path, name, attr)?);
            Ok(())
        });
        if let Some((number, work)) = made {
            assert_eq!(number, ino);
            self.open.insert(ino, work);
        }
        let taken = self.is.now.names.contains_key(&at);
        match done {
            Err(Errno::EXIST) if taken => Ok(()),
            Err(Errno::NOSPC) if !taken => Ok(()),
            done => done,
        }
    }

    fn write(&mut self) -> Result<()> {
        let Some((_, ino)) = self.pick() else { return Ok(()) };
        let work = match self.open.remove(&ino) {
            Some(work) => work,
            None => self.pack.prepare_working_file(ino, true)?.0,
        };
        if let Err(error) = self.pack.begin_writing(ino, &work) {
            self.pack.release_working_file(ino, work);
            return Err(error);
        }
        let sizes = [0, 1, 300, 5000, LARGEST as usize + 1];
        let size = sizes[self.dice.below(sizes.len())].min(self.most);
        let fill = vec![self.dice.below(256) as u8; size];
        let now = &mut self.is.now;
        self.doom.fill(&work, &fill, |end| {
            if let Some(file) = now.files.get_mut(&ino) {
                file.0 = fill[..end].to_vec();
            }
        })?;
        match self.dice.below(3) {
            0 => {
                self.open.insert(ino, work);
            }
            1 => {
                let settled = self.settle(ino, &work, true);
                self.open.insert(ino, work);
                settled?;
            }
            _ => match self.settle(ino, &work, false) {
                Ok(()) => self.pack.release_working_file(ino, work),
                Err(error) => {
                    self.open.insert(ino, work);
                    return Err(error);
                }
            },
        }
        Ok(())
    }

    fn rename(&mut self, to: (usize, usize)) -> Result<()> {
        let Some((from, ino)) = self.pick() else { return Ok(()) };
        let change = |model: &mut Model| {
            if model.names.get(&to) != Some(&ino) {
                model.names.remove(&from);
                model.names.insert(to, ino);
            }
        };
        let ((dir, new), time) = (of(to), TIME);
        self.changes(change, |pack| pack.rename(of(from), (dir, path), new, time, None))
    }

    fn link(&mut self, at: (usize, usize)) -> Result<()> {
        let Some((_, ino)) = self.pick() else { return Ok(()) };
        let (key, name) = of(at);
        let change = |model: &mut Model| {
            model.names.insert(at, ino);
        };
        match self.changes(change, |pack| pack.link(ino, key, path, name, TIME)) {
            Err(Errno::EXIST) => Ok(()),
            done => done,
        }
    }

    fn remove(&mut self) -> Result<()> {
        let Some((at, ino)) = self.pick() else { return Ok(()) };
        let (key, name) = of(at);
        let change = |model: &mut Model| {
            model.names.remove(&at);
        };
        self.changes(change, |pack| pack.remove_name(key, name, TIME))?;
        if !self.open.contains_key(&ino) {
            self.pack.forget_inode(ino);
        }
        Ok(())
    }

    fn swap(&mut self) -> Result<()> {
        let (Some((one, a)), Some((two, b))) = (self.pick(), self.pick()) else { return Ok(()) };
        let change = |model: &mut Model| {
            model.names.insert(one, b);
            model.names.insert(two, a);
        };
        self.changes(change, |pack| pack.exchange_names(of(one), of(two), TIME))
    }
}

const TIME: Time = Time { sec: 5, nsec: 0 };

fn of((dir, name): (usize, usize)) -> (super::DirKey, &'static [u8]) {
    (DIRS[dir], NAMES[name])
}

fn path() -> Vec<u8> {
    b"where".to_vec()
}

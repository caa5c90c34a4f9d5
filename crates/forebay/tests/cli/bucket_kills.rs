//! The daemon of a volume in a bucket is killed at any moment while programs make, write, link, move
//! and remove files. If this fails, something that a program was told is done is not, or a file is
//! torn, or a name has no bytes, here or on the next machine.
//!
//! `FOREBAY_SEEDS` says how many volumes there are, or which (FROM..TO).

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Result, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::bucket::Volume;

/// Mounts of a volume that are killed, half of them on a second machine.
const LIVES: u64 = 4;
/// Programs at a time, each in a folder of its own.
const PROGRAMS: u64 = 3;
/// A program is killed with its daemon within so many milliseconds.
const LONGEST: u64 = 2500;
/// Files of a program; from there on it removes some.
const MANY: usize = 100;
const REMOVE: u64 = 8;
/// Too long for a segment: an object of its own.
const LARGE: usize = 150_000;

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
struct Lot(u64);

impl Lot {
    fn draw(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }

    fn one<'a>(&mut self, of: &[&'a String]) -> Option<&'a String> {
        (!of.is_empty()).then(|| of[self.draw(of.len() as u64) as usize])
    }
}

/// What a program sees: names, `None` for folders; and the bytes of files by a number of ours.
#[derive(Debug, Clone, Default)]
struct Tree {
    names: BTreeMap<String, Option<u64>>,
    bytes: BTreeMap<u64, Arc<Vec<u8>>>,
}

type Seen = BTreeMap<String, Option<Arc<Vec<u8>>>>;

impl Tree {
    fn seen(&self) -> Seen {
        let of = |file: &Option<u64>| file.map(|file| Arc::clone(&self.bytes[&file]));
        self.names.iter().map(|(name, file)| (name.clone(), of(file))).collect()
    }

    fn files(&self) -> Vec<&String> {
        self.names.iter().filter(|(_, file)| file.is_some()).map(|(name, _)| name).collect()
    }

    fn folders(&self) -> Vec<&String> {
        self.names.iter().filter(|(_, file)| file.is_none()).map(|(name, _)| name).collect()
    }
}

/// A program's folder as far as it was told, and what it was about when it was cut off.
#[derive(Debug, Default)]
struct Story {
    now: Tree,
    /// How it would be, and the file of which a part may be written.
    next: Option<(Tree, Option<u64>)>,
    turn: u64,
}

impl Story {
    /// Works until it can't.
    fn go_on(&mut self, root: &Path, lot: &mut Lot) {
        loop {
            self.turn += 1;
            match self.act(root, lot) {
                Ok(()) => {}
                Err(error) => {
                    let gone = [ErrorKind::NotConnected, ErrorKind::ConnectionAborted];
                    let is_gone = gone.contains(&error.kind());
                    assert!(is_gone, "{error}, while {:?}", self.next.as_ref().map(|next| next.1));
                    return;
                }
            }
            if self.turn.is_multiple_of(64)
                && let Some((Tree { names, bytes }, _)) = &mut self.next
            {
                bytes.retain(|file, _| names.values().any(|named| *named == Some(*file)));
            }
            self.now =
                self.next.take().map_or_else(|| std::mem::take(&mut self.now), |next| next.0);
        }
    }

    fn act(&mut self, root: &Path, lot: &mut Lot) -> Result<()> {
        let (now, turn) = (self.now.clone(), self.turn);
        let mut next = now.clone();
        let (files, folders) = (now.files(), now.folders());
        let fresh = |lot: &mut Lot, kind: &str| match lot.one(&folders).filter(|_| turn % 3 > 0) {
            Some(folder) => format!("{folder}/{kind}{turn}"),
            None => format!("{kind}{turn}"),
        };
        let path = |name: &str| root.join(name);
        let many = files.len() > MANY;
        match if many { REMOVE } else { lot.draw(10) } {
            0..=3 => {
                let name = fresh(lot, "f");
                let length = if lot.draw(8) == 0 { LARGE } else { 30 } + turn as usize;
                let bytes = format!("{turn} ").repeat(length).into_bytes()[..length].to_vec();
                next.names.insert(name.clone(), Some(turn));
                next.bytes.insert(turn, Arc::new(bytes.clone()));
                self.next = Some((next, Some(turn)));
                let mut file = File::create_new(path(&name))?;
                file.write_all(&bytes)?;
                if lot.draw(3) == 0 { file.sync_all() } else { Ok(()) }
            }
            4 => {
                let Some(name) = lot.one(&files) else { return Ok(()) };
                let number = now.names[name].expect("a file");
                let more = format!(" and {turn}");
                let bytes = next.bytes.get_mut(&number).expect("its bytes");
                Arc::make_mut(bytes).extend(more.as_bytes());
                self.next = Some((next, Some(number)));
                OpenOptions::new().append(true).open(path(name))?.write_all(more.as_bytes())
            }
            5 | 6 => {
                let Some(from) = lot.one(&files) else { return Ok(()) };
                let over = lot.one(&files).filter(|_| turn % 2 == 0);
                let to = over.cloned().unwrap_or_else(|| fresh(lot, "m"));
                let number = now.names[from];
                // Names of one file: nothing is moved (rename(2)).
                if now.names.get(&to).copied().flatten() != number {
                    next.names.remove(from);
                    next.names.insert(to.clone(), number);
                }
                self.next = Some((next, None));
                fs::rename(path(from), path(&to))
            }
            7 => {
                let Some(from) = lot.one(&files) else { return Ok(()) };
                let to = fresh(lot, "l");
                next.names.insert(to.clone(), now.names[from]);
                self.next = Some((next, None));
                fs::hard_link(path(from), path(&to))
            }
            REMOVE if many || lot.draw(2) == 0 => {
                let Some(name) = lot.one(&files) else { return Ok(()) };
                next.names.remove(name);
                self.next = Some((next, None));
                fs::remove_file(path(name))
            }
            REMOVE => {
                let name = format!("d{turn}");
                next.names.insert(name.clone(), None);
                self.next = Some((next, None));
                fs::create_dir(path(&name))
            }
            _ => {
                let Some(from) = lot.one(&folders) else { return Ok(()) };
                let to = format!("e{turn}");
                let below = format!("{from}/");
                let moved = |name: &String| match name.strip_prefix(&below) {
                    Some(rest) => format!("{to}/{rest}"),
                    None if name == from => to.clone(),
                    None => name.clone(),
                };
                next.names = now.names.iter().map(|(name, file)| (moved(name), *file)).collect();
                self.next = Some((next, None));
                fs::rename(path(from), path(&to))
            }
        }
    }

    /// Compares with what is there: what was told, with or without what was not answered.
    fn check(&mut self, root: &Path, when: &str) {
        let mut seen = Seen::new();
        look(root, "", &mut seen);
        let (mut tree, open) = match self.next.take() {
            Some((next, open)) if seen != self.now.seen() => (next, open),
            _ => (self.now.clone(), None),
        };
        let started =
            open.and_then(|open| self.now.bytes.get(&open)).map_or(0, |bytes| bytes.len());
        if let Some(open) = open
            && let Some((name, _)) = tree.names.iter().find(|(_, file)| **file == Some(open))
            && let Some(Some(there)) = seen.get(name)
            && there.len() >= started
            && tree.bytes[&open].starts_with(there.as_slice())
        {
            tree.bytes.insert(open, Arc::clone(there));
        }
        let told = tree.seen();
        for name in told.keys().chain(seen.keys()) {
            let short = |tree: &Seen| {
                let bytes = tree.get(name).map(|file| {
                    file.as_ref().map(|bytes| {
                        let head =
                            String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
                        (bytes.len(), head)
                    })
                });
                format!("{bytes:?}")
            };
            assert!(
                told.get(name) == seen.get(name),
                "{when}: {name} is {}, told was {}",
                short(&seen),
                short(&told)
            );
        }
        self.now = tree;
    }
}

fn look(root: &Path, below: &str, seen: &mut Seen) {
    for entry in fs::read_dir(root.join(below)).expect("a folder").map(|entry| entry.expect("one"))
    {
        let name = entry.file_name().into_string().expect("a plain name");
        let name = if below.is_empty() { name } else { format!("{below}/{name}") };
        if entry.file_type().expect("a type").is_dir() {
            seen.insert(name.clone(), None);
            look(root, &name, seen);
        } else {
            let bytes =
                fs::read(root.join(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            seen.insert(name, Some(Arc::new(bytes)));
        }
    }
}

fn history(seed: u64) {
    let Some(volume) = Volume::with_fuse() else { return };
    let at = volume.at();
    let folder = |number: u64| at.join(format!("w{number}"));
    let mut stories: Vec<Story> = (0..PROGRAMS).map(|_| Story::default()).collect();
    let mut lot = Lot(seed);
    volume.mount("one", &at);
    (0..PROGRAMS).for_each(|number| fs::create_dir(folder(number)).expect("made"));
    for life in 0..LIVES {
        let when = format!("life {life} of seed {seed} (FOREBAY_SEEDS={seed}..{})", seed + 1);
        let machine = if life < LIVES / 2 { "one" } else { "two" };
        if life == LIVES / 2 {
            volume.unmount(&at).code(0);
            volume.mount(machine, &at);
        }
        let patience = Duration::from_millis(lot.draw(LONGEST));
        let seeds: Vec<u64> = stories.iter().map(|_| lot.draw(u64::MAX)).collect();
        std::thread::scope(|scope| {
            for (number, (story, seed)) in stories.iter_mut().zip(seeds).enumerate() {
                let root = folder(number as u64);
                scope.spawn(move || story.go_on(&root, &mut Lot(seed)));
            }
            std::thread::sleep(patience);
            volume.kill_daemon(&at);
        });
        volume.unmount(&at).code(121);
        volume.mount(machine, &at);
        for (number, story) in stories.iter_mut().enumerate() {
            story.check(&folder(number as u64), &when);
        }
    }
    volume.unmount(&at).code(0);
    volume.mount("three", &at);
    for (number, story) in stories.iter_mut().enumerate() {
        story.check(&folder(number as u64), &format!("the next machine, seed {seed}"));
    }
    volume.unmount(&at).code(0);
    volume.place.nobody_left();
    let turns: u64 = stories.iter().map(|story| story.turn).sum();
    println!("seed {seed}: {turns} changes");
}

#[test]
fn a_daemon_killed_at_any_change_loses_nothing_that_was_told() {
    let text = std::env::var("FOREBAY_SEEDS").unwrap_or_else(|_| "1..3".to_owned());
    let (from, to) = match text.split_once("..") {
        Some((from, to)) => (from.parse(), to.parse()),
        None => (Ok(1), text.parse::<u64>().map(|count| count + 1)),
    };
    let seeds = from.expect("FOREBAY_SEEDS: FROM..TO, or a number")..to.expect("a number");
    seeds.for_each(history);
}

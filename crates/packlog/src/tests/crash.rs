//! Ends at any write. If these fail, a kill or a power failure loses packed files, or makes others of
//! them than there ever were.
//!
//! `FOREBAY_SEEDS` says how many histories there are, or which: a failure prints the value that
//! replays it. A history is one pack with many lives; each ends at a random write to the log, to
//! the next log while it is written anew, or to a working file, also while the pack is opened after
//! the end before. What a pack does to its working files by itself (taking, emptying, removing) is
//! not stopped midway, but lies between writes that are, so it is done or not.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use rustix::io::Errno;

use super::super::LARGEST;
use super::disk::{Killed, Last, Place};
use super::story::{Dice, Model, Moment, shown, story};
use super::{open, works_of};
use forebay_os::seeds::{replay_instruction, run_reporting_seed, seeds_from_env};

const SEEDS: Range<u64> = 1..41;
/// Lives of a pack, each with one end.
const LIVES: usize = 12;
/// An end comes after fewer writes.
const WRITES: usize = 60;
/// With so many histories, ends come everywhere.
const ENOUGH: u64 = 40;

/// Runs to its end or to a kill.
fn survive<T>(what: impl FnOnce() -> T) -> Result<T, Killed> {
    catch_unwind(AssertUnwindSafe(what)).map_err(|cause| match cause.downcast::<Killed>() {
        Ok(killed) => *killed,
        Err(other) => resume_unwind(other),
    })
}

/// What may be found; the bytes of a file are those of one or the other.
struct May(Model, Model);

impl May {
    fn exactly(model: &Model) -> May {
        May(model.clone(), model.clone())
    }

    fn be(&self, found: &Model) -> bool {
        let known = |(ino, file): (&u64, _)| {
            [&self.0, &self.1].iter().any(|model| model.files.get(ino) == Some(file))
        };
        self.0.names == found.names
            && self.0.files.len() == found.files.len()
            && found.files.iter().all(known)
    }
}

/// One pack from end to end.
struct History<'t> {
    seed: u64,
    place: Place,
    dice: Dice,
    /// What may be found after a kill.
    killed: Vec<May>,
    /// What may be found after a power failure.
    failed: Vec<May>,
    /// The power failed since the pack was last open.
    is_dark: bool,
    /// This life of the machine.
    boot: u8,
    tally: &'t mut BTreeMap<&'static str, u64>,
}

impl History<'_> {
    fn run(&mut self, works: &Path, cuts_power: bool) {
        for life in 0..LIVES {
            let last = [Last::Nothing, Last::Half, Last::All][self.dice.below(3)];
            self.place.doom.after(self.dice.below(WRITES), last);
            let opened = self.life(works, life, cuts_power);
            let on = if opened { self.place.doom.fell_on() } else { "opening" };
            *self.tally.entry(on).or_default() += 1;
            if cuts_power && self.dice.below(3) > 0 {
                if !opened && !self.is_dark {
                    // What opening did after the kill, for some files, may be left of it.
                    self.failed.append(&mut self.killed);
                }
                self.place.fail(works, &mut self.dice);
                self.is_dark = true;
                self.boot = self.boot.wrapping_add(1);
            }
        }
        self.place.doom.never();
        self.check(&open(&self.place, works, self.boot).expect("opened"), LIVES);
    }

    /// Opens the pack and works with it until the end; tells whether it came to be open.
    fn life(&mut self, works: &Path, life: usize, cuts_power: bool) -> bool {
        let told = || format!("{}, life {life}", replay_instruction(self.seed));
        let opened = survive(|| open(&self.place, works, self.boot));
        let Ok(opened) = opened else { return false };
        let pack = opened.unwrap_or_else(|damage| panic!("{}: {damage:?}", told()));
        self.check(&pack, life);
        let mut story = story(&pack, self.dice.seed());
        story.doom = self.place.doom.clone();
        if cuts_power {
            // Larger files are written in place and have the guarantees of plain ones.
            story.most = LARGEST as usize;
        }
        let end: Result<Result<(), Errno>, Killed> = survive(|| {
            loop {
                story.step()?;
                match story.dice.below(24) {
                    0 | 1 => story.rewrite()?,
                    2 | 3 => story.sync()?,
                    _ => {}
                }
            }
        });
        if let Ok(Err(error)) = end {
            panic!("{}: {error}", replay_instruction(self.seed));
        }
        let moments = [Some(&story.is), story.next.as_ref()].into_iter().flatten();
        let killed = |moment: &Moment| May(moment.now.clone(), moment.logged.clone());
        self.failed = story
            .past
            .iter()
            .chain(moments.clone().map(|moment| &moment.logged))
            .map(May::exactly)
            .collect();
        self.killed = moments.map(killed).collect();
        true
    }

    /// What is there is what may be there.
    fn check(&mut self, pack: &super::Pack, life: usize) {
        let found = shown(pack);
        let right = match self.is_dark {
            true => self.failed.iter().any(|may| may.be(&found)),
            false => self.killed.iter().any(|may| may.0 == found),
        };
        let after = if self.is_dark { "a power failure" } else { "a kill" };
        assert!(
            right,
            "{}, life {life}, after {after} while writing the {}: {} names, {} files",
            replay_instruction(self.seed),
            self.place.doom.fell_on(),
            found.names.len(),
            found.files.len()
        );
        self.is_dark = false;
        (self.killed, self.failed) = (vec![May::exactly(&found)], vec![May::exactly(&found)]);
    }
}

#[allow(clippy::disallowed_macros)] // The long ring shows how many there were.
fn histories(cuts_power: bool) {
    let (seeds, mut tally) = (seeds_from_env(SEEDS), BTreeMap::new());
    for seed in seeds.clone() {
        let works = tempfile::tempdir().expect("a directory");
        let nothing = || vec![May::exactly(&Model::default())];
        let mut history = History {
            seed,
            place: Place::doomed(),
            dice: Dice::from(seed),
            killed: nothing(),
            failed: nothing(),
            is_dark: false,
            boot: 1,
            tally: &mut tally,
        };
        run_reporting_seed(seed, || history.run(works.path(), cuts_power));
    }
    let how = if cuts_power { "power failures and kills" } else { "kills" };
    println!("{}: {how} at {} writes: {tally:?}", replay_all(&seeds), tally.values().sum::<u64>());
    let everywhere = ["opening", "log", "new log", "working file"];
    let missed = everywhere.iter().find(|on| !tally.contains_key(**on));
    assert!(seeds.end - seeds.start < ENOUGH || missed.is_none(), "no end at {missed:?}");
}

fn replay_all(seeds: &Range<u64>) -> String {
    format!("seeds {}..{}", seeds.start, seeds.end)
}

/// The process is killed at any write: nothing is lost, open files included; what was not answered
/// is done or not done.
#[test]
fn a_kill_loses_nothing() {
    histories(false);
}

/// The power fails at any write, at times right after a kill: what is there was there at some
/// moment, no earlier than the last sync.
#[test]
fn a_power_failure_leaves_a_past_moment() {
    histories(true);
}

/// The power goes at every byte of the log: what is there then is what was there at some moment,
/// no earlier than the last sync.
#[test]
fn a_power_failure_leaves_a_prefix() {
    for seed in seeds_from_env(SEEDS) {
        let works = tempfile::tempdir().expect("a directory");
        let place = Place::default();
        let pack = open(&place, works.path(), 1).expect("opened");
        let mut story = story(&pack, Dice::from(seed).seed());
        // Larger files are written in place and have the guarantees of plain ones.
        story.most = LARGEST as usize;
        let mut history = vec![(0, story.is.logged.clone())];
        for _ in 0..30 {
            story.step().expect("room enough");
            history.push((place.image().bytes.len(), story.is.logged.clone()));
            if story.dice.below(10) == 0 {
                pack.sync().expect("synced");
            }
        }
        let image = place.image();
        let at =
            |length: usize| history.iter().rfind(|(end, _)| *end <= length).map(|(_, model)| model);
        let mut lengths: Vec<usize> = history.iter().map(|(end, _)| *end).collect();
        lengths.extend((0..60).map(|_| story.dice.below(image.bytes.len() + 1)));
        for length in lengths.into_iter().filter(|length| *length >= image.safe.len()) {
            let (cut, copy) = (&image.bytes[..length], works_of(works.path()));
            let later = open(&Place::with(cut), copy.path(), 2).expect("opened");
            assert_eq!(
                Some(&shown(&later)),
                at(length),
                "{}, cut at {length}",
                replay_instruction(seed)
            );
        }
        // Pages need not reach the disk in their order.
        for _ in 0..30 {
            let mut bytes = image.bytes.clone();
            let hole = image.safe.len() + story.dice.below(bytes.len() - image.safe.len() + 1);
            let end = (hole + 1 + story.dice.below(4096)).min(bytes.len());
            bytes[hole..end].fill(0);
            let copy = works_of(works.path());
            let later = shown(&open(&Place::with(&bytes), copy.path(), 2).expect("opened"));
            let since = history.iter().position(|(end, _)| *end >= image.safe.len()).unwrap_or(0);
            // A hole of zeros where zeros were is none.
            assert!(
                history[since.saturating_sub(1)..].iter().any(|(_, model)| *model == later),
                "{}, hole {hole}..{end}",
                replay_instruction(seed)
            );
        }
    }
}

/// A full disk refuses one operation and harms nothing before or after it.
#[test]
fn a_full_disk_harms_nothing() {
    for seed in seeds_from_env(SEEDS) {
        let works = tempfile::tempdir().expect("a directory");
        let place = Place::default();
        let pack = open(&place, works.path(), 1).expect("opened");
        let mut story = story(&pack, Dice::from(seed).seed());
        for step in 0..40 {
            let full = story.dice.below(4) == 0;
            place.set_full(full);
            match story.step() {
                Ok(()) => {}
                Err(Errno::NOSPC) if full => {}
                Err(other) => panic!("{}, step {step}: {other}", replay_instruction(seed)),
            }
            place.set_full(false);
        }
        let expected = story.is.now.clone();
        drop(pack);
        let later = open(&place, works.path(), 1).expect("opened");
        assert_eq!(shown(&later), expected, "{}", replay_instruction(seed));
    }
}

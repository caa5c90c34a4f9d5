//! Random histories of three nodes, one request after the other: each answer has to be that of one
//! file system of one machine. A failure prints what replays it
//! (`FOREBAY_SEEDS`).

use std::collections::BTreeMap;

use forebay_os::seeds::{run_reporting_seed, seeds_from_env};
use rustix::io::Errno;

use super::worlds::{Node, World};
use crate::IN_MEMORY_MOST;

const STEPS: usize = 600;
const SEEDS: u64 = 12;

/// xorshift64: the same on all machines.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// What a path leads to; `None`: a folder.
#[derive(Default)]
struct Model(BTreeMap<String, Option<Vec<u8>>>);

type Told = Result<String, Errno>;

impl Model {
    fn names(&self, folder: &str) -> Vec<String> {
        let below = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let rest = self.0.keys().filter_map(|path| path.strip_prefix(&below));
        rest.filter(|rest| !rest.contains('/')).map(str::to_owned).collect()
    }

    fn check_parent(&self, path: &str) -> Result<(), Errno> {
        let mut at = String::new();
        let mut parts: Vec<&str> = path.split('/').collect();
        parts.pop();
        for part in parts {
            at = if at.is_empty() { part.to_owned() } else { format!("{at}/{part}") };
            match self.0.get(&at) {
                None => return Err(Errno::NOENT),
                Some(Some(_)) => return Err(Errno::NOTDIR),
                Some(None) => {}
            }
        }
        Ok(())
    }

    fn mkdir(&mut self, path: &str) -> Told {
        self.check_parent(path)?;
        if self.0.contains_key(path) {
            return Err(Errno::EXIST);
        }
        self.0.insert(path.to_owned(), None);
        Ok(String::new())
    }

    fn put(&mut self, path: &str, bytes: &[u8], appends: bool) -> Told {
        self.check_parent(path)?;
        let found = self.0.get_mut(path);
        match (found, appends) {
            (Some(None), _) => return Err(Errno::ISDIR),
            (None, true) => return Err(Errno::NOENT),
            (Some(Some(body)), true) => body.extend(bytes),
            (Some(Some(body)), false) => *body = bytes.to_vec(),
            (None, false) => drop(self.0.insert(path.to_owned(), Some(bytes.to_vec()))),
        }
        Ok(String::new())
    }

    fn read(&self, path: &str) -> Told {
        self.check_parent(path)?;
        match self.0.get(path).ok_or(Errno::NOENT)? {
            Some(body) => Ok(digest(body)),
            None => Err(Errno::ISDIR),
        }
    }

    fn list(&self, path: &str) -> Told {
        self.check_parent(path)?;
        match self.0.get(path) {
            _ if path.is_empty() => Ok(self.names(path).join(" ")),
            None => Err(Errno::NOENT),
            Some(Some(_)) => Err(Errno::NOTDIR),
            Some(None) => Ok(self.names(path).join(" ")),
        }
    }

    fn remove(&mut self, path: &str, is_folder: bool) -> Told {
        self.check_parent(path)?;
        match (self.0.get(path).ok_or(Errno::NOENT)?, is_folder) {
            (None, false) => return Err(Errno::ISDIR),
            (Some(_), true) => return Err(Errno::NOTDIR),
            (None, true) if !self.names(path).is_empty() => return Err(Errno::NOTEMPTY),
            _ => {}
        }
        self.0.remove(path);
        Ok(String::new())
    }

    fn rename(&mut self, old: &str, new: &str) -> Told {
        self.check_parent(old)?;
        self.check_parent(new)?;
        let moved = self.0.get(old).ok_or(Errno::NOENT)?.is_none();
        if old == new {
            return Ok(String::new());
        }
        match self.0.get(new).map(Option::is_none) {
            Some(false) if moved => return Err(Errno::NOTDIR),
            Some(true) if !moved => return Err(Errno::ISDIR),
            Some(true) if !self.names(new).is_empty() => return Err(Errno::NOTEMPTY),
            _ => {}
        }
        let below = format!("{old}/");
        let paths: Vec<String> =
            self.0.keys().filter(|path| path.starts_with(&below)).cloned().collect();
        for path in paths {
            let entry = self.0.remove(&path).expect("it is there");
            self.0.insert(format!("{new}/{}", &path[below.len()..]), entry);
        }
        let entry = self.0.remove(old).expect("it is there");
        self.0.insert(new.to_owned(), entry);
        Ok(String::new())
    }
}

fn digest(body: &[u8]) -> String {
    let sum =
        body.iter().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    format!("{} {sum:x}", body.len())
}

const PATHS: &[&str] =
    &["a", "b", "f", "a/f", "a/g", "b/f", "a/c", "a/c/f", "b/d", "b/d/f", "b/d/g"];

fn step(nodes: &[Node; 3], model: &mut Model, dice: &mut Dice) -> (String, Told, Told) {
    let at = dice.below(3) as usize;
    let node = &nodes[at];
    let path = PATHS[dice.below(PATHS.len() as u64) as usize];
    let other = PATHS[dice.below(PATHS.len() as u64) as usize];
    let length = match dice.below(8) {
        0 => IN_MEMORY_MOST + dice.below(5000) as usize,
        _ => dice.below(200) as usize,
    };
    let body: Vec<u8> = (0..length).map(|_| dice.below(256) as u8).collect();
    let done = |()| String::new();
    match dice.below(9) {
        0 => (
            format!("{at} mkdir {path}"),
            node.mkdir(path).map(|_| String::new()),
            model.mkdir(path),
        ),
        1 | 2 => (
            format!("{at} put {path}"),
            node.put(path, &body).map(done),
            model.put(path, &body, false),
        ),
        3 => (
            format!("{at} append {path}"),
            node.append(path, &body).map(done),
            model.put(path, &body, true),
        ),
        4 | 5 => {
            let read = node.read(path).map(|body| digest(&body));
            (format!("{at} read {path}"), read, model.read(path))
        }
        6 => {
            let path = if dice.below(4) == 0 { "" } else { path };
            (
                format!("{at} list {path}"),
                node.list(path).map(|names| names.join(" ")),
                model.list(path),
            )
        }
        7 => {
            // A folder below itself is the kernel's to refuse.
            let (old, new) =
                if other.starts_with(&format!("{path}/")) { (other, other) } else { (path, other) };
            (
                format!("{at} rename {old} {new}"),
                node.rename(old, new).map(done),
                model.rename(old, new),
            )
        }
        _ => {
            let is_folder = dice.below(2) == 0;
            let removed = if is_folder { node.rmdir(path) } else { node.unlink(path) };
            (format!("{at} remove {path}"), removed.map(done), model.remove(path, is_folder))
        }
    }
}

fn play(seed: u64) -> Vec<String> {
    let world = World::new();
    let mut nodes = [world.node(1), world.node(2), world.node(3)];
    let (mut model, mut dice) = (Model::default(), Dice(seed));
    let mut history = Vec::new();
    for number in 0..STEPS {
        for node in &nodes {
            node.0.renew().expect("renewed");
        }
        match dice.below(40) {
            0 => {
                let at = dice.below(3) as usize;
                nodes[at].0.publish().expect("published");
                history.push(format!("{at} publishes"));
            }
            1 => {
                world.pass(4);
                history.push("4 s pass".to_owned());
            }
            2 => {
                // One leaves, and comes back as a new process does.
                let at = dice.below(3) as usize;
                nodes[at].0.leave().expect("it leaves");
                nodes[at] = world.node(at as u8 + 1);
                history.push(format!("{at} leaves and comes back"));
            }
            _ => {}
        }
        let (what, told, wanted) = step(&nodes, &mut model, &mut dice);
        history.push(format!("{what}: {told:?}"));
        let last = history.len().saturating_sub(25);
        let lost: Vec<u64> = nodes.iter().map(|node| node.0.counts().lost).collect();
        assert_eq!(lost, [0, 0, 0], "seed {seed}, step {number}: nobody was away");
        assert_eq!(
            told,
            wanted,
            "seed {seed}, step {number}; the last ones:\n{}",
            history[last..].join("\n")
        );
    }
    history
}

#[test]
fn three_nodes_in_turn_are_one_file_system() {
    for seed in seeds_from_env(1..SEEDS + 1) {
        run_reporting_seed(seed, || drop(play(seed)));
    }
}

#[test]
fn a_seed_gives_one_history() {
    assert_eq!(play(4711), play(4711));
    // Kinds of answers that a history without any would not test.
    let all = play(4711).join("\n");
    for kind in ["Ok", "NotFound", "AlreadyExists", "NotEmpty", "IsADirectory", "NotADirectory"] {
        assert!(all.contains(kind), "{kind}");
    }
}

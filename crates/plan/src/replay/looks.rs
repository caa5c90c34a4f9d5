//! Operations on names and attributes, as often as they were counted: before the opens of the same
//! task on the same class of files, or, where it opened none, evenly over its time.

use super::Act;
use super::acts::{Placed, Where};
use super::names::{above, join, plain, split};
use super::told::{Owner, Told};
use forebay_model::classes::class_of;
use forebay_model::{ClassId, Op};
use std::collections::{BTreeMap, BTreeSet};

/// Operations that come about by what the others ask for.
const BY_THEMSELVES: [Op; 11] = [
    Op::Create,
    Op::Open,
    Op::Read,
    Op::Write,
    Op::CopyRange,
    Op::Flush,
    Op::Close,
    Op::Truncate,
    Op::Readdir,
    Op::Unlink,
    Op::Rename,
];

/// What there is to look at.
struct Sights<'a> {
    told: &'a Told<'a>,
    /// Opens by owner and class of file, and all that write by owner.
    opens: BTreeMap<(Owner, ClassId), Vec<usize>>,
    writes: BTreeMap<Owner, Vec<usize>>,
    /// Files by class, with the times from which and until which they are there; folders by class.
    files: BTreeMap<ClassId, Vec<(f64, f64, usize)>>,
    folders: BTreeMap<String, Vec<Vec<u8>>>,
}

pub(super) fn add(told: &Told<'_>, acts: &mut Vec<Placed>, notes: &mut Vec<String>) {
    let sights = Sights::of(told);
    let mut folders = super::folders::Folders::of(told, &sights.folders);
    let mut left: BTreeMap<Op, u64> = BTreeMap::new();
    for (&(owner, class), ops) in &told.ops {
        let count = |op: Op| ops.get(&op).copied().unwrap_or(0);
        // Who makes a name looks for it first.
        let makes = [Op::Create, Op::Rename, Op::Mkdir, Op::Symlink, Op::Link, Op::Mknod];
        let made: u64 = makes.map(count).iter().sum();
        for (&op, &count) in ops {
            let done = match op {
                _ if BY_THEMSELVES.contains(&op) => count,
                Op::LookupFailed => {
                    let folder = sights.folder_of(class);
                    let act = || Act::LookInVain(folder.clone());
                    sights.over(owner, count.saturating_sub(made), acts, act);
                    count
                }
                Op::Mkdir => folders.make(owner, class, count, acts),
                // When all that are made are known.
                Op::Rmdir => continue,
                Op::Opendir => {
                    let folder = sights.folder(class);
                    sights.over(owner, count, acts, || Act::List(folder.clone()));
                    count
                }
                Op::Getattr => {
                    let asked = count.saturating_sub(sights.changes_in(owner, class));
                    sights.at(owner, class, op, asked, acts);
                    count
                }
                _ => sights.at(owner, class, op, count, acts),
            };
            *left.entry(op).or_default() += count - done.min(count);
        }
    }
    for (&(owner, class), ops) in &told.ops {
        let count = ops.get(&Op::Rmdir).copied().unwrap_or(0);
        let done = folders.remove(owner, class, count, acts);
        *left.entry(Op::Rmdir).or_default() += count - done;
    }
    *left.entry(Op::Rename).or_default() += told.unrenamed;
    left.retain(|_, count| *count > 0);
    let mut names: Vec<String> =
        left.iter().map(|(op, count)| format!("{count} × {}", op.name())).collect();
    if told.strange > 0 {
        names.push(format!("{} of kinds that a newer Forebay counts", told.strange));
    }
    if !names.is_empty() {
        notes.push(format!("not replayed: {}", names.join(", ")));
    }
}

impl<'a> Sights<'a> {
    fn of(told: &'a Told<'a>) -> Self {
        let mut sights = Self {
            told,
            opens: BTreeMap::new(),
            writes: BTreeMap::new(),
            files: BTreeMap::new(),
            folders: BTreeMap::new(),
        };
        let mut seen = vec![false; told.names.len()];
        for (session, open) in told.opens.iter().enumerate() {
            let Some(file) = told.file(open) else { continue };
            if !std::mem::replace(&mut seen[file], true) {
                let from = if open.open.created { told.closed(open) } else { 0.0 };
                let gone = told.rows.gone.get(&open.open.file);
                let until = gone.map_or(f64::INFINITY, |at| at.as_secs());
                sights.files.entry(told.class(file)).or_default().push((from, until, file));
            }
            let owner = told.owner(open);
            sights.opens.entry((owner, told.class(file))).or_default().push(session);
            if open.open.write {
                sights.writes.entry(owner).or_default().push(session);
            }
        }
        sights.files.values_mut().for_each(|files| files.sort_by(|a, b| a.0.total_cmp(&b.0)));
        let mut folders: BTreeSet<(String, Vec<u8>)> = BTreeSet::new();
        for (file, name) in told.names.iter().enumerate() {
            // Classes are of paths in their own tree.
            let own = plain(&told.rows.files[file].path);
            let prefix = &name.path[..name.path.len() - own.len()];
            for folder in above(&own) {
                folders.insert((class_of(folder), [prefix, folder].concat()));
            }
        }
        for (class, folder) in folders {
            sights.folders.entry(class).or_default().push(folder);
        }
        sights
    }

    fn pattern(&self, class: ClassId) -> &str {
        self.told.rows.classes.get(&class.0).map_or("", String::as_str)
    }

    /// A folder of this class; the directory itself if there is none.
    fn folder(&self, class: ClassId) -> Vec<u8> {
        self.folders.get(self.pattern(class)).map_or_else(|| b".".to_vec(), |all| all[0].clone())
    }

    /// A folder for names of this class.
    fn folder_of(&self, class: ClassId) -> Vec<u8> {
        let (parent, _) = split(self.pattern(class).as_bytes());
        let parent = String::from_utf8_lossy(parent);
        self.folders.get(&*parent).map_or_else(|| b".".to_vec(), |all| all[0].clone())
    }

    /// How many names were made and removed in folders of this class: before the next, the kernel
    /// asks for the folder's attributes by itself.
    fn changes_in(&self, owner: Owner, class: ClassId) -> u64 {
        let folder = self.pattern(class);
        let of_owner = (owner, ClassId(0))..=(owner, ClassId(u32::MAX));
        let inside = self.told.ops.range(of_owner).filter(|((_, class), _)| {
            let (parent, name) = split(self.pattern(*class).as_bytes());
            parent == folder.as_bytes() && !name.is_empty()
        });
        let changes = [Op::Create, Op::Unlink, Op::Rename, Op::Mkdir, Op::Rmdir];
        let count =
            |ops: &BTreeMap<Op, u64>| changes.iter().filter_map(|op| ops.get(op)).sum::<u64>();
        inside.map(|(_, ops)| count(ops)).sum()
    }

    /// So many of one act, evenly over the owner's time.
    fn over(&self, owner: Owner, count: u64, acts: &mut Vec<Placed>, act: impl Fn() -> Act) {
        for number in 0..count {
            acts.push(Placed::new(self.moment(owner, number, count), Where::of(owner), act()));
        }
    }

    fn moment(&self, owner: Owner, number: u64, count: u64) -> f64 {
        let (start, end) = self.told.span(owner);
        start + (end - start) * (number as f64 + 0.5) / count as f64
    }

    /// So many of one kind, on files of one class, and how many of them there was a way for.
    fn at(&self, owner: Owner, class: ClassId, op: Op, count: u64, acts: &mut Vec<Placed>) -> u64 {
        let own = self.opens.get(&(owner, class));
        // What was renamed since has another class now.
        let sessions = own.or_else(|| self.writes.get(&owner).filter(|_| op == Op::Fsync));
        for number in 0..count {
            let nth = |len: usize| (number as usize * len / count as usize).min(len - 1);
            let placed = match (op, sessions) {
                (Op::Lookup | Op::Getattr | Op::Access | Op::Setattr | Op::Fsync, Some(all)) => {
                    self.on_session(all[nth(all.len())], op)
                }
                (Op::Lookup | Op::Getattr | Op::Access | Op::Setattr, None) => {
                    let at = self.moment(owner, number, count);
                    let file = self.there(class, at, number);
                    let name = file.map(|file| &self.told.names[file]);
                    let path = name.map_or_else(|| self.folder(class), |name| name.at(at).to_vec());
                    let act = match op {
                        Op::Lookup => Act::Look(path),
                        Op::Getattr => Act::AttributesOf(path),
                        Op::Setattr => Act::TouchOf(path),
                        _ => Act::Access(path),
                    };
                    let placed = Placed::new(at, Where::of(owner), act);
                    name.map_or(placed.clone(), |name| placed.on(name.number, false))
                }
                _ => return 0,
            };
            acts.push(placed);
        }
        count
    }

    /// A file of this class that is there at this moment: one of those that were made last.
    fn there(&self, class: ClassId, at: f64, number: u64) -> Option<usize> {
        const LAST: usize = 16;
        let files = self.files.get(&class)?;
        let made = &files[..files.partition_point(|(from, ..)| *from <= at)];
        let last = &made[made.len().saturating_sub(LAST)..];
        let there: Vec<usize> =
            last.iter().filter(|(_, until, _)| at < *until).map(|(.., file)| *file).collect();
        there.get(number as usize % there.len().max(1)).copied()
    }

    fn on_session(&self, session: usize, op: Op) -> Placed {
        let told = self.told;
        let open = &told.opens[session];
        let file = told.file(open).expect("only such were listed");
        let owner = told.owner(open);
        let lane = owner.map_or(Where::Driver, |turn| Where::Process(turn, open.open.process));
        let (at, end) = (open.open.opened.as_secs(), told.closed(open));
        let path = || told.names[file].at(at).to_vec();
        let (at, act) = match op {
            Op::Lookup => (at, Act::Look(path())),
            Op::Access => (at, Act::Access(path())),
            Op::Getattr => (at, Act::Attributes(session)),
            Op::Setattr => (end, Act::Touch(session)),
            _ => (end, Act::Sync(session)),
        };
        let placed = Placed { since: open.open.opened.as_secs(), ..Placed::new(at, lane, act) };
        // A name must be there to be looked up.
        if matches!(op, Op::Lookup | Op::Access) {
            return placed.on(told.names[file].number, false);
        }
        placed
    }
}

/// A name that no file of a run has.
pub(super) fn spare(folder: &[u8], number: usize) -> Vec<u8> {
    join(folder, format!("forebay-spare-{number}").as_bytes())
}

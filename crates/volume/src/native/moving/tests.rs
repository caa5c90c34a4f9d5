//! If these fail, a file that moves while the run goes on is lost, half there, or another file to
//! whoever uses it.

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use forebay_model::{Rules, Site};
use rustix::fs::{CWD, Statx};
use tempfile::TempDir;

use super::super::moves::SETTLE_NANOS;
use super::super::placed::boot_nanos;
use super::super::{Change, Permissions, ROOT, Settings};
use super::*;
use crate::tiers::{Homecoming, Progress, Purpose, Wanted, Which, bring_home};

const RULES: &str = "
    [[rule]]\nmatch = '*.bam'\nhome = 'far'\ndrain = 'closed'
    [[rule]]\nmatch = '*.sam'\nhome = 'far'
    [[rule]]\nmatch = '*.near'\nhome = 'near'
    [[rule]]\nmatch = '*.tmp'\nhome = 'far'\nafter = 'discard'\nfsync = 'scratch'\n";
const WRITE: u32 = (libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u32;
const EVER: u64 = u64::MAX - SETTLE_NANOS;

/// A covered directory with two tiers, and no kernel.
pub(crate) struct Ground {
    pub(crate) native: Native,
    tiers: Arc<Tiers>,
    _dirs: [TempDir; 2],
    pub(crate) home: PathBuf,
    far: PathBuf,
    near: PathBuf,
}

impl Ground {
    pub(crate) fn new(more: &str) -> Ground {
        let dir = tempfile::tempdir().expect("a directory");
        // Memory: never the file system of the other.
        let far = tempfile::tempdir_in("/dev/shm").expect("/dev/shm is there");
        let top = dir.path().canonicalize().expect("it is there");
        let (home, near) = (top.join("home"), top.join("near"));
        fs::create_dir(&home).and_then(|()| fs::create_dir(&near)).expect("made");
        let site = format!(
            "[tier.far]\npath = '{}'\nreach = 'node'\n{more}\n[tier.near]\npath = '{}'\nreach = 'node'\n",
            far.path().display(),
            near.display()
        );
        let site = Site::parse(&site, "site", &|_| None).expect("right");
        let rules = Rules::parse(RULES, "rules", &site).expect("right");
        let wanted = Wanted { site, rules };
        let tiers = Tiers::open(&home, Purpose::Place(&wanted)).expect("opens").expect("is there");
        let tiers = tiers.start();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, &home, flags, Mode::empty()).expect("a fresh directory");
        let native = Native::new(root, Settings::default(), Box::new(|_| Arc::from([])));
        let native = native.expect("statx works").with_tiers(Some(Arc::clone(&tiers)));
        let far_path = far.path().to_owned();
        Ground { native, tiers, _dirs: [dir, far], home, far: far_path, near }
    }

    fn write(&self, name: &str, text: &str) -> u64 {
        let permissions = Permissions { mode: 0o640, umask: 0o022 };
        let name = CString::new(name).expect("no NUL");
        let (made, node) = self.native.create(ROOT, &name, WRITE, permissions).expect("made");
        let handle = self.native.handle(made.opened.fh).expect("open");
        self.native.write(&handle, text.as_bytes(), 0).expect("written");
        drop(handle);
        self.native.release(made.opened.fh);
        node.id
    }

    fn look(&self, name: &str) -> (u64, u64) {
        let name = CString::new(name).expect("no NUL");
        let (entry, _) = self.native.lookup(ROOT, &name).expect("there");
        (entry.node, entry.stat.stx_ino)
    }

    fn rename(&self, from: &str, to: &str) {
        let [from, to] = [from, to].map(|name| CString::new(name).expect("no NUL"));
        self.native.rename(ROOT, &from, ROOT, &to, 0).expect("renamed");
    }

    fn read(&self, id: u64) -> String {
        let (opened, _) = self.native.open(id, 0).expect("opens");
        let mut text = [0; 64];
        let handle = self.native.handle(opened.fh).expect("open");
        let size = self.native.read(&handle, &mut text, 0, false).expect("read");
        drop(handle);
        self.native.release(opened.fh);
        String::from_utf8_lossy(&text[..size]).into_owned()
    }

    fn is_link(&self, name: &str) -> bool {
        fs::symlink_metadata(self.home.join(name)).expect("there").is_symlink()
    }

    fn bodies(&self) -> Vec<String> {
        fn below(dir: &Path, all: &mut Vec<String>) {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                match entry.file_type().expect("a type").is_dir() {
                    true => below(&entry.path(), all),
                    false => all.push(entry.file_name().to_string_lossy().into_owned()),
                }
            }
        }
        let mut all = Vec::new();
        [&self.far, &self.near].into_iter().for_each(|tier| below(tier, &mut all));
        below(&self.home.join(".forebay/moving"), &mut all);
        all
    }

    fn begin(&self, id: u64) -> (Box<Moving>, Carried) {
        let begun = self.native.begin_move(id).expect("no failure");
        let Begun::Yes(moving) = begun else { panic!("it does not move: {begun:?}") };
        let passage = self.native.passage().expect("there");
        let carried = Native::carry(&self.tiers, passage, &moving, &|| false).expect("carried");
        (moving, carried)
    }

    fn land(&self, (moving, carried): &(Box<Moving>, Carried)) -> Result<Moved> {
        self.native.land(self.native.passage().expect("there"), moving, carried)
    }

    pub(crate) fn go_home(&self) -> Homecoming {
        self.native.end_moves();
        let clock = crate::clock::ManualClock::default();
        let progress = Progress::new(&clock, &|_| ());
        let done = bring_home(&self.home, &self.tiers, Which::Ruled { succeeded: true }, &progress);
        assert!(done.left.is_empty() && done.nameless.is_empty(), "{done:?}");
        assert_eq!(self.bodies(), Vec::<String>::new());
        done
    }
}

#[test]
fn a_file_comes_home_when_it_has_settled_and_stays_itself() {
    let ground = Ground::new("");
    let id = ground.write("a.bam", "reads");
    let set = Change {
        mode: Some(0o604),
        mtime: Some(super::super::When::At(7, 9)),
        ..Change::default()
    };
    ground.native.setattr(id, set).expect("changed");
    let (node, number) = ground.look("a.bam");
    let before = ground.native.getattr(node, None).expect("there").0;
    let closed = boot_nanos();
    ground.native.move_due(closed);
    assert!(ground.is_link("a.bam"), "it has not settled");
    ground.native.move_due(closed + 2 * SETTLE_NANOS);
    let meta = fs::symlink_metadata(ground.home.join("a.bam")).expect("there");
    assert!(meta.is_file());
    assert_eq!((meta.mode() & 0o7777, meta.mtime(), meta.mtime_nsec()), (0o604, 7, 9));
    assert_eq!(ground.bodies(), Vec::<String>::new());
    assert_ne!(meta.ino(), number);
    assert_eq!(ground.look("a.bam"), (node, number), "it is the file that it was");
    let after = ground.native.getattr(node, None).expect("there").0;
    let times =
        |stat: &Statx| [&stat.stx_ctime, &stat.stx_btime].map(|time| (time.tv_sec, time.tv_nsec));
    assert_eq!((after.stx_ino, times(&after)), (number, times(&before)));
    ground.native.setattr(node, set).expect("changed");
    let changed = ground.native.getattr(node, None).expect("there").0;
    assert!(times(&changed)[0] > times(&before)[0], "it was changed since");
    assert_eq!(ground.native.table.shown_number(meta.dev(), meta.ino()), number);
    assert_eq!(ground.read(node), "reads");
    // No other file gets the number while this one is known.
    for count in 0..64 {
        ground.write(&format!("x{count}"), "");
        assert_ne!(ground.look(&format!("x{count}")).1, number);
    }
    // The kernel forgets it: four times it was looked up or made.
    ground.native.forget(node, 3);
    assert_eq!(ground.look("a.bam").1, meta.ino());
    assert_eq!(ground.go_home().brought, (1, 5));
}

#[test]
fn whoever_uses_or_changes_a_file_ends_its_move() {
    type Step = (&'static str, fn(&Ground, u64), &'static str);
    let steps: [Step; 8] = [
        (
            "write",
            |g, id| {
                let (opened, _) = g.native.open(id, libc::O_WRONLY as u32).expect("opens at once");
                let handle = g.native.handle(opened.fh).expect("open");
                g.native.write(&handle, b"W", 0).expect("written");
                drop(handle);
                g.native.release(opened.fh);
            },
            "Words",
        ),
        (
            "truncate",
            |g, id| {
                let change = Change { size: Some(2), ..Change::default() };
                g.native.setattr(id, change).expect("cut");
            },
            "wo",
        ),
        (
            "chmod",
            |g, id| {
                let change = Change { mode: Some(0o600), ..Change::default() };
                g.native.setattr(id, change).expect("changed");
            },
            "words",
        ),
        (
            "xattr",
            |g, id| {
                let _ = g.native.setxattr(id, c"user.x", b"1", 0);
            },
            "words",
        ),
        (
            "link",
            |g, id| {
                g.native.link(id, ROOT, c"twin").expect("linked");
            },
            "words",
        ),
        ("rename", |g, _| g.rename("a.bam", "b.bam"), "words"),
        (
            "outside, through the link",
            |g, _| {
                let body = fs::read_link(g.home.join("a.bam")).expect("a link");
                // Whoever opens it waits until the move is given up.
                std::thread::scope(|scope| {
                    let write = scope.spawn(|| {
                        let mut file =
                            fs::OpenOptions::new().append(true).open(body).expect("opens");
                        std::io::Write::write_all(&mut file, b"!").expect("written");
                    });
                    let moving = g.native.node(g.look("a.bam").0).expect("known");
                    while !write.is_finished() {
                        // As who copies does after each step.
                        if let Some(ticket) = moving.open.lock().moving.clone() {
                            let _ = ticket.is_good();
                        }
                        std::thread::yield_now();
                    }
                });
            },
            "words!",
        ),
        (
            "outside, the mode",
            |g, _| {
                let mode = fs::Permissions::from_mode(0o600);
                fs::set_permissions(g.home.join("a.bam"), mode).expect("changed");
            },
            "words",
        ),
    ];
    for (what, step, text) in steps {
        let ground = Ground::new("");
        let id = ground.write("a.bam", "words");
        let number = ground.look("a.bam").1;
        let way = ground.begin(id);
        step(&ground, id);
        assert_eq!(ground.land(&way).err(), Some(Errno::CANCELED), "{what}");
        ground.native.end_move(&way.0);
        drop(way);
        assert_eq!(ground.bodies().len(), 1, "{what}: {:?}", ground.bodies());
        assert_eq!(ground.read(id), text, "{what}");
        assert_eq!(ground.native.getattr(id, None).expect("there").0.stx_ino, number);
        if what != "link" {
            let again = ground.begin(id);
            let moved = ground.land(&again).expect(what);
            ground.native.leave_behind(&moved);
            assert_eq!((ground.read(id), ground.bodies().len()), (text.to_owned(), 0), "{what}");
        }
        ground.go_home();
    }
}

#[test]
fn a_file_that_goes_or_is_replaced_on_its_way_is_not_brought_back() {
    for replace in [false, true] {
        let ground = Ground::new("");
        let id = ground.write("a.bam", "old");
        let way = ground.begin(id);
        match replace {
            false => drop(ground.native.unlink(ROOT, c"a.bam").expect("removed")),
            true => {
                ground.write("new", "new");
                ground.rename("new", "a.bam");
            }
        }
        assert_eq!(ground.land(&way).err(), Some(Errno::CANCELED));
        ground.native.end_move(&way.0);
        assert_eq!(
            fs::read_to_string(ground.home.join("a.bam")).ok().as_deref(),
            replace.then_some("new")
        );
        assert_eq!(ground.native.getattr(id, None).expect("held").0.stx_size, 3);
        ground.go_home();
    }
}

#[test]
fn what_somebody_puts_on_the_way_does_not_get_the_name() {
    // The file itself is on its way home; a link is, to another tier.
    for (made, name) in [("a.bam", "a.bam"), ("b.sam", "b.near")] {
        let ground = Ground::new("");
        let id = ground.write(made, "words");
        if made != name {
            ground.rename(made, name);
        }
        let theirs = ground.home.join("theirs");
        let moving = ground.home.join(".forebay/moving");
        for is_link in [false, true] {
            let way = ground.begin(id);
            let at = fs::read_dir(&moving).expect("there").next().expect("one").expect("its name");
            match is_link {
                false => fs::write(&theirs, "lies!").expect("written"),
                true => std::os::unix::fs::symlink("/dev/null", &theirs).expect("made"),
            }
            fs::rename(&theirs, at.path()).expect("exchanged");
            assert_eq!(ground.land(&way).err(), Some(Errno::CANCELED), "{name}");
            ground.native.end_move(&way.0);
            assert_eq!((ground.read(id), ground.bodies().len()), ("words".to_owned(), 1), "{name}");
        }
        let way = ground.begin(id);
        ground.native.leave_behind(&ground.land(&way).expect("it moves"));
        assert_eq!(ground.read(id), "words");
        drop(way);
        ground.go_home();
    }
}

#[test]
fn who_is_open_locked_mapped_or_has_two_names_does_not_move() {
    let ground = Ground::new("");
    let id = ground.write("a.bam", "words");
    let (opened, node) = ground.native.open(id, libc::O_RDWR as u32).expect("opens");
    assert!(matches!(ground.native.begin_move(id), Ok(Begun::No)), "it is open");
    let body = fs::read_link(ground.home.join("a.bam")).expect("a link");
    ground.native.release(opened.fh);
    let outside = fs::File::open(&body).expect("opens");
    assert!(matches!(ground.native.begin_move(id), Ok(Begun::Later)), "somebody outside has it");
    drop(outside);
    node.foreign.store(true, Relaxed);
    assert!(matches!(ground.native.begin_move(id), Ok(Begun::No)));
    node.foreign.store(false, Relaxed);
    ground.native.link(id, ROOT, c"twin.bam").expect("linked");
    assert!(matches!(ground.native.begin_move(id), Ok(Begun::No)), "two names");
    ground.native.unlink(ROOT, c"twin.bam").expect("removed");
    assert!(matches!(ground.native.begin_move(id), Ok(Begun::Yes(_))));
    ground.go_home();
}

#[test]
fn a_new_name_sends_a_file_where_its_rule_says() {
    let ground = Ground::new("");
    // From, to, and whether a link leads there then.
    let ways = [
        ("a.bam", "a.txt", false),
        ("b.sam", "b.txt", false),
        ("c.sam", "c.near", true),
        ("d.near", "d.sam", true),
        ("e.txt", "e.sam", true),
        ("f.txt", "f.near", true),
        ("g.txt", "g.bam", false),
        ("h.txt", "h.tmp", false),
        ("i.sam", "i.tmp", true),
    ];
    let before: Vec<_> = ways
        .iter()
        .map(|(from, to, _)| {
            let id = ground.write(from, from);
            let number = ground.look(from).1;
            ground.rename(from, to);
            (id, number)
        })
        .collect();
    ground.native.move_due(EVER);
    for ((from, to, away), (id, number)) in ways.iter().zip(&before) {
        assert_eq!(ground.is_link(to), *away, "{to}");
        assert_eq!(ground.look(to), (*id, *number), "{to}");
        assert_eq!(ground.read(*id), *from);
        let tier = fs::read_link(ground.home.join(to)).unwrap_or_default();
        assert_eq!(tier.starts_with(&ground.near), to.ends_with("near"), "{tier:?}");
    }
    assert_eq!(ground.bodies().len(), 5);
    let stays = ground.write("k.txt", "k");
    ground.native.move_due(EVER);
    assert!(!ground.is_link("k.txt") && ground.read(stays) == "k");
    // Back again: each way can be gone twice.
    for (from, to, _) in &ways {
        ground.rename(to, from);
    }
    ground.native.move_due(EVER);
    for ((from, ..), (id, number)) in ways.iter().zip(&before) {
        assert_eq!(ground.look(from), (*id, *number), "{from}");
        assert_eq!(ground.read(*id), *from);
    }
    ground.go_home();
    for (from, ..) in &ways {
        assert_eq!(fs::read_to_string(ground.home.join(from)).expect("at home"), *from);
    }
}

#[test]
fn a_tier_holds_what_comes_after_what_has_gone() {
    let ground = Ground::new("capacity = '256 KiB'");
    let text = "x".repeat(40 << 10);
    for count in 0..64 {
        ground.write(&format!("{count}.bam"), &text);
        ground.native.move_due(boot_nanos());
    }
    assert_eq!(ground.tiers.spilled().0, 0, "{:?}", ground.tiers.spilled());
    assert!(ground.tiers.moved().0 > 50 && ground.bodies().len() < 8, "{:?}", ground.tiers.moved());
    assert_eq!(ground.go_home().brought, (64, 64 * text.len() as u64));
}

#[test]
fn what_can_not_move_stays_whole_and_is_tried_again() {
    let ground = Ground::new("");
    let id = ground.write("a.bam", "words");
    // What is in its way: nothing can be made where it would be on its way.
    let moving = ground.home.join(".forebay/moving");
    ground.native.passage().map(drop).expect("made");
    fs::remove_dir(&moving).expect("empty");
    ground.native.move_due(boot_nanos() + 2 * SETTLE_NANOS);
    assert!(ground.is_link("a.bam") && ground.read(id) == "words");
    assert_eq!(ground.go_home().brought, (1, 5), "the end brings it");
    assert_eq!(fs::read_to_string(ground.home.join("a.bam")).expect("at home"), "words");
}

#[test]
fn a_number_that_the_file_system_gives_away_is_its_new_owners() {
    let ground = Ground::new("");
    let id = ground.write("a.bam", "words");
    let number = ground.look("a.bam").1;
    ground.native.move_due(EVER);
    let node = ground.native.node(id).expect("known");
    assert_eq!(ground.look("a.bam").1, number);
    // The old inode is not kept any more, as on storage that can't keep it.
    node.place.lock().was = None;
    let own = fs::metadata(ground.home.join("a.bam")).expect("there").ino();
    let mut owner = None;
    for count in 0..4096 {
        let name = format!("x{count}");
        fs::write(ground.home.join(&name), "").expect("made");
        let seen = ground.look(&name).1;
        assert!(seen != ground.look("a.bam").1, "two files with one number");
        if seen == number {
            owner = Some(name);
            break;
        }
    }
    if owner.is_some() {
        assert_eq!(ground.look("a.bam"), (id, own));
    }
    ground.go_home();
}

/// Random verbs on names of all rules, while files move, against the same made bare.
#[test]
#[allow(clippy::disallowed_methods)] // The seed of a failure comes from the environment.
fn random_verbs_between_moves_leave_what_they_leave_bare() {
    let seed = std::env::var("FOREBAY_SEED").ok().and_then(|s| s.parse().ok());
    let seeds = seed.map_or(20_261_121..20_261_126, |seed| seed..seed + 1);
    seeds.for_each(random_verbs);
}

fn random_verbs(seed: u64) {
    use super::super::tests::{Dice, append_file, bare, parent, picture, walk, write_file};
    let ground = Ground::new("");
    // As the kernel does: what is there is opened and cut.
    let write_over = |native: &Native, path: &str, text: &[u8]| match walk(native, path) {
        Ok(id) => {
            let cut = Change { size: Some(0), ..Change::default() };
            native.setattr(id, cut).and_then(|_| append_file(native, path, text))
        }
        Err(_) => write_file(native, path, text),
    };
    let twin = tempfile::tempdir().expect("a directory");
    let mut dice = Dice(seed);
    let names = ["a.bam", "b.sam", "c.near", "d.txt", "e.tmp", "d/a.bam", "d/b.txt", "d/c.sam"];
    fs::create_dir(ground.home.join("d"))
        .and_then(|()| fs::create_dir(twin.path().join("d")))
        .expect("made");
    let native = &ground.native;
    let mut way: Option<(Box<Moving>, Carried)> = None;
    let mut numbers = std::collections::HashMap::new();
    for step in 0..1500 {
        let one = names[dice.roll(names.len() as u64) as usize];
        let two = names[dice.roll(names.len() as u64) as usize];
        let (at, to) = (twin.path().join(one), twin.path().join(two));
        let text = format!("{step};");
        let (ours, theirs) = match dice.roll(12) {
            0 | 1 => (write_over(native, one, text.as_bytes()), bare(fs::write(&at, &text))),
            2 => {
                let gone = parent(native, one).and_then(|(dir, name)| native.unlink(dir, &name));
                (gone.map(drop), bare(fs::remove_file(&at)))
            }
            3..=5 => {
                let moved = parent(native, one).and_then(|(dir, name)| {
                    let (new_dir, new_name) = parent(native, two)?;
                    native.rename(dir, &name, new_dir, &new_name, 0).map(drop)
                });
                (moved, bare(fs::rename(&at, &to)))
            }
            6 => {
                let linked = walk(native, one).and_then(|node| {
                    let (dir, name) = parent(native, two)?;
                    native.link(node, dir, &name).map(drop)
                });
                (linked, bare(fs::hard_link(&at, &to)))
            }
            7 => {
                let mode = 0o600 | (dice.roll(0o100) as u32);
                let changed = walk(native, one).and_then(|node| {
                    native.setattr(node, Change { mode: Some(mode), ..Change::default() }).map(drop)
                });
                (changed, bare(fs::set_permissions(&at, fs::Permissions::from_mode(mode))))
            }
            8 => {
                let appended = fs::OpenOptions::new()
                    .append(true)
                    .open(&at)
                    .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
                (append_file(native, one, text.as_bytes()), bare(appended))
            }
            9 => {
                native.move_due(EVER);
                (Ok(()), Ok(()))
            }
            // One that is carried now and lands some verbs later, if nothing has happened to it.
            10 if way.is_none() => {
                if let Ok(Begun::Yes(moving)) =
                    walk(native, one).and_then(|id| native.begin_move(id))
                {
                    let passage = native.passage().expect("there");
                    let carried = Native::carry(&ground.tiers, passage, &moving, &|| false);
                    way = Some((moving, carried.expect("carried")));
                }
                (Ok(()), Ok(()))
            }
            _ => {
                if let Some(way) = way.take() {
                    match ground.land(&way) {
                        Ok(moved) => native.leave_behind(&moved),
                        Err(error) => {
                            assert_eq!(error, Errno::CANCELED, "step {step} (seed {seed})");
                            native.end_move(&way.0);
                        }
                    }
                }
                (Ok(()), Ok(()))
            }
        };
        assert_eq!(ours, theirs, "step {step}: {one} {two} (seed {seed})");
        let mut seen = std::collections::HashMap::new();
        for name in names {
            let Ok(id) = walk(native, name) else { continue };
            let stat = native.getattr(id, None).expect("there").0;
            let twin = fs::metadata(twin.path().join(name)).expect("there too");
            assert_eq!(
                (u64::from(stat.stx_nlink), stat.stx_size, u32::from(stat.stx_mode)),
                (twin.nlink(), twin.len(), twin.mode()),
                "step {step}: {name} (seed {seed})"
            );
            let number = *numbers.entry(id).or_insert(stat.stx_ino);
            assert_eq!(number, stat.stx_ino, "step {step}: {name} changed (seed {seed})");
            let other = seen.insert(number, id);
            assert!(other.is_none_or(|other| other == id), "two with one number (seed {seed})");
        }
    }
    if let Some((moving, carried)) = way {
        ground.tiers.drop_carried(native.passage().expect("there"), &carried);
        native.end_move(&moving);
    }
    // Rules may discard it at the end, or not, by where it has come.
    let _ = native.unlink(ROOT, c"e.tmp");
    let _ = fs::remove_file(twin.path().join("e.tmp"));
    ground.go_home();
    assert_eq!(picture(&ground.home), picture(twin.path()), "seed {seed}");
}

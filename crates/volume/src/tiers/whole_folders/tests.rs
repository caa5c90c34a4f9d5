//! If these fail, files that were made in a whole folder are lost, have other attributes than they had,
//! or take the place of somebody else's.

use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use forebay_model::{Rules, Site};
use forebay_os::clock::SystemClock;
use tempfile::TempDir;

use super::*;
use crate::tiers::{ProgressReporter, Purpose, WriteBackOutcome, WriteBackScope, write_back_files};

const RULES: &str = "[[rule]]\nmatch = '*.log'\nhome = 'in-place'\n\
    [[rule]]\nmatch = 'work/**'\nhome = 'far'\nwhole_folder = true\n\
    [[rule]]\nmatch = 'tmp/**'\nhome = 'far'\nafter = 'discard'\nwhole_folder = true\n";

/// A directory with whole folders on a tier, as a run leaves them.
struct Ground {
    home: PathBuf,
    _dirs: [TempDir; 2],
    wanted: PlacementOptions,
    work: PathBuf,
    tmp: PathBuf,
    tiers: Option<Tiers>,
}

impl Ground {
    fn new() -> Ground {
        let dir = tempfile::tempdir().expect("a directory");
        let far = tempfile::tempdir_in("/dev/shm").expect("/dev/shm is there");
        let home = dir.path().canonicalize().expect("there").join("home");
        fs::create_dir(&home).expect("made");
        let site = format!("[tier.far]\npath = '{}'\nreach = 'node'\n", far.path().display());
        let site = Site::parse(&site, "site", &|_| None).expect("right");
        let rules = Rules::parse(RULES, "rules", &site).expect("right");
        let wanted =
            PlacementOptions { site, rules, settings: Default::default(), spares: Vec::new() };
        let none = PathBuf::new();
        let mut ground =
            Ground { home, _dirs: [dir, far], wanted, work: none.clone(), tmp: none, tiers: None };
        let refused = ground.begin();
        assert_eq!(refused, Vec::<String>::new());
        ground
    }

    /// As a run begins; gives the words about folders that can't be had.
    fn begin(&mut self) -> Vec<String> {
        let tiers = Tiers::open(&self.home, Purpose::Place(&self.wanted));
        let tiers = tiers.expect("opens").expect("is there");
        tiers.take_up_whole_folders().expect("the book is written");
        let folders = tiers.prepare_whole_folders(&self.home, &self.wanted).expect("prepared");
        for folder in folders.ready {
            match folder.point.ends_with("work") {
                true => self.work = folder.directory,
                false => self.tmp = folder.directory,
            }
        }
        self.tiers = Some(tiers);
        folders.refused
    }

    fn end(&mut self, scope: WriteBackScope) -> WriteBackOutcome {
        let clock = SystemClock::start();
        let progress = ProgressReporter::new(&clock, &|_| ());
        let tiers = self.tiers.take().expect("it began");
        write_back_files(&self.home, &tiers, scope, &progress)
    }

    fn restore(&mut self) -> WriteBackOutcome {
        // As after a kill: its locks are gone.
        drop(self.tiers.take());
        let tiers = Tiers::open(&self.home, Purpose::Restore(&[])).expect("opens");
        self.tiers = Some(tiers.expect("there is a book"));
        self.end(WriteBackScope::All)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.home.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    #[track_caller]
    fn nothing_left(&self) {
        assert!(!self.home.join(".forebay").exists(), "a book");
        let far = self.wanted.site.tiers().next().and_then(|tier| tier.path.clone());
        let left: Vec<_> = fs::read_dir(far.expect("a path")).expect("there").flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

const RULED: WriteBackScope = WriteBackScope::Ruled { succeeded: true };

/// Files of all kinds; the same may be made in place to compare with.
fn make_files(top: &Path) {
    let at = |path: &str| top.join(path);
    fs::create_dir_all(at("a/b")).expect("made");
    fs::DirBuilder::new().mode(0o750).create(at("empty")).expect("made");
    fs::write(at("a/b/data"), "bytes").expect("written");
    fs::set_permissions(at("a/b/data"), fs::Permissions::from_mode(0o640)).expect("set");
    fs::hard_link(at("a/b/data"), at("other")).expect("linked");
    fs::hard_link(at("a/b/data"), at("a/third")).expect("linked");
    symlink("b/data", at("a/link")).expect("linked");
    symlink("/nowhere", at("away")).expect("linked");
    fs::write(at("run.log"), "log").expect("written");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("pipe"),
        rustix::fs::FileType::Fifo,
        Mode::from_raw_mode(0o622),
        0,
    )
    .expect("made");
    fs::set_permissions(at("pipe"), fs::Permissions::from_mode(0o622)).expect("set");
    let then = std::time::UNIX_EPOCH + std::time::Duration::new(1_580_608_922, 123_456_789);
    for path in ["a/b/data", "a/b", "a"] {
        File::open(at(path)).and_then(|file| file.set_modified(then)).expect("set");
    }
}

#[test]
fn all_that_was_made_in_a_whole_folder_comes_home_as_it_was() {
    let mut ground = Ground::new();
    make_files(&ground.work);
    fs::set_permissions(&ground.work, fs::Permissions::from_mode(0o770)).expect("set");
    assert_eq!(fs::read_dir(ground.home.join("work")).expect("there").count(), 0, "meanwhile");
    let done = ground.end(RULED);
    assert!(done.left.is_empty(), "{:?}", done.left);
    assert_eq!(done.brought, (2, 8), "the data and the log");
    assert_eq!(ground.text("work/a/b/data"), "bytes");
    assert_eq!(ground.text("work/run.log"), "log");
    let meta = |path: &str| fs::symlink_metadata(ground.home.join(path)).expect(path);
    let data = meta("work/a/b/data");
    assert_eq!((data.nlink(), data.mode() & 0o7777), (3, 0o640));
    assert!([meta("work/other"), meta("work/a/third")].iter().all(|m| m.ino() == data.ino()));
    for path in ["work/a/b/data", "work/a/b", "work/a"] {
        let time = (meta(path).mtime(), meta(path).mtime_nsec());
        assert_eq!(time, (1_580_608_922, 123_456_789), "{path}");
    }
    assert_eq!(meta("work/empty").mode() & 0o7777, 0o750);
    assert_eq!(meta("work").mode() & 0o7777, 0o770);
    assert!(meta("work/pipe").file_type().is_fifo());
    assert_eq!(meta("work/pipe").mode() & 0o7777, 0o622);
    let target = |path: &str| fs::read_link(ground.home.join(path)).expect(path);
    assert_eq!(target("work/a/link"), Path::new("b/data"));
    assert_eq!(target("work/away"), Path::new("/nowhere"));
    ground.nothing_left();
}

#[test]
fn a_discarded_folder_goes_but_for_what_other_rules_want() {
    let mut ground = Ground::new();
    make_files(&ground.tmp);
    fs::create_dir_all(ground.tmp.join("deep/logs")).expect("made");
    fs::write(ground.tmp.join("deep/logs/x.log"), "kept").expect("written");
    let done = ground.end(RULED);
    assert!(done.left.is_empty(), "{:?}", done.left);
    assert_eq!((done.brought, done.discarded), ((2, 7), (3, 15)), "three names of one file");
    assert_eq!(ground.text("tmp/deep/logs/x.log"), "kept");
    let mut names: Vec<_> = fs::read_dir(ground.home.join("tmp"))
        .expect("there")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["deep", "run.log"]);
    ground.nothing_left();
}

#[test]
fn after_a_kill_restore_and_the_next_run_find_the_files() {
    let mut ground = Ground::new();
    make_files(&ground.work);
    fs::write(ground.tmp.join("x"), "also").expect("written");
    let done = ground.restore();
    assert!(done.left.is_empty(), "{:?}", done.left);
    assert_eq!(
        (ground.text("work/a/third"), ground.text("tmp/x")),
        ("bytes".into(), "also".into())
    );
    ground.nothing_left();

    fs::remove_dir_all(ground.home.join("work")).expect("removed");
    fs::remove_file(ground.home.join("tmp/x")).expect("removed");
    assert_eq!(ground.begin(), Vec::<String>::new());
    fs::write(ground.work.join("y"), "from before").expect("written");
    drop(ground.tiers.take());
    let refused = ground.begin();
    assert!(refused[0].contains("there are files in it already"), "{refused:?}");
    assert_eq!(ground.text("work/y"), "from before", "a link leads there");
    assert!(ground.end(RULED).left.is_empty());
    assert!(!ground.home.join("work/y").is_symlink());
    ground.nothing_left();
}

#[test]
fn what_can_not_be_moved_is_reported_and_kept() {
    let mut ground = Ground::new();
    fs::create_dir(ground.work.join(".forebay")).expect("made");
    fs::write(ground.work.join(".forebay/theirs"), "kept").expect("written");
    let done = ground.end(RULED);
    assert_eq!(done.left.len(), 1, "{:?}", done.left);
    assert!(done.left[0].why.starts_with("something is still in "), "{:?}", done.left);
    assert_eq!(fs::read_to_string(ground.work.join(".forebay/theirs")).expect("there"), "kept");
}

#[test]
fn a_run_without_rules_sees_the_files_of_one_that_was_killed() {
    let mut ground = Ground::new();
    make_files(&ground.work);
    drop(ground.tiers.take());
    for _ in 0..2 {
        let tiers = Tiers::open(&ground.home, Purpose::Show).expect("opens").expect("is there");
        tiers.take_up_whole_folders().expect("the book is written");
        assert_eq!(tiers.missing_tiers().count(), 0);
        assert_eq!(ground.text("work/a/b/data"), "bytes");
    }
    assert!(ground.restore().left.is_empty());
    ground.nothing_left();
}

#[test]
fn who_is_killed_between_a_link_and_its_bytes_does_it_again() {
    let mut ground = Ground::new();
    make_files(&ground.work);
    let tiers = ground.tiers.as_ref().expect("it began");
    let key = tiers.rooms[0].unused_key(c"data").expect("a name");
    fs::create_dir_all(ground.home.join("work/a/b")).expect("made");
    let target = tiers.rooms[0].link_target(&key).into_string().expect("text");
    symlink(target, ground.home.join("work/a/b/data")).expect("linked");
    let done = ground.restore();
    assert!(done.left.is_empty() && done.lost.is_empty(), "{done:?}");
    assert_eq!(ground.text("work/a/b/data"), "bytes");
    ground.nothing_left();
}

#[test]
fn what_somebody_made_in_place_meanwhile_is_theirs() {
    let mut ground = Ground::new();
    make_files(&ground.work);
    fs::write(ground.home.join("work/other"), "theirs").expect("written");
    fs::create_dir(ground.home.join("work/run.log")).expect("made");
    let done = ground.end(RULED);
    let left: Vec<_> = done.left.iter().map(|one| one.path.display().to_string()).collect();
    assert!(left.contains(&"work/other".to_owned()), "{left:?}");
    assert!(left.contains(&"work/run.log".to_owned()), "{left:?}");
    assert_eq!(ground.text("work/other"), "theirs");
    assert_eq!(ground.text("work/a/b/data"), "bytes");
    fs::remove_file(ground.home.join("work/other")).expect("removed");
    fs::remove_dir(ground.home.join("work/run.log")).expect("removed");
    let done = ground.restore();
    assert!(done.left.is_empty(), "{:?}", done.left);
    assert_eq!(
        (ground.text("work/other"), ground.text("work/run.log")),
        ("bytes".into(), "log".into())
    );
    ground.nothing_left();
}

#[test]
fn a_folder_that_is_no_empty_directory_of_the_volume_is_not_had_as_a_whole() {
    let mut ground = Ground::new();
    assert!(ground.end(RULED).left.is_empty());
    fs::remove_dir(ground.home.join("work")).expect("removed");
    symlink("/", ground.home.join("work")).expect("linked");
    fs::write(ground.home.join("tmp/mine"), "").expect("written");
    let refused = ground.begin();
    assert!(refused[0].contains("work is no whole folder on far (rule 2)"), "{refused:?}");
    assert!(refused[0].ends_with("a file or link has its name"), "{refused:?}");
    assert!(refused[1].ends_with("there are files in it already"), "{refused:?}");
    assert!(ground.end(RULED).left.is_empty());
}

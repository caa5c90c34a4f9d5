//! Files that go early, without a kernel to ask for them. If these failed, somebody would find a half
//! of one beside their own, or another time of their directory than they set.

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::AtomicBool;

use forebay_model::{Rules, Site};
use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::fs::{CWD, Mode, OFlags, openat};
use tempfile::TempDir;

use super::super::{AttributeChange, CreateMode, NativeSettings, ROOT, TimeOrNow};
use super::*;
use crate::tiers::{PlacementOptions, Purpose, Tiers};

const RULES: &str = "[[rule]]\nmatch = 'small/**'\nhome = 'far'\nlayout = 'packed'\n\
                     write_back = 'on-close'\n[[metadata_cache]]\nmatch = '**'\ntimeout = '1 min'\n";
const PLAIN: CreateMode = CreateMode { mode: 0o755, umask: 0o022 };
const WRITE: u32 = (libc::O_RDWR | libc::O_CREAT) as u32;

struct Ground {
    native: Native,
    home: TempDir,
    _far: TempDir,
    small: u64,
}

impl Ground {
    fn new() -> Ground {
        let (home, far) = (tempfile::tempdir().expect("made"), tempfile::tempdir().expect("made"));
        let site = format!("[tier.far]\npath = '{}'\nreach = 'node'\n", far.path().display());
        let site = Site::parse(&site, "site", &|_| None).expect("a site");
        let rules = Rules::parse(RULES, "rules", &site).expect("rules");
        let tiers = Tiers::open(
            home.path(),
            Purpose::Place(&PlacementOptions {
                site,
                rules,
                settings: Default::default(),
                spares: Vec::new(),
            }),
        );
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, home.path(), flags, Mode::empty()).expect("it is there");
        let native = Native::new(root, NativeSettings::default(), Box::new(|_| Arc::from([])));
        let native = native.expect("statx works").with_tiers(tiers.expect("opens").map(Arc::new));
        let small = native.mkdir(ROOT, c"small", PLAIN).expect("made").node;
        Ground { native, home, _far: far, small }
    }

    /// A file that is written and closed.
    fn write(&self, name: &str) -> Arc<Node> {
        let name = CString::new(name).expect("no NUL");
        let (made, node) = self.native.create(self.small, &name, WRITE, PLAIN, 0).expect("made");
        let handle = self.native.handle(made.opened.fh).expect("open");
        self.native.write(&handle, b"text", 0).expect("written");
        drop(handle);
        self.native.release(made.opened.fh);
        node
    }

    fn modified(&self) -> i64 {
        self.native.getattr(self.small, None).expect("there").0.stx_mtime.tv_sec
    }

    fn set_modified(&self, seconds: i64) {
        let mtime = Some(TimeOrNow::At(seconds, 0));
        let change = AttributeChange { mtime, ..AttributeChange::default() };
        self.native.setattr(self.small, change).expect("set");
    }
}

/// In this thread, file systems know no files without a name from now on.
fn forbid_nameless() {
    const FLAGS_AT: u32 = 32;
    const NAMELESS: u32 = (libc::O_TMPFILE & !libc::O_DIRECTORY) as u32;
    let step = |code: u32, k, jt, jf| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let answer = libc::BPF_RET | libc::BPF_K;
    let mut steps = [
        step(load, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_openat as u32, 0, 3),
        step(load, FLAGS_AT, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, NAMELESS, 0, 1),
        step(answer, libc::SECCOMP_RET_ERRNO | libc::EOPNOTSUPP as u32, 0, 0),
        step(answer, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the program is whole, and is copied by the kernel before this returns.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn where_all_files_have_names_no_half_of_one_is_seen_beside_others() {
    let ground = Ground::new();
    let nodes = ["a", "b"].map(|name| ground.write(name));
    let small = ground.home.path().join("small");
    let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).expect("a watch");
    let what = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::DELETE;
    inotify::add_watch(&watch, &small, what).expect("watched");
    let go = || {
        forbid_nameless();
        nodes.each_ref().map(|node| ground.native.write_back_eagerly(node))
    };
    let gone = std::thread::scope(|scope| scope.spawn(go).join().expect("no panic"));
    assert_eq!(gone, [Some(()); 2]);
    let mut buffer = Vec::with_capacity(4096);
    let mut reader = Reader::new(&watch, buffer.spare_capacity_mut());
    let mut seen = Vec::new();
    while let Ok(event) = reader.next() {
        seen.extend(event.file_name().map(|name| name.to_string_lossy().into_owned()));
    }
    assert_eq!(seen, ["a", "b"], "and nothing else, not for a moment");
    assert_eq!(fs::read_to_string(small.join("a")).expect("there"), "text");
    let way = ground.home.path().join(".forebay/moving");
    assert_eq!(fs::read_dir(way).expect("there").count(), 0);
}

#[test]
fn a_time_that_is_set_while_files_go_early_stays() {
    let ground = Ground::new();
    let nodes: Vec<_> = (0..200).map(|number| ground.write(&format!("{number}"))).collect();
    let over = AtomicBool::new(false);
    let mut last = 1;
    ground.set_modified(last);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            nodes
                .iter()
                .for_each(|node| assert_eq!(ground.native.write_back_eagerly(node), Some(())));
            over.store(true, Relaxed);
        });
        while !over.load(Relaxed) {
            last += 1;
            ground.set_modified(last);
            assert!((0..9).all(|_| ground.modified() == last), "set {last}");
        }
    });
    ground.native.stop_eager_write_back();
    assert_eq!(ground.modified(), last);
    ground.native.set_all_times();
    let small = ground.home.path().join("small");
    assert_eq!(fs::metadata(&small).expect("there").mtime(), last, "in place, too");
    assert_eq!(fs::read_dir(small).expect("there").count(), nodes.len());
}

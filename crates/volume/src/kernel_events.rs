//! The recorder that leaves directories bare: small programs in the kernel (eBPF) look on at the
//! system calls of the command and of what it starts, and the rows of the record are made from what
//! they tell. Nothing lies between programs and files; when this process ends, however it does, the
//! kernel lets go of the programs.

mod calls;
mod known_attributes;
mod known_files;
mod names;
mod rows;
mod wire;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use aya::maps::{Array, HashMap, MapData, RingBuf};
use aya::programs::{BtfTracePoint, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader};
use forebay_model::TreeId;
use forebay_model::run::note_key::{self, NoteKey};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, test_kill_process};

use crate::processes::ProcessTable;
use crate::recorder::Recorder;
use forebay_os::clock::{Clock, MachineClock};
use forebay_os::proc::Proc;
use names::Whereabouts;
pub(crate) use names::{Names, Place, join};
pub(crate) use rows::{Amount, FMODE_CREATED, FMODE_PATH, FMODE_WRITE, OpenedFile, Rows};
use wire::path_of;
pub(crate) use wire::{Event, Kind, Told, Usage};

/// What the kernel executes; empty where no clang compiled it.
static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/recorder.bpf.o"));

const BTF: &str = "/sys/kernel/btf/vmlinux";

/// Each program of the object, and what it is attached to.
const ATTACHED: [(&str, &str); 5] = [
    ("call_begins", "sys_enter"),
    ("call_ends", "sys_exit"),
    ("forks", "sched_process_fork"),
    ("runs", "sched_process_exec"),
    ("exits", "sched_process_exit"),
];

/// `whence` of the lseek(2) by which this process asks the kernel's side about a descriptor. The
/// kernel itself refuses it.
const MARK_WHENCE: libc::c_int = 0x6662;

/// The inode of the first PID namespace (linux/proc_ns.h).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// How long events may wait, unless many do.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Why this recorder can't be used here.
#[derive(Debug, thiserror::Error)]
pub enum RecorderUnavailable {
    /// No clang was there.
    #[error("this forebay was built without clang, and so without it")]
    NotBuilt,
    /// An old kernel, or one that is configured so.
    #[error("this kernel does not describe itself ({BTF} is missing: CONFIG_DEBUG_INFO_BTF)")]
    NoBtf,
    /// Numbers of processes would not be those that the kernel's side sees.
    #[error("this process is not in the machine's first PID namespace")]
    PidNamespace,
    /// An ordinary user, or a container without these rights.
    #[error("it takes root, or CAP_BPF and CAP_PERFMON")]
    NotPermitted,
    /// What the kernel said.
    #[error("this kernel refuses it (Linux 5.17 and later allow it, without lockdown): {0}")]
    Refused(String),
}

/// The programs, in the kernel. To load them takes a tenth of a second and more, so who asks whether
/// that works keeps them.
#[derive(Debug)]
pub(crate) struct KernelSide(Ebpf);

/// `struct state` of `bpf/recorder.bpf.c`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct State {
    first: u32,
    daemon: u32,
    mark_call: u32,
    living: u32,
    lost: u64,
    opens: u64,
    rings: u64,
    foreign: u64,
}

// SAFETY: integers alone, without padding.
unsafe impl aya::Pod for State {}

/// `struct scratch` of `bpf/recorder.bpf.c`.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(8))]
struct Mark([u8; 96 + 3 * 4096]);

// SAFETY: bytes alone.
unsafe impl aya::Pod for Mark {}

/// Whether the recorder works here: its programs are loaded, and let go.
///
/// # Errors
/// Why it does not.
pub fn probe() -> Result<(), RecorderUnavailable> {
    KernelSide::load().map(drop)
}

fn refused<E: std::error::Error>(error: E) -> RecorderUnavailable {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(why) = cause {
        text = format!("{text}: {why}");
        cause = why.source();
    }
    // What the verifier has to say is long, and for whoever wrote the program.
    text.truncate(text.find('\n').unwrap_or(text.len()));
    RecorderUnavailable::Refused(text)
}

impl KernelSide {
    /// # Errors
    /// Why they can't be had.
    pub(crate) fn load() -> Result<KernelSide, RecorderUnavailable> {
        if OBJECT.is_empty() {
            return Err(RecorderUnavailable::NotBuilt);
        }
        if !std::path::Path::new(BTF).exists() {
            return Err(RecorderUnavailable::NoBtf);
        }
        let namespace = std::fs::read_link("/proc/self/ns/pid");
        if namespace.is_ok_and(|link| link.as_os_str() != FIRST_PID_NAMESPACE) {
            return Err(RecorderUnavailable::PidNamespace);
        }
        let may = forebay_os::credentials::may_load_programs();
        let btf = Btf::from_sys_fs().map_err(refused)?;
        let told = |error: RecorderUnavailable| match may {
            false => RecorderUnavailable::NotPermitted,
            true => error,
        };
        let mut loader = EbpfLoader::new();
        let loaded = loader.btf(Some(&btf)).allow_unsupported_maps().load(OBJECT);
        let mut ebpf = loaded.map_err(refused).map_err(told)?;
        for (name, at) in ATTACHED {
            let program = program(&mut ebpf, name)?;
            program.load(at, &btf).map_err(|error| {
                if let ProgramError::LoadError { verifier_log, .. } = &error {
                    tracing::debug!("the kernel says of {name}: {verifier_log}");
                }
                told(refused(error))
            })?;
        }
        // What the kernel says of itself is some megabytes.
        drop(btf);
        forebay_os::heap::return_free_memory();
        Ok(KernelSide(ebpf))
    }

    fn attach(&mut self) -> Result<(), RecorderUnavailable> {
        for (name, _) in ATTACHED {
            program(&mut self.0, name)?.attach().map_err(refused)?;
        }
        Ok(())
    }

    fn array<T: aya::Pod>(
        &mut self,
        name: &str,
    ) -> Result<Array<&mut MapData, T>, RecorderUnavailable> {
        Array::try_from(self.0.map_mut(name).ok_or_else(|| missing(name))?).map_err(refused)
    }

    fn state(&self) -> State {
        let map = self.0.map("states").and_then(|map| Array::<_, State>::try_from(map).ok());
        map.and_then(|map| map.get(&0, 0).ok()).unwrap_or_default()
    }

    /// Asks the kernel's side about a descriptor: which entry it is, and where that is.
    fn mark(&self, fd: BorrowedFd<'_>) -> Option<(u64, Option<Place>)> {
        // SAFETY: plain numbers.
        // The kernel refuses the call; its side has seen it.
        unsafe { libc::syscall(libc::SYS_lseek, fd.as_raw_fd(), 0, MARK_WHENCE) };
        let map = Array::<_, Mark>::try_from(self.0.map("marks")?).ok()?;
        let mark = map.get(&0, 0).ok()?;
        let told = Told::parse(&mark.0)?;
        let tree = u16::try_from(told.head.tree).ok().map(TreeId);
        let place = tree.map(|tree| (tree, path_of(told.names)));
        Some((told.head.file, place)).filter(|(entry, _)| *entry != 0)
    }

    fn name_tree(&mut self, tree: TreeId, root: BorrowedFd<'_>) -> Result<(), RecorderUnavailable> {
        let unseen = || RecorderUnavailable::Refused("its programs see nothing".to_owned());
        let (entry, _) = self.mark(root).ok_or_else(unseen)?;
        let map = self.0.map_mut("trees").ok_or_else(|| missing("trees"))?;
        let mut trees = HashMap::<_, u64, u32>::try_from(map).map_err(refused)?;
        trees.insert(entry, u32::from(tree.0), 0).map_err(refused)
    }
}

impl Whereabouts for KernelSide {
    fn whereabouts(&mut self, directory: &OwnedFd) -> Option<Place> {
        self.mark(directory.as_fd())?.1
    }
}

fn missing(name: &str) -> RecorderUnavailable {
    RecorderUnavailable::Refused(format!("its object has no {name}"))
}

fn program<'e>(
    ebpf: &'e mut Ebpf,
    name: &str,
) -> Result<&'e mut BtfTracePoint, RecorderUnavailable> {
    let found = ebpf.program_mut(name).ok_or_else(|| missing(name))?;
    found.try_into().map_err(refused)
}

/// A directory to record, in the order of their numbers.
#[derive(Debug)]
pub(crate) struct RecordedDirectory {
    pub(crate) root: OwnedFd,
    pub(crate) point: PathBuf,
}

/// Looks on at a run until its last process has ended.
#[derive(Debug)]
pub(crate) struct KernelRecorder {
    thread: Option<JoinHandle<Missed>>,
    stop: Arc<AtomicBool>,
}

/// What the record does not have.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Missed {
    /// Events that found no room, or made no sense without one of these.
    pub(crate) events: u64,
    /// Rings of io_uring that were set up: what goes through them is seen by its opens alone.
    pub(crate) rings: u64,
    /// Calls of programs for 32 bits, which are not looked at.
    pub(crate) foreign: u64,
    /// Descriptors of recorded files that came from elsewhere, by a socket for example.
    pub(crate) strange: u64,
}

impl Missed {
    fn each(self) -> [(&'static NoteKey<u64>, u64); 4] {
        [
            (&note_key::LOST_EVENTS, self.events),
            (&note_key::IO_URING_RINGS, self.rings),
            (&note_key::CALLS_OF_32_BITS, self.foreign),
            (&note_key::STRANGE_DESCRIPTORS, self.strange),
        ]
    }

    /// For the header of the run.
    pub(crate) fn notes(self) -> impl Iterator<Item = (String, String)> {
        let some = self.each().into_iter().filter(|(_, count)| *count > 0);
        some.map(|(key, count)| key.to_note(&count))
    }
}

impl KernelRecorder {
    /// Looks on from now on at `command` and what it starts, by programs that are loaded already, if
    /// so; `over` is called when the last of them has ended.
    ///
    /// # Errors
    /// Why it can't.
    pub(crate) fn start(
        kernel: Option<KernelSide>,
        directories: Vec<RecordedDirectory>,
        command: u32,
        recorder: Arc<Recorder>,
        processes: Arc<ProcessTable>,
        over: impl FnOnce() + Send + 'static,
    ) -> Result<KernelRecorder, RecorderUnavailable> {
        let mut kernel = kernel.map_or_else(KernelSide::load, Ok)?;
        let mut table = kernel.array::<calls::Call>("calls")?;
        for (number, call) in calls::table() {
            table.set(number, call, 0).map_err(refused)?;
        }
        let state = State {
            first: command,
            daemon: std::process::id(),
            mark_call: libc::SYS_lseek as u32,
            ..State::default()
        };
        kernel.array::<State>("states")?.set(0, state, 0).map_err(refused)?;
        let ring = kernel.0.take_map("ring").ok_or_else(|| missing("ring"))?;
        let ring = RingBuf::try_from(ring).map_err(refused)?;
        kernel.attach()?;
        for (number, directory) in directories.iter().enumerate() {
            kernel.name_tree(TreeId(number as u16), directory.root.as_fd())?;
        }
        let points =
            directories.iter().map(|each| each.point.as_os_str().as_bytes().to_vec()).collect();
        let roots = directories.into_iter().map(|each| each.root).collect();
        let now = MachineClock.elapsed_nanos();
        let mut rows = Rows::new(recorder, processes, Names::new(roots), points, now);
        let started = Proc::default().read_stat(command).map(|stat| stat.started_us);
        rows.meet_command(command, started.unwrap_or(0) * 1000);
        let stop = Arc::new(AtomicBool::new(false));
        let watch = Watch { kernel, ring, rows, stop: Arc::clone(&stop) };
        let thread = std::thread::Builder::new()
            .name("forebay-events".into())
            .spawn(move || {
                let missed = watch.follow();
                over();
                missed
            })
            .map_err(refused)?;
        Ok(KernelRecorder { thread: Some(thread), stop })
    }

    /// Ends, and says what the record does not have.
    pub(crate) fn finish(&mut self) -> Missed {
        self.stop.store(true, Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

struct Watch {
    kernel: KernelSide,
    ring: RingBuf<MapData>,
    rows: Rows,
    stop: Arc<AtomicBool>,
}

impl Watch {
    fn follow(mut self) -> Missed {
        loop {
            // Asked first: what the last process did is in the ring by then.
            let state = self.kernel.state();
            let over = state.living == 0 && !self.is_awaited(&state) || self.stop.load(Relaxed);
            self.drain();
            if over {
                break;
            }
            // SAFETY: the ring, which is open, outlives the wait.
            let ring = unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) };
            let mut wait = [PollFd::new(&ring, PollFlags::IN)];
            // Interrupted or not: the ring is looked at.
            let _ = poll(&mut wait, Some(&LOOK_EVERY));
        }
        self.rows.close_all();
        let state = self.kernel.state();
        let orphans = self.rows.orphans.load(Relaxed);
        Missed {
            events: state.lost + orphans,
            rings: state.rings,
            foreign: state.foreign,
            strange: 0,
        }
    }

    /// The command has not made its first call yet, and still may.
    fn is_awaited(&self, state: &State) -> bool {
        let pid = i32::try_from(state.first).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| test_kill_process(pid).is_ok())
    }

    fn drain(&mut self) {
        while let Some(bytes) = self.ring.next() {
            if let Some(told) = Told::parse(&bytes) {
                self.rows.take(&told, &mut self.kernel);
            }
        }
    }
}

//! Numbers of a joined run: which directory, class, file and process of one run file is which of the
//! whole.

use std::collections::HashMap;

/// What tells a directory from others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TreeName {
    pub(super) path: Vec<u8>,
    pub(super) tier: Option<String>,
    /// The machine, where other machines have another directory of this name.
    pub(super) host: Option<String>,
}

/// File systems that are of one machine alone; a directory of any other is one for all machines.
const LOCAL: &[&str] = &[
    "bcachefs",
    "btrfs",
    "devtmpfs",
    "exfat",
    "ext2",
    "ext3",
    "ext4",
    "f2fs",
    "jfs",
    "overlay",
    "overlayfs",
    "ramfs",
    "reiserfs",
    "squashfs",
    "tmpfs",
    "vfat",
    "xfs",
    "zfs",
];

/// Whether a file system is of one machine.
pub(super) fn is_local(fs_type: &str) -> bool {
    LOCAL.contains(&fs_type)
}

/// How near two starts of one process number have to be for one process, in microseconds: records
/// begin to count a little after the time of day that they say, and numbers come again much later.
const SAME_START_US: i64 = 2_000_000;

/// Numbers by names, and what the latest run file added to them.
#[derive(Debug, Default)]
pub(super) struct JoinedNames {
    trees: HashMap<TreeName, u16>,
    classes: HashMap<Vec<u8>, u32>,
    files: HashMap<(u16, Vec<u8>), u32>,
    processes: HashMap<(String, u32), Vec<(i64, u32)>>,
    last_tree: u16,
    last_class: u32,
    last_file: u32,
    last_process: u32,
    seen_twice: u64,
    added: Added,
}

#[derive(Debug, Default)]
struct Added {
    trees: Vec<TreeName>,
    classes: Vec<Vec<u8>>,
    files: Vec<(u16, Vec<u8>)>,
    processes: Vec<(String, u32)>,
    seen_twice: u64,
}

impl JoinedNames {
    /// What comes now can be undone.
    pub(super) fn begin(&mut self) {
        self.added = Added::default();
    }

    /// Forgets what was added since the last [`begin`](JoinedNames::begin). Numbers are not used
    /// again.
    pub(super) fn undo(&mut self) {
        let added = std::mem::take(&mut self.added);
        for name in &added.trees {
            self.trees.remove(name);
        }
        for name in &added.classes {
            self.classes.remove(name);
        }
        for name in &added.files {
            self.files.remove(name);
        }
        for name in &added.processes {
            if let Some(known) = self.processes.get_mut(name) {
                known.pop();
            }
        }
        self.seen_twice -= added.seen_twice;
    }

    /// The directory, and whether it is new. `None`: there are too many.
    pub(super) fn tree(&mut self, name: TreeName) -> Option<(u16, bool)> {
        if let Some(&known) = self.trees.get(&name) {
            return Some((known, false));
        }
        let number = self.last_tree.checked_add(1)?;
        self.last_tree = number;
        self.trees.insert(name.clone(), number);
        self.added.trees.push(name);
        Some((number, true))
    }

    /// The class, and whether it is new.
    pub(super) fn class(&mut self, pattern: Vec<u8>) -> (u32, bool) {
        if let Some(&known) = self.classes.get(&pattern) {
            return (known, false);
        }
        self.last_class = self.last_class.saturating_add(1);
        let number = self.last_class;
        self.classes.insert(pattern.clone(), number);
        self.added.classes.push(pattern);
        (number, true)
    }

    /// The file that has this name last, and whether it is new.
    pub(super) fn file(&mut self, tree: u16, path: Vec<u8>) -> (u32, bool) {
        let name = (tree, path);
        if let Some(&known) = self.files.get(&name) {
            return (known, false);
        }
        let number = self.new_file();
        self.files.insert(name.clone(), number);
        self.added.files.push(name);
        (number, true)
    }

    /// A file whose name another has now.
    pub(super) fn new_file(&mut self) -> u32 {
        self.last_file = self.last_file.saturating_add(1);
        self.last_file
    }

    /// A process that nobody else has.
    pub(super) fn new_process(&mut self) -> u32 {
        self.last_process = self.last_process.saturating_add(1);
        self.last_process
    }

    /// The process, and whether it is new: on one machine, number and start tell one from all
    /// others. `at` is the machine's own time.
    pub(super) fn process(&mut self, host: &str, pid: u32, at: i64) -> (u32, bool) {
        let name = (host.to_owned(), pid);
        let near = |known: &&(i64, u32)| known.0.abs_diff(at) <= SAME_START_US as u64;
        if let Some(known) = self.processes.get(&name).and_then(|all| all.iter().find(near)) {
            self.seen_twice += 1;
            self.added.seen_twice += 1;
            return (known.1, false);
        }
        let number = self.new_process();
        self.processes.entry(name.clone()).or_default().push((at, number));
        self.added.processes.push(name);
        (number, true)
    }

    /// Processes that several run files had.
    pub(super) fn seen_twice(&self) -> u64 {
        self.seen_twice
    }
}

//! Brings files of one tree here, some at a time, and says how far it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;
use rustix::io::Errno;

use super::source::{BytesHere, FoundFile, WarmSource};
use super::{WarmNode, WarmTree};

/// Files at a time; a large one is brought by several requests at a time itself.
const AT_ONCE: usize = 4;
/// Failures that are told by name.
const NAMED: usize = 10;

/// A tree that is brought here.
pub(super) struct Bringing {
    progress: Mutex<Progress>,
    is_cancelled: AtomicBool,
}

#[derive(Default)]
struct Progress {
    node: WarmNode,
    /// Files that come just now.
    under_way: Vec<BytesHere>,
}

impl Bringing {
    pub(super) fn new(name: &str) -> Bringing {
        let node = WarmNode { name: name.to_owned(), ..WarmNode::default() };
        let progress = Mutex::new(Progress { node, ..Progress::default() });
        Bringing { progress, is_cancelled: AtomicBool::new(false) }
    }

    /// Nobody waits for it any more: no further file is begun.
    pub(super) fn cancel(&self) {
        self.is_cancelled.store(true, Relaxed);
    }

    /// How far it is.
    pub(super) fn state(&self) -> WarmNode {
        let progress = self.progress.lock();
        let mut node = progress.node.clone();
        let filled = progress.under_way.iter().map(|here| here());
        node.bytes.0 = (node.bytes.0 + filled.sum::<u64>()).min(node.bytes.1);
        node
    }

    fn note_failure(&self, path: &[u8], errno: Errno) {
        let mut progress = self.progress.lock();
        progress.node.failed += 1;
        if progress.node.why.len() < NAMED {
            let error = std::io::Error::from(errno);
            let why = format!("{}: {error}", String::from_utf8_lossy(path));
            progress.node.why.push(why);
        }
    }

    /// Brings all files at or below these paths.
    pub(super) fn bring_paths(&self, tree: &WarmTree, paths: &[Vec<u8>]) {
        if let Some(source) = tree.source.upgrade() {
            let mut files = Vec::new();
            for path in paths {
                source.for_each_file(path, &mut |file| files.push(file), &mut |path, errno| {
                    self.note_failure(path, errno);
                });
            }
            // Those that are named twice, or lie in two of the paths.
            files.sort_by(|a, b| a.path.cmp(&b.path));
            files.dedup();
            {
                let node = &mut self.progress.lock().node;
                node.files.1 = files.len() as u64;
                node.bytes.1 = files.iter().map(|file| file.size).sum();
            }
            self.bring_files(&*source, &files);
        } else {
            self.note_failure(tree.point.as_os_str().as_encoded_bytes(), Errno::NODEV);
        }
        self.progress.lock().node.is_over = true;
    }

    fn bring_files(&self, source: &dyn WarmSource, files: &[FoundFile]) {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(file) = files.get(next.fetch_add(1, Relaxed)) {
                if self.is_cancelled.load(Relaxed) {
                    return;
                }
                match self.bring_file(source, file) {
                    Ok(()) => {
                        let node = &mut self.progress.lock().node;
                        node.files.0 += 1;
                        node.bytes.0 += file.size;
                    }
                    Err(errno) => self.note_failure(&file.path, errno),
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE.min(files.len()) {
                scope.spawn(work);
            }
        });
    }

    fn bring_file(&self, source: &dyn WarmSource, file: &FoundFile) -> Result<(), Errno> {
        let mut begun = None;
        let brought = source.bring_file(&file.path, &mut |here| {
            self.progress.lock().under_way.push(Arc::clone(&here));
            begun = Some(here);
        });
        if let Some(here) = begun {
            self.progress.lock().under_way.retain(|one| !Arc::ptr_eq(one, &here));
        }
        brought
    }
}

//! Brings files of one tree here, some at a time, and says how far it is.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;
use rustix::io::Errno;

use super::tree_walk::{FoundFile, TreeWalk};
use super::{WarmNode, WarmTree};
use crate::backend::Backend;
use crate::native::ROOT;
use forebay_os::file_identity::{FileIdentity, statx_nofollow};

/// Files at a time; a large one is brought by several requests at a time itself.
const AT_ONCE: usize = 4;
/// Failures that are told by name.
const NAMED: usize = 10;

/// A tree that is brought here.
#[derive(Debug)]
pub(super) struct Bringing {
    progress: Mutex<Progress>,
    is_cancelled: AtomicBool,
}

#[derive(Debug, Default)]
struct Progress {
    node: WarmNode,
    /// Files that come just now.
    under_way: Vec<Arc<OwnedFd>>,
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
        // A file that has not come whole is a hole, of which some has been filled.
        let filled = progress.under_way.iter().filter_map(|file| {
            let stat = rustix::fs::fstat(&**file).ok()?;
            Some((stat.st_blocks as u64 * 512).min(stat.st_size as u64))
        });
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
        let session = tree.session.upgrade();
        let opened = session.as_ref().map(|session| session.native().dir_fd(ROOT));
        if let (Some(session), Some(Ok(root))) = (&session, opened) {
            let backend = session.native().shared_backend();
            let walk = TreeWalk { root: &root, backend: &*backend };
            let mut files = Vec::new();
            for path in paths {
                walk.for_each_file(path, &mut |file| files.push(file), &mut |path, errno| {
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
            self.bring_files(&walk, &backend, &files);
        } else {
            self.note_failure(tree.point.as_os_str().as_encoded_bytes(), Errno::NODEV);
        }
        self.progress.lock().node.is_over = true;
    }

    fn bring_files(&self, walk: &TreeWalk<'_>, backend: &Arc<dyn Backend>, files: &[FoundFile]) {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(file) = files.get(next.fetch_add(1, Relaxed)) {
                if self.is_cancelled.load(Relaxed) {
                    return;
                }
                match self.bring_file(walk, backend, file) {
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

    fn bring_file(
        &self,
        walk: &TreeWalk<'_>,
        backend: &Arc<dyn Backend>,
        file: &FoundFile,
    ) -> Result<(), Errno> {
        let opened = Arc::new(walk.open_path(&file.path)?);
        let pinned = backend.pin_bytes_for_open();
        let identity = FileIdentity::from_statx(&statx_nofollow(opened.as_fd(), c"")?);
        let source = Arc::clone(backend).open_source(&identity, opened.as_fd())?;
        drop(pinned);
        // All of it is here, or it is decoded as it is read.
        let Some(source) = source.filter(|source| source.own_length().is_none()) else {
            return Ok(());
        };
        self.progress.lock().under_way.push(Arc::clone(&opened));
        let brought = source.fetch_all();
        source.close();
        self.progress.lock().under_way.retain(|one| !Arc::ptr_eq(one, &opened));
        brought
    }
}

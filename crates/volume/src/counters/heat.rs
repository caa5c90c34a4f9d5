//! Which files are used much: bytes through each open file, and a short memory of those closed.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustc_hash::FxHashMap;

use crate::ipc::FileStatus;

/// Files that are remembered; when there are twice as many, the cooler half goes.
const KEPT: usize = 256;
/// What an open is worth beside bytes: names cost, too.
const OPEN_BYTES: u64 = 4096;

/// Bytes through one open file.
#[derive(Debug, Default)]
pub(crate) struct FileTraffic {
    read: AtomicU64,
    written: AtomicU64,
}

impl FileTraffic {
    pub(crate) fn add_read(&self, bytes: usize) {
        self.read.fetch_add(bytes as u64, Relaxed);
    }

    /// As it is now.
    pub(crate) fn snapshot_counts(&self) -> FileTraffic {
        let now = |sum: &AtomicU64| AtomicU64::new(sum.load(Relaxed));
        FileTraffic { read: now(&self.read), written: now(&self.written) }
    }

    pub(crate) fn add_written(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Relaxed);
    }
}

/// Files by path, and how they were used.
#[derive(Debug, Default)]
pub(crate) struct Heat(FxHashMap<Box<[u8]>, FileStatus>);

impl Heat {
    /// A file is closed.
    pub(crate) fn record_close(&mut self, path: &[u8], flow: &FileTraffic) {
        self.add_file(path, flow, 0);
        if self.0.len() >= 2 * KEPT {
            let mut all: Vec<u64> = self.0.values().map(warmth).collect();
            all.sort_unstable();
            let least = all[all.len() - KEPT];
            self.0.retain(|_, file| warmth(file) > least);
        }
    }

    /// A file that is open now.
    pub(crate) fn record_open(&mut self, path: &[u8], flow: &FileTraffic) {
        self.add_file(path, flow, 1);
    }

    fn add_file(&mut self, path: &[u8], flow: &FileTraffic, open: u64) {
        let file = match self.0.get_mut(path) {
            Some(file) => file,
            None => {
                let name = String::from_utf8_lossy(path).into_owned();
                self.0
                    .entry(path.into())
                    .or_insert(FileStatus { path: name, ..FileStatus::default() })
            }
        };
        file.open += open;
        file.opens += 1;
        file.read += flow.read.load(Relaxed);
        file.written += flow.written.load(Relaxed);
    }

    /// The hottest files, with those that are open now.
    pub(crate) fn hottest_files(&self, opened: Heat, most: usize) -> Vec<FileStatus> {
        let mut all = opened.0;
        for (path, file) in &self.0 {
            let both = all
                .entry(path.clone())
                .or_insert_with(|| FileStatus { path: file.path.clone(), ..FileStatus::default() });
            both.opens += file.opens;
            both.read += file.read;
            both.written += file.written;
        }
        let mut all: Vec<FileStatus> = all.into_values().collect();
        all.sort_by(|a, b| {
            let key = |file: &FileStatus| (file.open > 0, warmth(file));
            key(b).cmp(&key(a)).then_with(|| a.path.cmp(&b.path))
        });
        all.truncate(most);
        all
    }
}

fn warmth(file: &FileStatus) -> u64 {
    file.read + file.written + file.opens * OPEN_BYTES
}

#[cfg(test)]
mod tests {
    //! If these fail, the daemon of a long run grows with every file that it ever saw.
    use super::*;

    fn flow(bytes: usize) -> FileTraffic {
        let flow = FileTraffic::default();
        flow.add_read(bytes);
        flow
    }

    #[test]
    fn the_hot_are_kept_and_the_others_forgotten() {
        let mut heat = Heat::default();
        heat.record_close(b"hot", &flow(1 << 30));
        for number in 0..100_000 {
            heat.record_close(format!("cool/{number}").as_bytes(), &flow(1));
        }
        assert!(heat.0.len() < 2 * KEPT);
        let mut opened = Heat::default();
        opened.record_open(b"now\xff", &flow(3));
        let told = heat.hottest_files(opened, 2);
        assert_eq!((told[0].path.as_str(), told[0].open), ("now\u{fffd}", 1), "who is open, first");
        assert_eq!((told[1].path.as_str(), told[1].opens, told[1].read), ("hot", 1, 1 << 30));
    }
}

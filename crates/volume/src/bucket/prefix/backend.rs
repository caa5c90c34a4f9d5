//! What a prefix of somebody's bucket does beside the directory that stands for it: nothing in it
//! is ever changed.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::fs::Statx;

use super::super::extended::OURS;
use super::super::source::{far_bytes, threads};
use super::Prefix;
use crate::backend::{Backend, OpenFolder, Result, Source};
use forebay_os::files::FileIdentity;

impl Backend for Prefix {
    fn threads(&self, _usual: usize) -> (usize, usize) {
        threads()
    }

    fn is_listed(&self, folder: u64) -> bool {
        self.has_listed(folder)
    }

    fn list(&self, folder: u64, open: OpenFolder<'_>) -> Result<()> {
        self.look(folder, open)
    }

    fn open(
        self: Arc<Self>,
        file: &FileIdentity,
        descriptor: BorrowedFd<'_>,
    ) -> Result<Option<Arc<dyn Source>>> {
        far_bytes(&self.bodies, file, self.body(file, descriptor))
    }

    fn give_times(&self, file: &FileIdentity, stat: &mut Statx, again: &dyn Fn() -> Result<Statx>) {
        self.bodies.give_times(file, stat, again);
    }

    fn hides_attribute(&self, name: &[u8]) -> bool {
        name.starts_with(OURS)
    }

    fn told(&self) -> Vec<String> {
        self.troubles()
    }

    fn finish(&self) -> Vec<String> {
        self.end()
    }
}

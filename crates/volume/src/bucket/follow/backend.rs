//! What a volume that another machine writes does beside its local tree: only its log changes that.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::fs::Statx;

use super::super::extended::OURS;
use super::super::source::{far_bytes, threads};
use super::Follow;
use crate::backend::{Backend, Result, Source};
use forebay_os::files::FileIdentity;

impl Backend for Follow {
    fn threads(&self, _usual: usize) -> (usize, usize) {
        threads()
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

    fn trouble(&self) -> Option<String> {
        self.out_of_reach()
    }

    fn finish(&self) -> Vec<String> {
        self.end()
    }

    fn let_go(&self) {
        self.remove_local();
    }
}

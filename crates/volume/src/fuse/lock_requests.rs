//! Requests for locks.

use std::sync::Arc;

use forebay_model::Op;
use zerocopy::IntoBytes;

use super::abi::{self, FileLock, LkIn};
use super::reply_path::ReplyPath;
use super::session::{Request, Session};
use crate::native::{AdvisoryLock, LockOutcome, Result};
use forebay_os::credentials::Caller;

impl Session {
    pub(super) fn getlk(&self, request: &Request<'_>) -> Result<()> {
        let (ask, _) = request.parse_body::<LkIn>()?;
        let found = self.tree.native.getlk(ask.fh, lock_from_request(ask))?;
        let out = FileLock {
            start: found.start,
            end: found.end,
            kind: found.kind as u32,
            pid: found.pid,
        };
        request.send_reply(&[out.as_bytes()]);
        self.count_request(request, Op::Lock, self.class_of_id(request.node_id()), false);
        Ok(())
    }

    pub(super) fn setlk(&self, request: &Request<'_>, sleep: bool) -> Result<()> {
        let (ask, _) = request.parse_body::<LkIn>()?;
        let outcome = self.tree.native.setlk(ask.fh, lock_from_request(ask), sleep);
        self.count_request(
            request,
            Op::Lock,
            self.class_of_id(request.node_id()),
            outcome.is_err(),
        );
        match outcome? {
            LockOutcome::Done => request.send_reply(&[]),
            LockOutcome::Later(waiting) => match request.reply {
                ReplyPath::Device(device) => {
                    let native = Arc::clone(&self.tree.native);
                    let header = request.header;
                    let caller = Caller { pid: header.pid, uid: header.uid, gid: header.gid };
                    let act = move || native.impersonate_caller(caller);
                    self.waiters.wait_in_thread(header.unique, device.clone(), waiting, act);
                }
                // Its place in the queue is taken until it is answered, and the thread with it.
                ReplyPath::Entry(_) => request.waits.set(Some(waiting)),
            },
        }
        Ok(())
    }
}

fn lock_from_request(ask: &LkIn) -> AdvisoryLock {
    AdvisoryLock {
        start: ask.lk.start,
        end: ask.lk.end,
        kind: ask.lk.kind as i32,
        pid: ask.lk.pid,
        owner: ask.owner,
        flock: ask.lk_flags & abi::LK_FLOCK != 0,
    }
}

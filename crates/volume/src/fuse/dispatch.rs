//! The sorting of requests: each goes to the verb of its kind, if whoever asks is welcome.

use std::cell::Cell;

use forebay_model::OpCount;
use rustix::io::Errno;
use zerocopy::FromBytes;

use super::abi::{self, InHeader, op};
use super::opcodes::{HANDED, NAMING, OF_OPEN, OF_TWO, Opcode, RIGHTLESS, UNASKED};
use super::reply_path::ReplyPath;
use super::request_cost::{self, CostProbe};
use super::session::{Request, Session};
use crate::native::{PendingLock, RelocationReadGuard};
use forebay_os::credentials::Caller;

impl Session {
    /// Hands a request to the room that serves its kind. Gives a lock that this thread has to wait
    /// for, and answer, once nothing is held any more.
    pub(super) fn dispatch_request(
        &self,
        header: &InHeader,
        body: &[u8],
        reply: ReplyPath<'_>,
        scratch: &mut Vec<u8>,
    ) -> Option<PendingLock> {
        let refuse = |error| {
            reply.send_error(header.unique, error);
            None
        };
        match header.opcode {
            op::FORGET | op::BATCH_FORGET => self.forget(header, body),
            op::INTERRUPT => self.waiters.interrupt(body),
            _ => {}
        }
        if matches!(header.opcode, op::FORGET | op::BATCH_FORGET | op::INTERRUPT) {
            return None;
        }
        let is_over = self.gate.read_recursive();
        if *is_over {
            return refuse(Errno::NOTCONN);
        }
        let Some(opcode) = Opcode::from_code(header.opcode) else {
            return refuse(Errno::NOSYS);
        };
        if self.tree.only_for.is_some_and(|owner| !may_use_mount(header, opcode, owner)) {
            return refuse(Errno::ACCESS);
        }
        let clock = self.recorder.clock();
        let began = clock.elapsed_nanos();
        self.tree.fast_wake.iter().for_each(|wake| wake.count_request(began));
        if let Some(asked) = CostProbe::from_request(header, body) {
            if let CostProbe::Took(nanos) = asked {
                self.recorder.note_request_latency(nanos);
            }
            request_cost::answer_probe(header, body, reply);
            return None;
        }
        let asked = Cell::new(self.device.begin_request(header, body));
        // A caller may hold its own locks when it reads, writes or closes: don't look it up then.
        let of_collected = abi::tells_collected_times(header, body);
        let process = match (self.recorder.is_silent(), of_collected || opcode.has_fact(UNASKED)) {
            (true, _) => None,
            (_, true) => self.processes.lookup_cached(header.pid),
            (_, false) => self.processes.identify_thread(header.pid),
        };
        let caller = Caller { pid: header.pid, uid: header.uid, gid: header.gid };
        let request = Request {
            header,
            body,
            reply,
            process,
            clock,
            began,
            took: Cell::new(None),
            refused: Cell::new(None),
            asked,
            held_back: Cell::new(0),
            counted: Cell::new(None),
            waits: Cell::new(None),
        };
        if of_collected {
            // Whoever closes a file need not own it.
            self.tree.native.revert_credentials();
        } else if !opcode.has_fact(RIGHTLESS)
            && let Err(error) = self.tree.native.impersonate_caller(caller)
        {
            request.send_error(error);
            return None;
        }
        let _naming = opcode.has_fact(NAMING).then(|| self.tree.native.naming.read_recursive());
        let _still = self.lock_against_relocation(header, opcode, body);
        if let Err(error) = (opcode.serve)(self, &request, scratch) {
            request.send_error(error);
        }
        if let Some(error) = request.refused.get() {
            self.report_failed_request(header, error);
        }
        if let (nanos @ 1.., Some(counted)) = (request.held_back.get(), request.counted.get()) {
            let (process, tree, class, key) = counted;
            self.recorder.count_operation(
                process,
                tree,
                class,
                key,
                OpCount { nanos, ..OpCount::default() },
            );
        }
        request.waits.take()
    }

    /// What a request names does not change its place meanwhile; what it has open does not anyway.
    fn lock_against_relocation(
        &self,
        header: &InHeader,
        opcode: &Opcode,
        body: &[u8],
    ) -> Option<RelocationReadGuard<'_>> {
        let native = &self.tree.native;
        if !native.tiers().is_some_and(|tiers| tiers.can_migrate_files())
            || opcode.has_fact(OF_OPEN)
        {
            return None;
        }
        let two = opcode.has_fact(OF_TWO);
        let other = two.then(|| u64::read_from_prefix(body).ok()).flatten().map(|(id, _)| id);
        Some(native.still.lock_shared(header.nodeid, other))
    }

    fn forget(&self, header: &InHeader, body: &[u8]) {
        let native = &self.tree.native;
        if header.opcode == op::FORGET {
            if let Ok((forget, _)) = abi::ForgetIn::ref_from_prefix(body) {
                native.forget(header.nodeid, forget.nlookup);
            }
        } else if let Ok((_, rest)) = abi::BatchForgetIn::ref_from_prefix(body) {
            let whole = rest.len() / size_of::<abi::ForgetOne>() * size_of::<abi::ForgetOne>();
            if let Ok(list) = <[abi::ForgetOne]>::ref_from_bytes(&rest[..whole]) {
                list.iter().for_each(|one| native.forget(one.nodeid, one.nlookup));
            }
        }
    }
}

/// Whether somebody may use a mount that is for its owner and root alone. What acts through a file
/// that is open already may come from anybody to whom it was handed.
fn may_use_mount(header: &InHeader, opcode: &Opcode, owner: u32) -> bool {
    header.uid == owner || header.uid == 0 || opcode.has_fact(HANDED)
}

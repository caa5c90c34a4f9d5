//! The sorting of requests: each goes to the verb of its kind, if whoever asks is welcome.

use std::cell::Cell;

use forebay_model::OpCount;
use rustix::io::Errno;
use zerocopy::FromBytes;

use super::abi::{self, InHeader, op};
use super::cost::{self, Asked};
use super::device::Device;
use super::opcodes::{HANDED, NAMING, OF_OPEN, OF_TWO, Opcode, RIGHTLESS, UNASKED};
use super::session::{Request, Session};
use crate::native::Stays;
use forebay_os::credentials::Caller;

impl Session {
    /// Hands a request to the room that serves its kind.
    pub(super) fn sort(
        &self,
        header: &InHeader,
        body: &[u8],
        device: &Device,
        scratch: &mut Vec<u8>,
    ) {
        match header.opcode {
            op::FORGET | op::BATCH_FORGET => return self.forget(header, body),
            op::INTERRUPT => return self.waiters.interrupt(body),
            _ => {}
        }
        let is_over = self.gate.read_recursive();
        if *is_over {
            return device.refuse(header.unique, Errno::NOTCONN);
        }
        let Some(opcode) = Opcode::of(header.opcode) else {
            return device.refuse(header.unique, Errno::NOSYS);
        };
        if self.tree.only_for.is_some_and(|owner| !is_welcome(header, opcode, owner)) {
            return device.refuse(header.unique, Errno::ACCESS);
        }
        if let Some(asked) = Asked::of(header, body) {
            if let Asked::Took(nanos) = asked {
                self.recorder.requests_take(nanos);
            }
            return cost::answer(header, body, device);
        }
        let asked = Cell::new(device.begin(header, body));
        let clock = self.recorder.clock();
        let began = clock.nanos();
        self.tree.fast_wake.iter().for_each(|wake| wake.request(began));
        // A caller may hold its own locks when it reads, writes or closes: don't look it up then.
        let of_collected = abi::is_of_collected(header, body);
        let process = match (self.recorder.is_silent(), of_collected || opcode.is(UNASKED)) {
            (true, _) => None,
            (_, true) => self.processes.recall(header.pid),
            (_, false) => self.processes.identify(header.pid),
        };
        let caller = Caller { pid: header.pid, uid: header.uid, gid: header.gid };
        let request = Request {
            header,
            body,
            device,
            process,
            clock,
            began,
            took: Cell::new(None),
            refused: Cell::new(None),
            asked,
            held_back: Cell::new(0),
            counted: Cell::new(None),
        };
        if of_collected {
            // Whoever closes a file need not own it.
            self.tree.native.act_as_itself();
        } else if !opcode.is(RIGHTLESS)
            && let Err(error) = self.tree.native.act_as(caller)
        {
            return request.refuse(error);
        }
        let _naming = opcode.is(NAMING).then(|| self.tree.native.naming.read_recursive());
        let _still = self.stays(header, opcode, body);
        if let Err(error) = (opcode.serve)(self, &request, scratch) {
            request.refuse(error);
        }
        if let Some(error) = request.refused.get() {
            self.tell_failed(header, error);
        }
        if let (nanos @ 1.., Some(counted)) = (request.held_back.get(), request.counted.get()) {
            let (process, tree, class, key) = counted;
            self.recorder.count(process, tree, class, key, OpCount { nanos, ..OpCount::default() });
        }
    }

    /// What a request names does not change its place meanwhile; what it has open does not anyway.
    fn stays(&self, header: &InHeader, opcode: &Opcode, body: &[u8]) -> Option<Stays<'_>> {
        let native = &self.tree.native;
        if !native.tiers().is_some_and(|tiers| tiers.moves()) || opcode.is(OF_OPEN) {
            return None;
        }
        let two = opcode.is(OF_TWO);
        let other = two.then(|| u64::read_from_prefix(body).ok()).flatten().map(|(id, _)| id);
        Some(native.still.stay(header.nodeid, other))
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
fn is_welcome(header: &InHeader, opcode: &Opcode, owner: u32) -> bool {
    header.uid == owner || header.uid == 0 || opcode.is(HANDED)
}

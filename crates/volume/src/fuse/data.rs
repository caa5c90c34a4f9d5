//! Requests about open files: opening, reading, writing, closing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use forebay_model::{Op, Pattern, ProcessId};
use rustix::io::Errno;
use zerocopy::IntoBytes;

use super::abi::{self, op};
use super::reply::open_out;
use super::session::{MOST_BYTES, Request, Session, name};
use crate::native::{Handle, IoState, Node, Opened, Permissions, Result};
use crate::recorder::Opening;

impl Session {
    pub(super) fn open(&self, request: &Request<'_>) -> Result<()> {
        let (ask, _) = request.parse::<abi::OpenIn>()?;
        match self.tree.native.open(request.node(), ask.flags) {
            Ok((opened, node)) => {
                self.record_open(request.process, &node, &opened, ask.flags, false);
                request.reply(&[open_out(&opened, self.device.closes_quietly()).as_bytes()]);
                self.count_file(request, Op::Open, &node, &opened);
                Ok(())
            }
            Err(error) => {
                self.count(request, Op::Open, self.class_of_id(request.node()), true);
                Err(error)
            }
        }
    }

    pub(super) fn create(&self, request: &Request<'_>) -> Result<()> {
        let (ask, rest) = request.parse::<abi::CreateIn>()?;
        let (new, _) = name(rest)?;
        let permissions = Permissions { mode: ask.mode, umask: ask.umask };
        let native = &self.tree.native;
        let made = match request.header.opcode {
            op::CREATE => {
                let thread = request.header.pid;
                native.create(request.node(), new, ask.flags, permissions, thread)
            }
            _ => native.create_unnamed(request.node(), ask.flags, permissions),
        };
        match made {
            Ok((created, node)) => {
                self.record_open(request.process, &node, &created.opened, ask.flags, true);
                let entry = self.entry_out(&created.entry);
                request.reply(&[
                    entry.as_bytes(),
                    open_out(&created.opened, self.device.closes_quietly()).as_bytes(),
                ]);
                self.count_file(request, Op::Create, &node, &created.opened);
                Ok(())
            }
            Err(error) => {
                self.count(request, Op::Create, self.class_of_name(request.node(), new), true);
                Err(error)
            }
        }
    }

    fn record_open(
        &self,
        process: Option<ProcessId>,
        node: &Arc<Node>,
        opened: &Opened,
        flags: u32,
        created: bool,
    ) {
        let (Some(process), Ok(handle)) = (process, self.tree.native.handle(opened.fh)) else {
            return;
        };
        let opening = Opening {
            process,
            created,
            write: flags & libc::O_ACCMODE as u32 != 0,
            only_writes: flags & libc::O_ACCMODE as u32 == libc::O_WRONLY as u32,
            size: opened.size,
            hidden: opened.state == IoState::Passthrough,
            cached: opened.state == IoState::Cached,
            copy: opened.tier,
        };
        let record = self.recorder.open(self.tree.id, &self.known(node), &opening);
        let _ = handle.record.set(record);
    }

    pub(super) fn read(&self, request: &Request<'_>, scratch: &mut Vec<u8>) -> Result<()> {
        let (ask, _) = request.parse::<abi::ReadIn>()?;
        let handle = self.tree.native.handle(ask.fh)?;
        let size = (ask.size as usize).min(MOST_BYTES);
        if scratch.len() < size {
            scratch.resize(size, 0);
        }
        // Who calls read(2) is named as the owner of locks; the kernel itself is not.
        let keeps = ask.read_flags & abi::READ_LOCKOWNER == 0;
        let count = self.tree.native.read(&handle, &mut scratch[..size], ask.offset, keeps)?;
        // Before the answer: a close or the next read may follow it at once, on another thread.
        handle.flow.read(count);
        if let Some(record) = handle.record.get() {
            record.read(count as u64);
        }
        let pattern = pattern(&handle.read_end, ask.offset, count as u64);
        request.reply(&[&scratch[..count]]);
        self.count_data(request, Op::Read, &handle, count as u64, pattern);
        Ok(())
    }

    pub(super) fn write(&self, request: &Request<'_>) -> Result<()> {
        let (ask, data) = request.parse::<abi::WriteIn>()?;
        let handle = self.tree.native.handle(ask.fh)?;
        let data = data.get(..ask.size as usize).ok_or(Errno::INVAL)?;
        let native = &self.tree.native;
        let count = if ask.write_flags & abi::WRITE_CACHE == 0 {
            native.follow_append(&handle, ask.flags)?;
            native.write(&handle, data, ask.offset)?
        } else {
            native.write_mapped(&handle, data, ask.offset)?
        };
        // Before the answer, as with reads.
        handle.flow.wrote(count);
        if let Some(record) = handle.record.get() {
            record.wrote(count as u64);
        }
        let mut pattern = pattern(&handle.write_end, ask.offset, count as u64);
        if ask.write_flags & abi::WRITE_CACHE != 0 {
            pattern = pattern.of_collected(count as u64);
        }
        request.reply(&[abi::WriteOut { size: count as u32, padding: 0 }.as_bytes()]);
        self.count_data(request, Op::Write, &handle, count as u64, pattern);
        Ok(())
    }

    pub(super) fn flush(&self, request: &Request<'_>) -> Result<()> {
        let (ask, _) = request.parse::<abi::FlushIn>()?;
        let handle = self.tree.native.handle(ask.fh)?;
        let done = self.tree.native.flush(&handle, ask.lock_owner);
        // The caller still lives: the best moment to see what it has used.
        if let Some(process) = request.process {
            self.processes.account(process);
        }
        self.count_open(request, Op::Flush, &handle, done.is_err());
        request.done(done);
        Ok(())
    }

    pub(super) fn release(&self, request: &Request<'_>) -> Result<()> {
        let (ask, _) = request.parse::<abi::ReleaseIn>()?;
        let native = &self.tree.native;
        let _releasing = native.releasing();
        // With its last close the bytes of a packed file go elsewhere: looked at before.
        let left = native.handle(ask.fh).map(|handle| self.left(&handle)).unwrap_or_default();
        let handle = native.release(ask.fh);
        request.reply(&[]);
        if let Some(handle) = handle {
            self.count_open(request, Op::Close, &handle, false);
            self.remember(&handle);
            self.record_close(&handle, left);
        }
        Ok(())
    }

    /// What a file that was written is like as it is closed: its size, and what it says if engines
    /// of workflows write such files.
    pub(super) fn left(&self, handle: &Handle) -> (Option<u64>, Option<Vec<u8>>) {
        if !handle.writes || handle.record.get().is_none() {
            return (None, None);
        }
        let native = &self.tree.native;
        let wanted = forebay_model::tasks::wanted(&self.known(&handle.node).path);
        (native.size(handle), wanted.then(|| native.head(handle, 64 << 10)))
    }

    pub(super) fn record_close(
        &self,
        handle: &Handle,
        (size, content): (Option<u64>, Option<Vec<u8>>),
    ) {
        let Some(record) = handle.record.get() else { return };
        self.recorder.close(record, size);
        self.processes.account(record.process);
        let Some(content) = content else { return };
        let known = self.known(&handle.node);
        if let Some(tiers) = self.tree.native.tiers() {
            tiers.engine_file(&known.path, &content);
        }
        self.recorder.engine_file(self.tree.id, &known.path, content);
    }
}

/// Whether an access goes on where the last one ended. Asked before the answer: the caller's next
/// access comes after it, perhaps on another thread.
fn pattern(end: &AtomicU64, offset: u64, count: u64) -> Pattern {
    Pattern::after(end.swap(offset + count, Relaxed), offset, count)
}

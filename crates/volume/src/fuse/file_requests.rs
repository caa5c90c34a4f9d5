//! Requests about open files: opening, reading, writing, closing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use forebay_model::{AccessPattern, Op, ProcessId};
use rustix::io::Errno;
use zerocopy::IntoBytes;

use super::abi::{self, op};
use super::reply::open_out;
use super::session::{MOST_BYTES, Request, Session, parse_name};
use crate::native::{CreateMode, FileHandle, IoState, Node, OpenReply, Result};
use crate::recorder::OpenFacts;

impl Session {
    pub(super) fn open(&self, request: &Request<'_>) -> Result<()> {
        let (ask, _) = request.parse_body::<abi::OpenIn>()?;
        match self.tree.native.open(request.node_id(), ask.flags) {
            Ok((opened, node)) => {
                self.record_open(request.process, &node, &opened, ask.flags, false);
                request.send_reply(&[open_out(&opened, self.device.closes_quietly()).as_bytes()]);
                self.count_file_request(request, Op::Open, &node, &opened);
                Ok(())
            }
            Err(error) => {
                self.count_request(request, Op::Open, self.class_of_id(request.node_id()), true);
                Err(error)
            }
        }
    }

    pub(super) fn create(&self, request: &Request<'_>) -> Result<()> {
        let (ask, rest) = request.parse_body::<abi::CreateIn>()?;
        let (new, _) = parse_name(rest)?;
        let permissions = CreateMode { mode: ask.mode, umask: ask.umask };
        let native = &self.tree.native;
        let made = match request.header.opcode {
            op::CREATE => {
                let thread = request.header.pid;
                native.create(request.node_id(), new, ask.flags, permissions, thread)
            }
            _ => native.create_unnamed(request.node_id(), ask.flags, permissions),
        };
        match made {
            Ok((created, node)) => {
                self.record_open(request.process, &node, &created.opened, ask.flags, true);
                let entry = self.entry_out(&created.entry);
                request.send_reply(&[
                    entry.as_bytes(),
                    open_out(&created.opened, self.device.closes_quietly()).as_bytes(),
                ]);
                self.count_file_request(request, Op::Create, &node, &created.opened);
                Ok(())
            }
            Err(error) => {
                self.count_request(
                    request,
                    Op::Create,
                    self.class_of_name(request.node_id(), new),
                    true,
                );
                Err(error)
            }
        }
    }

    fn record_open(
        &self,
        process: Option<ProcessId>,
        node: &Arc<Node>,
        opened: &OpenReply,
        flags: u32,
        created: bool,
    ) {
        let (Some(process), Ok(handle)) = (process, self.tree.native.handle(opened.fh)) else {
            return;
        };
        let opening = OpenFacts {
            process,
            created,
            write: flags & libc::O_ACCMODE as u32 != 0,
            only_writes: flags & libc::O_ACCMODE as u32 == libc::O_WRONLY as u32,
            size: opened.size,
            hidden: opened.state == IoState::Passthrough,
            cached: opened.state == IoState::Cached,
            copy: opened.tier,
        };
        let record =
            self.recorder.begin_open_record(self.tree.id, &self.known_to_recorder(node), &opening);
        let _ = handle.record.set(record);
    }

    pub(super) fn read(&self, request: &Request<'_>, scratch: &mut Vec<u8>) -> Result<()> {
        let (ask, _) = request.parse_body::<abi::ReadIn>()?;
        let handle = self.tree.native.handle(ask.fh)?;
        let size = (ask.size as usize).min(MOST_BYTES);
        if scratch.len() < size {
            scratch.resize(size, 0);
        }
        // Who calls read(2) is named as the owner of locks; the kernel itself is not.
        let keeps = ask.read_flags & abi::READ_LOCKOWNER == 0;
        let count = self.tree.native.read(&handle, &mut scratch[..size], ask.offset, keeps)?;
        // Before the answer: a close or the next read may follow it at once, on another thread.
        handle.flow.add_read(count);
        if let Some(record) = handle.record.get() {
            record.add_read(count as u64);
        }
        let pattern = access_pattern(&handle.read_end, ask.offset, count as u64);
        request.send_reply(&[&scratch[..count]]);
        self.count_data_request(request, Op::Read, &handle, count as u64, pattern);
        Ok(())
    }

    pub(super) fn write(&self, request: &Request<'_>) -> Result<()> {
        let (ask, data) = request.parse_body::<abi::WriteIn>()?;
        let handle = self.tree.native.handle(ask.fh)?;
        let data = data.get(..ask.size as usize).ok_or(Errno::INVAL)?;
        let native = &self.tree.native;
        let count = if ask.write_flags & abi::WRITE_CACHE == 0 {
            native.apply_append_flag(&handle, ask.flags)?;
            native.write(&handle, data, ask.offset)?
        } else {
            native.write_mapped(&handle, data, ask.offset)?
        };
        // Before the answer, as with reads.
        handle.flow.add_written(count);
        if let Some(record) = handle.record.get() {
            record.add_write(count as u64);
        }
        let mut pattern = access_pattern(&handle.write_end, ask.offset, count as u64);
        if ask.write_flags & abi::WRITE_CACHE != 0 {
            pattern = pattern.as_collected_write(count as u64);
        }
        request.send_reply(&[abi::WriteOut { size: count as u32, padding: 0 }.as_bytes()]);
        self.count_data_request(request, Op::Write, &handle, count as u64, pattern);
        Ok(())
    }

    pub(super) fn flush(&self, request: &Request<'_>) -> Result<()> {
        let (ask, _) = request.parse_body::<abi::FlushIn>()?;
        let handle = self.tree.native.handle(ask.fh)?;
        let done = self.tree.native.flush(&handle, ask.lock_owner);
        // The caller still lives: the best moment to see what it has used.
        if let Some(process) = request.process {
            self.processes.request_accounting(process);
        }
        self.count_handle_request(request, Op::Flush, &handle, done.is_err());
        request.reply_result(done);
        Ok(())
    }

    pub(super) fn release(&self, request: &Request<'_>) -> Result<()> {
        let (ask, _) = request.parse_body::<abi::ReleaseIn>()?;
        let native = &self.tree.native;
        let _releasing = native.begin_release();
        // With its last close the bytes of a packed file go elsewhere: looked at before.
        let left = native
            .handle(ask.fh)
            .map(|handle| self.inspect_before_close(&handle))
            .unwrap_or_default();
        let handle = native.release(ask.fh);
        request.send_reply(&[]);
        if let Some(handle) = handle {
            self.count_handle_request(request, Op::Close, &handle, false);
            self.remember_closed_file(&handle);
            self.record_close(&handle, left);
        }
        Ok(())
    }

    /// What a file that was written is like as it is closed: its size, and what it says if engines
    /// of workflows write such files.
    pub(super) fn inspect_before_close(
        &self,
        handle: &FileHandle,
    ) -> (Option<u64>, Option<Vec<u8>>) {
        if !handle.writes || handle.record.get().is_none() {
            return (None, None);
        }
        let native = &self.tree.native;
        let wanted =
            forebay_model::tasks::is_control_file(&self.known_to_recorder(&handle.node).path);
        (native.written_file_size(handle), wanted.then(|| native.read_head(handle, 64 << 10)))
    }

    pub(super) fn record_close(
        &self,
        handle: &FileHandle,
        (size, content): (Option<u64>, Option<Vec<u8>>),
    ) {
        let Some(record) = handle.record.get() else { return };
        let size = size.or_else(|| self.tree.native.packed_file_size(handle));
        self.recorder.end_open_record(record, size);
        self.processes.request_accounting(record.process);
        let Some(content) = content else { return };
        let known = self.known_to_recorder(&handle.node);
        if let Some(tiers) = self.tree.native.tiers() {
            tiers.note_engine_file(&known.path, &content);
        }
        self.recorder.record_engine_file(self.tree.id, &known.path, content);
    }
}

/// Whether an access goes on where the last one ended. Asked before the answer: the caller's next
/// access comes after it, perhaps on another thread.
fn access_pattern(end: &AtomicU64, offset: u64, count: u64) -> AccessPattern {
    AccessPattern::from_offsets(end.swap(offset + count, Relaxed), offset, count)
}

//! Requests about open files that programs seldom make: to the disk, room ahead, holes, copies.

use forebay_model::{AccessPattern, Op};
use rustix::io::Errno;
use zerocopy::IntoBytes;

use super::abi;
use super::session::{Request, Session};
use crate::native::Result;

impl Session {
    pub(super) fn syncfs(&self, request: &Request<'_>) -> Result<()> {
        // What programs wrote is with the backing file system already; sync(2) goes on there.
        request.reply_result(self.tree.native.sync_pack());
        Ok(())
    }

    pub(super) fn fsync(&self, request: &Request<'_>) -> Result<()> {
        let (ask, _) = request.parse_body::<abi::FsyncIn>()?;
        let handle = self.tree.native.handle(ask.fh)?;
        let data_only = ask.fsync_flags & abi::FSYNC_DATA_ONLY != 0;
        self.tree.native.write_held_pages(&handle);
        let done = self.tree.native.fsync(&handle, data_only);
        self.count_handle_request(request, Op::Fsync, &handle, done.is_err());
        request.reply_result(done);
        Ok(())
    }

    pub(super) fn fallocate(&self, request: &Request<'_>) -> Result<()> {
        let (ask, _) = request.parse_body::<abi::FallocateIn>()?;
        let handle = self.tree.native.handle(ask.fh)?;
        self.tree.native.write_held_pages(&handle);
        let done = self.tree.native.fallocate(&handle, ask.mode, ask.offset, ask.length);
        self.count_handle_request(request, Op::Fallocate, &handle, done.is_err());
        request.reply_result(done);
        Ok(())
    }

    pub(super) fn lseek(&self, request: &Request<'_>) -> Result<()> {
        if self.tree.native.collects_writes() {
            // The kernel does not ask with what it has collected in mind: without an answer it
            // takes a file for one piece of data.
            return Err(Errno::NOSYS);
        }
        let (ask, _) = request.parse_body::<abi::LseekIn>()?;
        let handle = self.tree.native.handle(ask.fh)?;
        let offset = self.tree.native.seek_data_or_hole(&handle, ask.offset, ask.whence)?;
        request.send_reply(&[abi::LseekOut { offset }.as_bytes()]);
        self.count_handle_request(request, Op::Seek, &handle, false);
        Ok(())
    }

    pub(super) fn copy_file_range(&self, request: &Request<'_>) -> Result<()> {
        let (ask, _) = request.parse_body::<abi::CopyFileRangeIn>()?;
        let native = &self.tree.native;
        let (from, to) = (native.handle(ask.fh_in)?, native.handle(ask.fh_out)?);
        native.write_held_pages(&from);
        native.write_held_pages(&to);
        let count = native.copy_file_range(&from, ask.off_in, &to, ask.off_out, ask.len)?;
        from.flow.add_read(count);
        to.flow.add_written(count);
        if let Some(record) = from.record.get() {
            record.add_read(count as u64);
        }
        if let Some(record) = to.record.get() {
            record.add_write(count as u64);
        }
        request.send_reply(&[abi::WriteOut { size: count as u32, padding: 0 }.as_bytes()]);
        self.count_data_request(
            request,
            Op::CopyRange,
            &to,
            count as u64,
            AccessPattern::Sequential,
        );
        Ok(())
    }

    pub(super) fn ioctl(&self, request: &Request<'_>) -> Result<()> {
        let (ask, input) = request.parse_body::<abi::IoctlIn>()?;
        let mut output = vec![0; (ask.out_size as usize).min(64)];
        self.tree.native.ioctl(request.node_id(), ask.cmd, input, &mut output)?;
        let head = abi::IoctlOut::default();
        request.send_reply(&[head.as_bytes(), &output]);
        self.count_request(request, Op::Ioctl, self.class_of_id(request.node_id()), false);
        Ok(())
    }
}

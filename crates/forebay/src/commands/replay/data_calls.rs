//! Bytes that a replay reads and writes, call by call.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;

use forebay_plan::replay::Transfer;
use rustix::io::Result;

use super::noise::Noise;
use super::step_execution::StepExecutor;

/// No call moves more.
const CALL_BYTES_MAX: u64 = 4 << 20;

impl StepExecutor {
    pub(super) fn read_bytes(&self, file: &OwnedFd, moved: Transfer) -> Result<()> {
        let mut buffer = Vec::new();
        for_each_call(moved, self.seed, |offset, length| {
            self.operations.fetch_add(1, Relaxed);
            // Without bytes it is one that finds the end.
            buffer.resize(length.max(1), 0);
            let mut done = rustix::io::pread(file, &mut buffer[..], offset)?;
            if done == 0 && length > 0 && offset > 0 {
                // Shorter than it was: from the beginning again.
                done = rustix::io::pread(file, &mut buffer[..], 0)?;
            }
            self.read.fetch_add(done as u64, Relaxed);
            Ok(())
        })
    }

    pub(super) fn write_bytes(&self, file: &OwnedFd, moved: Transfer) -> Result<()> {
        let mut buffer = Vec::new();
        for_each_call(moved, self.seed, |mut offset, length| {
            buffer.resize(length, 0);
            Noise::new(self.seed, self.written.load(Relaxed) ^ offset << 20).fill(&mut buffer);
            let mut left = &buffer[..];
            while !left.is_empty() {
                let done = rustix::io::pwrite(file, left, offset)?;
                (left, offset) = (&left[done..], offset + done as u64);
            }
            self.operations.fetch_add(1, Relaxed);
            self.written.fetch_add(length as u64, Relaxed);
            Ok(())
        })
    }
}

/// The offset and length of each call.
fn for_each_call(
    moved: Transfer,
    seed: u64,
    mut call: impl FnMut(u64, usize) -> Result<()>,
) -> Result<()> {
    let end = moved.end.unwrap_or(u64::MAX);
    let size = moved.bytes.div_ceil(moved.calls.max(1)).clamp(1, CALL_BYTES_MAX.min(end.max(1)));
    let mut noise = Noise::new(seed, moved.bytes ^ moved.from);
    let (mut offset, mut left, mut calls) = (moved.from, moved.bytes, 0);
    while left > 0 {
        let length = size.min(left);
        if moved.random && moved.end.is_some() {
            offset = noise.next_word() % (end - length + 1) / 4096 * 4096;
        } else if offset.saturating_add(length) > end {
            offset = 0;
        }
        call(offset, length as usize)?;
        (offset, left, calls) = (offset + length, left - length, calls + 1);
    }
    // Those that moved nothing.
    (calls..moved.calls).try_for_each(|_| call(moved.end.unwrap_or(offset), 0))
}

//! Where the answer of a request goes: the way that it came.

use rustix::io::Errno;

use super::device::Device;
use super::emulated_latency::StorageDemand;
use super::queue_entry::QueueEntry;

/// Where the answer of a request goes.
#[derive(Debug, Clone, Copy)]
pub(super) enum ReplyPath<'a> {
    /// Into the descriptor that the request was read from, at once, from any thread.
    Device(&'a Device),
    /// Into the place in a queue where it came, from which the kernel takes it when this thread waits
    /// for the next request.
    Entry(&'a QueueEntry),
}

impl ReplyPath<'_> {
    /// Answers request `unique` with the parts joined.
    pub(super) fn send_reply(self, unique: u64, parts: &[&[u8]]) {
        match self {
            ReplyPath::Device(device) => device.send_reply(unique, parts),
            ReplyPath::Entry(entry) => entry.answer(0, parts),
        }
    }

    /// Answers request `unique` with an error.
    pub(super) fn send_error(self, unique: u64, error: Errno) {
        match self {
            ReplyPath::Device(device) => device.send_error(unique, error),
            ReplyPath::Entry(entry) => entry.answer(-error.raw_os_error(), &[]),
        }
    }

    /// Answers request `unique`, with an error or 0, when an emulated storage would, as
    /// [`Device::send_delayed_reply`] does; such a storage is asked through the device.
    pub(super) fn send_delayed_reply(
        self,
        asked: Option<StorageDemand>,
        error: i32,
        unique: u64,
        parts: &[&[u8]],
    ) -> u64 {
        match self {
            ReplyPath::Device(device) => device.send_delayed_reply(asked, error, unique, parts),
            ReplyPath::Entry(entry) => {
                entry.answer(error, parts);
                0
            }
        }
    }
}

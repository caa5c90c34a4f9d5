//! Buffers of some MiB that come and go with each group of reads. They are kept, so that nobody
//! clears their bytes or asks the kernel for pages each time; what was in them stays until it is
//! written over.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

/// Bytes that wait for their next use at most, in all threads together; and buffers.
const WAITING_MAX: usize = 32 << 20;
const BUFFERS_MAX: usize = 64;
/// Smaller ones are no trouble to the allocator.
const LEAST: usize = 64 << 10;

static WAITING: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// So many bytes, each of which was anything before it is written.
#[derive(Debug, Default)]
pub(crate) struct KeptBytes {
    /// As long as the buffer ever was.
    buffer: Vec<u8>,
    len: usize,
}

impl KeptBytes {
    pub(crate) fn with_len(len: usize) -> KeptBytes {
        let buffer = if len < LEAST { None } else { take_waiting(len) };
        KeptBytes { buffer: buffer.unwrap_or_else(|| vec![0; len]), len }
    }

    /// The first of them, which nobody else will have.
    pub(crate) fn into_vec(mut self, len: usize) -> Vec<u8> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.truncate(len);
        buffer
    }

    /// Fewer or more bytes; those that there were stay.
    pub(crate) fn set_len(&mut self, len: usize) {
        if len > self.buffer.len() {
            self.buffer.resize(len.next_multiple_of(LEAST), 0);
        }
        self.len = len;
    }
}

/// The smallest that is long enough.
fn take_waiting(len: usize) -> Option<Vec<u8>> {
    let mut waiting = WAITING.lock().expect("nobody panics with it");
    let fits = waiting.iter().enumerate().filter(|(_, buffer)| buffer.len() >= len);
    let (nth, _) = fits.min_by_key(|(_, buffer)| buffer.len())?;
    Some(waiting.swap_remove(nth))
}

impl Drop for KeptBytes {
    fn drop(&mut self) {
        if self.buffer.len() < LEAST {
            return;
        }
        let mut waiting = WAITING.lock().expect("nobody panics with it");
        let bytes: usize = waiting.iter().map(Vec::len).sum();
        if waiting.len() < BUFFERS_MAX && bytes + self.buffer.len() <= WAITING_MAX {
            waiting.push(std::mem::take(&mut self.buffer));
        }
    }
}

impl Deref for KeptBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

impl DerefMut for KeptBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.len]
    }
}

impl From<Vec<u8>> for KeptBytes {
    fn from(buffer: Vec<u8>) -> KeptBytes {
        let len = buffer.len();
        KeptBytes { buffer, len }
    }
}

#[cfg(test)]
mod tests {
    //! A buffer that is too short would end a group, and one that is never given back fills memory.
    use super::*;

    #[test]
    fn a_buffer_has_the_length_that_was_asked_for_and_keeps_what_is_in_it() {
        for len in [0, 5, LEAST, 3 * LEAST + 1] {
            let mut bytes = KeptBytes::with_len(len);
            assert_eq!(bytes.len(), len);
            bytes.fill(7);
            bytes.set_len(5 * LEAST);
            assert_eq!(bytes.len(), 5 * LEAST);
            assert!(bytes[..len].iter().all(|byte| *byte == 7));
            bytes.set_len(len);
            assert_eq!(bytes.into_vec(len), vec![7; len]);
        }
    }

    #[test]
    fn no_more_waits_than_may() {
        let many: Vec<KeptBytes> = (0..40).map(|_| KeptBytes::with_len(1 << 20)).collect();
        drop(many);
        let waiting = WAITING.lock().expect("nobody panics with it");
        assert!(waiting.len() <= BUFFERS_MAX);
        assert!(waiting.iter().map(Vec::len).sum::<usize>() <= WAITING_MAX);
    }
}

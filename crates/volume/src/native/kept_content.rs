//! Bytes of packed files that are read and not written, in memory as long as somebody has them open.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes that are kept at most; who comes later gets a working file.
const KEPT_MAX: u64 = 8 << 20;

/// What all packed files together keep, in bytes.
static KEPT: AtomicU64 = AtomicU64::new(0);

/// The bytes of one file.
#[derive(Debug)]
pub(super) struct KeptContent(Vec<u8>);

impl KeptContent {
    /// `None`: too much is kept.
    pub(super) fn try_new(content: Vec<u8>) -> Option<KeptContent> {
        let size = content.len() as u64;
        let more = |kept: u64| (kept + size <= KEPT_MAX).then_some(kept + size);
        KEPT.fetch_update(Relaxed, Relaxed, more).ok()?;
        Some(KeptContent(content))
    }

    /// Copies what lies at `offset`; tells how much there was.
    pub(super) fn copy_part(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(self.0.len());
        let count = buffer.len().min(self.0.len() - from);
        buffer[..count].copy_from_slice(&self.0[from..from + count]);
        count
    }
}

impl Drop for KeptContent {
    fn drop(&mut self) {
        KEPT.fetch_sub(self.0.len() as u64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    //! If this fails, a reader gets other bytes, or open files take all memory.
    use super::*;

    #[test]
    fn parts_end_where_the_file_ends_and_memory_is_bounded() {
        let kept = KeptContent::try_new(b"0123456789".to_vec()).expect("there is room");
        let mut buffer = [0; 4];
        assert_eq!((kept.copy_part(2, &mut buffer), &buffer), (4, b"2345"));
        assert_eq!((kept.copy_part(8, &mut buffer), &buffer[..2]), (2, &b"89"[..]));
        assert_eq!(kept.copy_part(10, &mut buffer) + kept.copy_part(u64::MAX, &mut buffer), 0);
        let most = vec![0; KEPT_MAX as usize];
        assert!(KeptContent::try_new(most).is_none(), "with the other it is too much");
        for _ in 0..100 {
            // What is let go of does not count.
            assert!(KeptContent::try_new(vec![0; 1 << 20]).is_some());
        }
        drop(kept);
    }
}

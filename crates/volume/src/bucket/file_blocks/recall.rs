//! Bytes of a body that came in an earlier run, and are here still.

use std::ops::Range;

use rustix::fs::{SeekFrom, seek};

use super::{BLOCK, FileBlocks};

impl FileBlocks {
    /// Blocks that are data from end to end. It is asked before anybody writes to the file.
    pub(in crate::bucket) fn present_ranges(&self) -> Vec<Range<u64>> {
        let mut kept = Vec::new();
        let mut at = 0;
        while at < self.size {
            let Ok(begin) = seek(&self.file, SeekFrom::Data(at)) else { break };
            let end = seek(&self.file, SeekFrom::Hole(begin)).unwrap_or(begin).min(self.size);
            let last = if end == self.size { end } else { end / BLOCK * BLOCK };
            let first = begin.next_multiple_of(BLOCK);
            if first < last {
                kept.push(first..last);
            }
            at = end.max(begin + 1);
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::tree_record::Time;

    #[test]
    fn a_block_of_which_a_part_came_is_not_kept() {
        let file = tempfile::tempfile().expect("a file");
        let size = BLOCK * 6 + 5;
        file.set_len(size).expect("a hole");
        let body = FileBlocks::new(7, file.into(), size, Time::default());
        assert_eq!(body.present_ranges(), [0..0; 0], "it is a hole");
        let put =
            |blocks: u64, at: u64| body.write_arrived(&vec![1; blocks as usize], at).expect("put");
        put(BLOCK * 2, BLOCK);
        put(BLOCK / 2, BLOCK * 4);
        put(5, BLOCK * 6);
        assert_eq!(body.present_ranges(), [BLOCK..BLOCK * 3, BLOCK * 6..size]);
    }
}

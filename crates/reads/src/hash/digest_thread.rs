//! A thread that adds inputs up, beside those that read and unpack them: two in step, which takes
//! little more than one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::{DigestBuilder, FileDigests};

/// Pieces of all inputs that wait for the thread.
const WAITING: usize = 8;
/// Pieces of an input that wait for those of the other; what is more is added up alone.
const AHEAD: usize = 8;

/// Where pieces of one input are given to be added up.
#[derive(Debug)]
pub(crate) struct DigestFeed {
    nth: usize,
    give: SyncSender<InputPart>,
    digests: Receiver<FileDigests>,
}

/// Which input, and its next bytes; None is its end.
type InputPart = (usize, Option<Arc<Vec<u8>>>);

/// An input that is added up.
#[derive(Debug)]
struct DigestLane {
    sum: DigestBuilder,
    ended: bool,
    waiting: VecDeque<Arc<Vec<u8>>>,
    tell: SyncSender<FileDigests>,
}

/// Starts the thread, for so many inputs.
pub(crate) fn start_digests(inputs: usize) -> Vec<DigestFeed> {
    let (give, parts) = sync_channel(WAITING);
    let (lanes, feeds) = (0..inputs)
        .map(|nth| {
            let (tell, digests) = sync_channel(1);
            let (sum, waiting) = Default::default();
            let lane = DigestLane { sum, ended: false, waiting, tell };
            (lane, DigestFeed { nth, give: give.clone(), digests })
        })
        .unzip::<_, _, Vec<_>, Vec<_>>();
    std::thread::spawn(move || add_inputs_up(lanes, &parts));
    feeds
}

impl DigestFeed {
    /// Gives the next bytes. Waits while the thread has enough.
    pub(crate) fn send_bytes(&self, bytes: Arc<Vec<u8>>) {
        // Without the thread there will be no digests, which says it.
        let _ = self.give.send((self.nth, Some(bytes)));
    }

    /// That was all: what it comes to. None if the thread is gone.
    pub(crate) fn into_digests(self) -> Option<FileDigests> {
        self.give.send((self.nth, None)).ok()?;
        self.digests.recv().ok()
    }
}

/// Until all feeds are gone.
fn add_inputs_up(mut lanes: Vec<DigestLane>, parts: &Receiver<InputPart>) {
    while let Ok((nth, part)) = parts.recv() {
        match part {
            Some(bytes) => lanes[nth].waiting.push_back(bytes),
            None => lanes[nth].ended = true,
        }
        if let [one, other] = &mut lanes[..] {
            while let (Some(mine), Some(theirs)) = (one.waiting.front(), other.waiting.front()) {
                let sums = [&mut one.sum, &mut other.sum];
                DigestBuilder::add_to_both(sums, [&mine[..], &theirs[..]]);
                one.waiting.pop_front();
                other.waiting.pop_front();
            }
        }
        // Nothing comes any more that these could wait for, or they have waited long enough.
        let alone = lanes.len() == 1 || lanes.iter().any(|lane| lane.ended);
        for lane in &mut lanes {
            while alone || lane.waiting.len() > AHEAD {
                let Some(bytes) = lane.waiting.pop_front() else { break };
                lane.sum.add_bytes(&bytes);
            }
        }
        if lanes[nth].ended {
            let sum = std::mem::take(&mut lanes[nth].sum);
            // Whoever wanted this may be gone.
            let _ = lanes[nth].tell.send(sum.into_digests());
        }
    }
}

#[cfg(test)]
mod tests {
    //! A wrong digest would make every archive of pairs look damaged; a thread that waits for an
    //! input that has ended would hold packing for ever.
    use md5::{Digest, Md5};
    use sha2::Sha256;

    use super::*;

    fn text(len: usize, seed: u32) -> Vec<u8> {
        let mut state = seed;
        let step = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..len).map(step).collect()
    }

    fn expected(text: &[u8]) -> FileDigests {
        FileDigests {
            bytes: text.len() as u64,
            md5: Md5::digest(text).into(),
            sha256: Sha256::digest(text).into(),
        }
    }

    /// Inputs in pieces of these lengths, in turns, each ended as soon as it has no more.
    fn digests_of(texts: &[Vec<u8>], pieces: &[usize]) -> Vec<FileDigests> {
        let mut feeds: Vec<Option<DigestFeed>> =
            start_digests(texts.len()).into_iter().map(Some).collect();
        let mut left: Vec<&[u8]> = texts.iter().map(|text| &text[..]).collect();
        let mut found = vec![FileDigests::default(); texts.len()];
        for piece in pieces.iter().cycle() {
            for (nth, left) in left.iter_mut().enumerate() {
                let Some(feed) = &feeds[nth] else { continue };
                let (now, after) = left.split_at(left.len().min(*piece + nth));
                feed.send_bytes(Arc::new(now.to_vec()));
                *left = after;
                if left.is_empty() {
                    let feed = feeds[nth].take().expect("looked at");
                    found[nth] = feed.into_digests().expect("its thread lives");
                }
            }
            if feeds.iter().all(Option::is_none) {
                break;
            }
        }
        found
    }

    #[test]
    fn one_and_two_come_to_what_each_comes_to_alone() {
        for lens in [[0, 0], [1, 0], [63, 64], [64, 200], [10_000, 9_937], [5, 70_000]] {
            let texts = [text(lens[0], 1), text(lens[1], 2)];
            let both: Vec<FileDigests> = texts.iter().map(|text| expected(text)).collect();
            for pieces in [&[64_usize][..], &[1, 7, 300], &[128, 55, 56, 57], &[100_000]] {
                assert_eq!(digests_of(&texts, pieces), both, "{lens:?} in {pieces:?}");
                assert_eq!(digests_of(&texts[..1], pieces), both[..1], "{lens:?} in {pieces:?}");
            }
        }
    }

    #[test]
    fn an_input_far_ahead_of_the_other_is_not_held_up() {
        let feeds = start_digests(2);
        let all = text(100 * 640, 3);
        for piece in all.chunks(640) {
            feeds[0].send_bytes(Arc::new(piece.to_vec()));
        }
        let [first, second] = <[DigestFeed; 2]>::try_from(feeds).expect("two");
        assert_eq!(first.into_digests(), Some(expected(&all)));
        second.send_bytes(Arc::new(all.clone()));
        assert_eq!(second.into_digests(), Some(expected(&all)));
    }

    #[test]
    fn an_input_that_is_given_up_holds_nobody() {
        let [first, second] = <[DigestFeed; 2]>::try_from(start_digests(2)).expect("two");
        first.send_bytes(Arc::new(vec![b'x'; 1000]));
        drop(first);
        second.send_bytes(Arc::new(vec![b'y'; 500]));
        assert_eq!(second.into_digests(), Some(expected(&[b'y'; 500])));
    }
}

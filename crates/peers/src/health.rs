//! Who is away. A peer that failed is left alone for a while, so that it costs one time-out and not
//! one for each question; then one question tries it again.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::list::PeerName;
use forebay_os::clock::Clock;

/// How long a peer is left alone after its first failure, and at most: each further one doubles it.
const FIRST_NANOS: u64 = 15_000_000_000;
const LONGEST_NANOS: u64 = 300_000_000_000;

/// What is known of the peers that failed.
#[derive(Debug)]
pub struct PeerHealth {
    clock: Arc<dyn Clock>,
    failed: Mutex<FxHashMap<PeerName, Failures>>,
}

#[derive(Debug)]
struct Failures {
    in_a_row: u32,
    /// It is asked again after this moment.
    until: u64,
    why: String,
}

/// A question that a peer may be asked: how often it had failed before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt(u32);

/// A peer that is away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwayPeer {
    /// Who.
    pub name: PeerName,
    /// What it did at last.
    pub why: String,
    /// How often it failed one after the other.
    pub failures: u32,
}

impl PeerHealth {
    /// Nobody has failed yet.
    pub fn new(clock: Arc<dyn Clock>) -> PeerHealth {
        PeerHealth { clock, failed: Mutex::default() }
    }

    /// Whether a peer is to be asked; who asks says afterwards how it went. One that was away for
    /// long enough is tried by one question, and the others are told `None` meanwhile.
    pub fn may_ask(&self, peer: &PeerName) -> Option<Attempt> {
        let mut failed = self.failed.lock();
        let Some(failures) = failed.get_mut(peer) else { return Some(Attempt(0)) };
        let now = self.clock.elapsed_nanos();
        (now >= failures.until).then(|| {
            failures.until = now + pause_after(failures.in_a_row);
            Attempt(failures.in_a_row)
        })
    }

    /// It answered. Tells whether it was away before.
    pub fn note_success(&self, peer: &PeerName) -> bool {
        let mut failed = self.failed.lock();
        !failed.is_empty() && failed.remove(peer).is_some()
    }

    /// It failed. Tells whether that is news: questions that were under way together fail together.
    pub fn note_failure(&self, peer: &PeerName, asked: Attempt, why: &str) -> bool {
        let mut failed = self.failed.lock();
        let before = failed.get(peer).map_or(0, |failures| failures.in_a_row);
        if before != asked.0 {
            return false;
        }
        let in_a_row = before.saturating_add(1);
        let until = self.clock.elapsed_nanos() + pause_after(in_a_row);
        failed.insert(peer.clone(), Failures { in_a_row, until, why: why.to_owned() });
        true
    }

    /// Who is away now, by name.
    pub fn away_peers(&self) -> Vec<AwayPeer> {
        let failed = self.failed.lock();
        let mut away: Vec<_> = failed
            .iter()
            .map(|(name, failures)| AwayPeer {
                name: name.clone(),
                why: failures.why.clone(),
                failures: failures.in_a_row,
            })
            .collect();
        away.sort_by(|a, b| a.name.cmp(&b.name));
        away
    }
}

/// How long a peer is left alone that has failed so often.
fn pause_after(in_a_row: u32) -> u64 {
    let doubled = 1u64.checked_shl(in_a_row.saturating_sub(1)).unwrap_or(u64::MAX);
    FIRST_NANOS.saturating_mul(doubled).min(LONGEST_NANOS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::parse_peers;
    use forebay_os::clock::ManualClock;

    #[test]
    fn who_fails_is_left_alone_and_then_tried_by_one_question() {
        let clock = Arc::new(ManualClock::default());
        let health = PeerHealth::new(Arc::<ManualClock>::clone(&clock));
        let peer = parse_peers("node7", 7420).expect("a list").remove(0);
        let (one, other) = (health.may_ask(&peer), health.may_ask(&peer));
        let (Some(one), Some(other)) = (one, other) else { panic!("it is well") };
        assert!(health.note_failure(&peer, one, "no answer"));
        assert!(!health.note_failure(&peer, other, "no answer"), "they were under way together");
        assert_eq!(health.may_ask(&peer), None);
        clock.advance(FIRST_NANOS);
        let tried = health.may_ask(&peer).expect("it is tried");
        assert_eq!(health.may_ask(&peer), None, "by one");
        assert!(health.note_failure(&peer, tried, "cut off"));
        let away = AwayPeer { name: peer.clone(), why: "cut off".to_owned(), failures: 2 };
        assert_eq!(health.away_peers(), [away]);
        clock.advance(FIRST_NANOS);
        assert_eq!(health.may_ask(&peer), None, "it is left alone for twice as long");
        clock.advance(FIRST_NANOS);
        assert!(health.may_ask(&peer).is_some());
        // Who tried it may be gone without a word.
        clock.advance(LONGEST_NANOS);
        assert!(health.may_ask(&peer).is_some());
        assert!(health.note_success(&peer));
        assert!(!health.note_success(&peer));
        assert_eq!(health.away_peers(), []);
        assert_eq!(health.may_ask(&peer), Some(Attempt(0)));
    }

    #[test]
    fn pauses_grow_and_end() {
        let pauses =
            [1, 2, 3, 4, 5, 6, 99, u32::MAX].map(|times| pause_after(times) / 1_000_000_000);
        assert_eq!(pauses, [15, 30, 60, 120, 240, 300, 300, 300]);
    }
}

//! What a storage has of one thing in a second, for all who ask.

use std::sync::Arc;

use forebay_model::profile::BurstCredits;

use super::shared_moments::SharedMoments;

/// Nanoseconds of a second.
const SECOND: f64 = 1e9;

/// Nanoseconds of a pause that is none. A program that goes on at once may be so late where threads
/// wake late: gaps of up to 1.5 ms were seen on a virtual machine with nothing else to do, whose
/// threads woke 0.3 ms late in the mean. A client that reads ahead lets nothing go by meanwhile.
pub(super) const PAUSE: f64 = 1_500_000.0;
/// The same where each piece has a price of its own, for which nobody else waits: what is forgiven
/// there too much makes a storage quicker than it is.
pub(super) const PAUSE_OF_PRICED: f64 = 600_000.0;

/// When what comes now begins, after what was done then.
pub(super) fn start_after(done: f64, now: f64, pause: f64) -> f64 {
    if now - done < pause { done } else { now }
}

/// A queue in which each takes as long as its amount over the rate: a leaky bucket, told by the
/// time at which it will be empty (the generic cell rate algorithm of ITU-T I.371). With credits
/// there are two: the one that fills at the burst's rate, and that of the rate itself, which may run
/// ahead of the clock by what the account holds.
#[derive(Debug)]
pub(super) struct RateLimit {
    /// Bytes or operations a second; infinity: no limit.
    rate: f64,
    burst: Option<BurstCredits>,
    /// Nanoseconds of the clock, at which all promised so far is done at each of the two rates.
    done: DrainTime,
    fast: DrainTime,
}

/// A moment of this mount's own, or of a server that others use, too.
#[derive(Debug)]
enum DrainTime {
    Own(f64),
    Shared(Arc<SharedMoments>, usize),
}

impl DrainTime {
    fn update_moment(&mut self, to: impl Fn(f64) -> f64) -> f64 {
        match self {
            Self::Own(moment) => {
                *moment = to(*moment);
                *moment
            }
            Self::Shared(board, at) => board.update_moment(*at, to),
        }
    }
}

impl RateLimit {
    pub(super) fn new(rate: Option<f64>, burst: Option<BurstCredits>) -> Self {
        let never = || DrainTime::Own(f64::NEG_INFINITY);
        Self { rate: rate.unwrap_or(f64::INFINITY), burst, done: never(), fast: never() }
    }

    /// The same for all mounts that have this board; it takes two of its places.
    pub(super) fn with_board(self, board: Option<&Arc<SharedMoments>>, at: usize) -> Self {
        let Some(board) = board else { return self };
        let moment = |at| DrainTime::Shared(Arc::clone(board), at);
        Self { done: moment(at), fast: moment(at + 1), ..self }
    }

    /// What goes through at most, while credits last.
    pub(super) fn peak_rate(&self) -> f64 {
        self.burst.map_or(self.rate, |burst| burst.per_second)
    }

    /// When so much more that comes now will be through.
    pub(super) fn schedule_amount(&mut self, now: f64, amount: f64) -> f64 {
        if self.rate == f64::INFINITY {
            return now;
        }
        let takes = |rate: f64| amount / rate * SECOND;
        let Some(burst) = self.burst else {
            let takes = takes(self.rate);
            return self.done.update_moment(|done| start_after(done, now, PAUSE) + takes);
        };
        let ahead = burst.credits / self.rate * SECOND;
        let (slow, fast) = (takes(self.rate), takes(burst.per_second));
        let done = self.done.update_moment(|done| done.max(now - ahead) + slow);
        done.max(self.fast.update_moment(|done| start_after(done, now, PAUSE) + fast))
    }
}

#[cfg(test)]
mod tests {
    //! An emulated storage that is faster or slower than asked would mislead who chooses by it.
    use super::*;

    #[test]
    fn bytes_wait_for_their_turn() {
        let mut limit = RateLimit::new(Some(1e6), None);
        assert_eq!(limit.schedule_amount(0.0, 5e5), 5e8);
        assert_eq!(limit.schedule_amount(0.0, 5e5), 1e9, "after those before them");
        assert_eq!(limit.schedule_amount(5e9, 1.0), 5e9 + 1e3, "a pause is not saved up");
        assert_eq!(RateLimit::new(None, None).schedule_amount(7.0, 1e9), 7.0);
    }

    #[test]
    fn credits_last_as_long_as_they_pay_for_what_is_above_the_limit() {
        // 100 a second, 300 while 1000 credits last: 1000 / (300 - 100) = 5 s.
        let mut limit =
            RateLimit::new(Some(100.0), Some(BurstCredits { per_second: 300.0, credits: 1000.0 }));
        let mut now = 0.0;
        let mut through = |limit: &mut RateLimit, until: f64| {
            let mut count = 0;
            while now < until {
                now = limit.schedule_amount(now, 1.0);
                count += 1;
            }
            count
        };
        assert!((1490..=1510).contains(&through(&mut limit, 5e9)));
        assert!((495..=505).contains(&through(&mut limit, 10e9)), "then the limit");
        // Two seconds of nothing are 200 credits, which pay for one second of 300.
        now = 12e9;
        let mut again = |until: f64| {
            let mut count = 0;
            while now < until {
                now = limit.schedule_amount(now, 1.0);
                count += 1;
            }
            count
        };
        assert!((295..=305).contains(&again(13e9)));
        assert!((98..=105).contains(&again(14e9)));
    }
}

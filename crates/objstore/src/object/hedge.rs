//! Requests of which an answer is overdue are sent a second time, and the first answer counts:
//! one slow server among many then delays one request in a thousand, not one in twenty.
//! Source: J. Dean, L. A. Barroso, "The Tail at Scale", CACM 56(2), 2013.

use std::future::Future;
use std::time::Duration;

use futures_util::future::{Either, select};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};

use super::RequestError;

/// Longer answers take their time by their length, which differs more than servers do; but for who
/// asks for many that are nearly as long.
const LONGEST: u64 = 1 << 20;
/// Answers from which it is known how long one takes.
const KNOWN: usize = 64;
/// An answer is overdue after so many times what 19 of 20 take, but not before 10 ms.
const OVERDUE: u32 = 2;
const EARLIEST: Duration = Duration::from_millis(10);
/// One request in so many may be sent twice: a server that is slow for all is not helped by more.
const ONE_IN: u64 = 20;

/// How long answers take, and how many requests were sent twice.
#[derive(Debug)]
pub(super) struct RequestHedge {
    longest: u64,
    seen: Mutex<AnswerTimes>,
}

impl Default for RequestHedge {
    fn default() -> RequestHedge {
        RequestHedge::with_longest(LONGEST)
    }
}

#[derive(Debug, Default)]
struct AnswerTimes {
    took: Vec<Duration>,
    next: usize,
    asked: u64,
    twice: u64,
}

impl RequestHedge {
    /// Of answers that have so many bytes at most.
    pub(super) fn with_longest(longest: u64) -> RequestHedge {
        RequestHedge { longest, seen: Mutex::default() }
    }

    /// The first good answer of one request, or of two.
    pub(super) async fn first_answer<T, F: Future<Output = Result<T, RequestError>>>(
        &self,
        length: u64,
        ask: impl Fn() -> F,
    ) -> Result<T, RequestError> {
        if length > self.longest {
            return ask().await;
        }
        let began = Instant::now();
        let mut first = Box::pin(ask());
        let answer = match self.overdue_after() {
            None => first.await,
            Some(patience) => match timeout(patience, &mut first).await {
                Ok(answer) => answer,
                Err(_) if !self.may_send_twice() => first.await,
                Err(_) => match select(first, Box::pin(ask())).await {
                    Either::Left((Err(_), other)) => other.await,
                    Either::Right((Err(_), other)) => other.await,
                    Either::Left((good, _)) | Either::Right((good, _)) => good,
                },
            },
        };
        if answer.is_ok() {
            self.note_duration(began.elapsed());
        }
        answer
    }

    fn overdue_after(&self) -> Option<Duration> {
        let mut seen = self.seen.lock();
        seen.asked += 1;
        if seen.took.len() < KNOWN {
            return None;
        }
        let mut took = seen.took.clone();
        let at = took.len() * 19 / 20;
        let (_, usual, _) = took.select_nth_unstable(at);
        Some((*usual * OVERDUE).max(EARLIEST))
    }

    fn may_send_twice(&self) -> bool {
        let mut seen = self.seen.lock();
        let may = seen.twice * ONE_IN < seen.asked;
        seen.twice += u64::from(may);
        may
    }

    fn note_duration(&self, time: Duration) {
        let mut seen = self.seen.lock();
        if seen.took.len() < KNOWN {
            seen.took.push(time);
            return;
        }
        let at = seen.next;
        seen.took[at] = time;
        seen.next = (at + 1) % KNOWN;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;

    fn lone(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(test);
    }

    #[test]
    fn a_late_answer_is_overtaken_and_a_second_failure_waits_for_the_first() {
        lone(async {
            let hedge = RequestHedge::default();
            {
                let mut seen = hedge.seen.lock();
                (seen.took, seen.asked) = (vec![Duration::from_millis(1); KNOWN], 100);
            }
            let asked = AtomicU32::new(0);
            // The first never comes, the second answers.
            let answer = hedge.first_answer(1, || {
                let turn = asked.fetch_add(1, Relaxed);
                async move {
                    if turn == 0 {
                        std::future::pending::<()>().await;
                    }
                    Ok(turn)
                }
            });
            assert_eq!(answer.await.expect("an answer"), 1);
            // The second fails, so the first counts, late as it is.
            let (asked, failed) = (AtomicU32::new(0), tokio::sync::Notify::new());
            let answer = hedge.first_answer(1, || {
                let (turn, failed) = (asked.fetch_add(1, Relaxed), &failed);
                async move {
                    if turn == 1 {
                        failed.notify_one();
                        let why = "refused".to_owned();
                        return Err(RequestError { kind: std::io::ErrorKind::Other, why });
                    }
                    failed.notified().await;
                    Ok(turn)
                }
            });
            assert_eq!(answer.await.expect("an answer"), 0);
            assert_eq!(asked.load(Relaxed), 2);
        });
    }

    #[test]
    fn no_more_than_one_in_twenty_is_sent_twice() {
        let hedge = RequestHedge::default();
        hedge.seen.lock().asked = 100;
        let twice = (0..50).filter(|_| hedge.may_send_twice()).count();
        assert_eq!(twice, 5);
    }
}

//! How a server far away treats requests: late, no faster than a stated rate, and now and then not
//! at all.

use std::convert::Infallible;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::ready;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::{Method, Response, StatusCode};
use tokio::time::Instant;

use crate::answer::{Answer, refused};

/// What the command line said.
#[derive(Debug, Default)]
pub(crate) struct Manner {
    /// Before each answer.
    late: Duration,
    /// Bytes a second of one connection; 0: as it can.
    rate: f64,
    /// Per cent of the reads of objects that go wrong.
    failing: f64,
    drawn: Mutex<u64>,
}

impl Manner {
    /// Options, each followed by its number.
    pub(crate) fn of(mut words: impl Iterator<Item = String>) -> Manner {
        let mut manner = Manner::default();
        while let Some(word) = words.next() {
            let number = words.next().and_then(|number| number.parse::<f64>().ok());
            let number = number.unwrap_or_else(|| panic!("{word} NUMBER"));
            match word.as_str() {
                "--latency" => manner.late = Duration::from_secs_f64(number / 1000.0),
                "--rate" => manner.rate = number * 1e6,
                "--failing" => manner.failing = number,
                "--seed" => manner.drawn = Mutex::new(number as u64),
                _ => panic!("s3_memory [--latency MS] [--rate MB] [--failing PERCENT] [--seed N]"),
            }
        }
        manner
    }

    pub(crate) async fn wait(&self) {
        tokio::time::sleep(self.late).await;
    }

    /// The answer as it arrives; none: the connection is closed instead.
    pub(crate) fn send(&self, method: &Method, answer: Answer) -> Option<Answer> {
        if *method != Method::GET || !answer.status().is_success() {
            return Some(answer);
        }
        let drawn = self.draw();
        if drawn >= self.failing / 100.0 {
            return Some(self.paced(answer, None));
        }
        // By turns, as often each: closed before the answer, closed in the middle, refused.
        match (drawn * 300.0 / self.failing) as u32 {
            0 => None,
            1 => {
                let half = hyper::body::Body::size_hint(answer.body()).exact();
                let half = half.or_else(|| length(&answer)).unwrap_or(0) / 2;
                Some(self.paced(answer, Some(half)))
            }
            _ => Some(refused(StatusCode::SERVICE_UNAVAILABLE, "SlowDown")),
        }
    }

    /// No faster than the rate, and no further than told.
    fn paced(&self, answer: Answer, up_to: Option<u64>) -> Answer {
        if self.rate == 0.0 && up_to.is_none() {
            return answer;
        }
        let (head, body) = answer.into_parts();
        let (began, rate, mut sent) = (Instant::now(), self.rate, 0_u64);
        let frames = body.into_data_stream().map(move |piece| {
            let Ok::<Bytes, Infallible>(mut piece) = piece;
            if let Some(end) = up_to {
                piece.truncate(end.saturating_sub(sent) as usize);
            }
            sent += piece.len() as u64;
            (piece, sent)
        });
        let frames = frames.take_while(|(piece, _)| ready(!piece.is_empty()));
        let frames = frames.then(move |(piece, sent)| async move {
            if rate > 0.0 {
                tokio::time::sleep_until(began + Duration::from_secs_f64(sent as f64 / rate)).await;
            }
            Ok::<_, Infallible>(Frame::data(piece))
        });
        let body: UnsyncBoxBody<Bytes, Infallible> = StreamBody::new(frames).boxed_unsync();
        Response::from_parts(head, body)
    }

    /// From 0 to 1: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
    fn draw(&self) -> f64 {
        let mut state = self.drawn.lock().expect("no panic");
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as f64 / u64::MAX as f64
    }
}

fn length(answer: &Answer) -> Option<u64> {
    let length = answer.headers().get(hyper::header::CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

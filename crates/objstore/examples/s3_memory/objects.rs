//! What the server keeps: objects by bucket and key, uploads that are under way, and counts.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};

/// Headers of a request that its object's answers have: `x-amz-meta-*` and its type.
pub(crate) type Meta = Vec<(HeaderName, HeaderValue)>;

/// Bytes of a long body.
const LONG: u64 = 1 << 20;

/// An object, in the pieces in which it came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object {
    pub(crate) pieces: Vec<Bytes>,
    pub(crate) size: u64,
    pub(crate) etag: String,
    pub(crate) meta: Meta,
}

/// Buckets begin with a `/`; so their keys are `/BUCKET/KEY`, in order.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) objects: BTreeMap<String, Object>,
    pub(crate) uploads: BTreeMap<String, Upload>,
    states: u64,
    /// The last long body that was unlike the one before it.
    last: Vec<Bytes>,
}

#[derive(Debug, Default)]
pub(crate) struct Upload {
    pub(crate) meta: Meta,
    pub(crate) parts: BTreeMap<u32, Vec<Bytes>>,
}

#[derive(Debug, Default)]
pub(crate) struct Store {
    held: Mutex<Held>,
    counts: Mutex<BTreeMap<&'static str, (u64, u64, u64)>>,
}

impl Store {
    pub(crate) fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().expect("no panic")
    }

    pub(crate) fn clear(&self) {
        let mut held = self.held();
        held.objects.clear();
        held.uploads.clear();
    }

    pub(crate) fn count(&self, kind: &'static str, received: u64, sent: u64) {
        let mut counts = self.counts.lock().expect("no panic");
        let one = counts.entry(kind).or_default();
        *one = (one.0 + 1, one.1 + received, one.2 + sent);
    }

    /// By kind: requests, bytes received, bytes sent.
    pub(crate) fn counted(&self) -> BTreeMap<&'static str, (u64, u64, u64)> {
        self.counts.lock().expect("no panic").clone()
    }
}

impl Held {
    /// A name that nothing had before, in the form of an object of several parts: nobody takes it
    /// for a digest of the bytes.
    pub(crate) fn state(&mut self) -> String {
        self.states += 1;
        format!("\"{:032x}-1\"", self.states)
    }

    /// Long bodies that follow each other and are alike are kept once: so more can be stored here
    /// than there is memory. Others differ early, and cost nothing.
    pub(crate) fn once(&mut self, body: Vec<Bytes>) -> Vec<Bytes> {
        if length(&body) < LONG {
            return body;
        }
        if !is_alike(&body, &self.last) {
            self.last = body;
        }
        self.last.clone()
    }

    pub(crate) fn put(&mut self, key: &str, pieces: Vec<Bytes>, meta: Meta) -> String {
        let (size, etag) = (length(&pieces), self.state());
        let object = Object { pieces, size, etag: etag.clone(), meta };
        self.objects.insert(key.to_owned(), object);
        etag
    }
}

/// Whether they have the same bytes, however they are cut.
fn is_alike(one: &[Bytes], other: &[Bytes]) -> bool {
    let (mut left, mut right) = (one.iter(), other.iter());
    let (mut mine, mut theirs): (&[u8], &[u8]) = (&[], &[]);
    loop {
        while mine.is_empty() {
            match left.next() {
                Some(next) => mine = next,
                None => return theirs.is_empty() && right.all(|rest| rest.is_empty()),
            }
        }
        while theirs.is_empty() {
            match right.next() {
                Some(next) => theirs = next,
                None => return false,
            }
        }
        let both = mine.len().min(theirs.len());
        if mine[..both] != theirs[..both] {
            return false;
        }
        (mine, theirs) = (&mine[both..], &theirs[both..]);
    }
}

pub(crate) fn length(pieces: &[Bytes]) -> u64 {
    pieces.iter().map(|piece| piece.len() as u64).sum()
}

impl Object {
    /// These bytes of it, which are not copied.
    pub(crate) fn part(&self, range: Range<u64>) -> Vec<Bytes> {
        let (mut found, mut at) = (Vec::new(), 0);
        for piece in &self.pieces {
            let end = at + piece.len() as u64;
            let (from, to) = (range.start.max(at), range.end.min(end));
            if from < to {
                found.push(piece.slice((from - at) as usize..(to - at) as usize));
            }
            at = end;
            if at >= range.end {
                break;
            }
        }
        found
    }
}

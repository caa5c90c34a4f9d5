//! Who has a volume mounted to write, as a note in the bucket. The log keeps two writers apart; the
//! note is for people, who want to be told before one is shut out.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::opening::Wanted;
use crate::store::{Failed, Objects};

const NOTE: &str = ".forebay/writer";

/// Who writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writer {
    pub(super) me: String,
    /// The machine, in words.
    pub host: String,
    /// Since when, in seconds since 1970.
    pub since: i64,
}

impl Writer {
    pub(super) fn now(wanted: &Wanted, me: &str) -> Writer {
        Writer { me: me.to_owned(), host: wanted.host.clone(), since: wanted.now }
    }

    /// Who writes now, if anybody.
    pub(super) fn of(objects: &Objects) -> Result<Option<Writer>, Failed> {
        let Some(size) = objects.size(NOTE)? else { return Ok(None) };
        let bytes = objects.get(NOTE, 0..size)?;
        let unknown = || Writer { me: String::new(), host: "somebody".to_owned(), since: 0 };
        Ok(Some(serde_json::from_slice(&bytes).unwrap_or_else(|_| unknown())))
    }

    pub(super) fn put(&self, objects: &Objects) -> Result<(), Failed> {
        let text = serde_json::to_vec(self).expect("plain data has a JSON form");
        objects.put(NOTE, Bytes::from(text))
    }

    /// Nobody writes any more, if we still did.
    pub(super) fn end(me: &str, objects: &Objects) -> Result<(), Failed> {
        match Writer::of(objects)? {
            Some(writer) if writer.me == me => objects.delete(NOTE),
            _ => Ok(()),
        }
    }
}

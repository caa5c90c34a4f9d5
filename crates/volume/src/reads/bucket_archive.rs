//! An archive of reads in a bucket: its objects in the states that one listing told. What is going
//! to be read is fetched before, in stretches; what nobody said is fetched when it is asked for.
//! Nothing is written anywhere.

mod client;
mod stretches;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use forebay_reads::{Error, INDEX, Kind, MANIFEST, ObjectRange, ObjectSource, Result};
use parking_lot::Mutex;

use client::Client;
use forebay_objstore::{self, BucketSettings, ListedObject, RequestError};
use stretches::RangePrefetcher;

/// Bytes of the index that are fetched at a time, and how many such blocks are kept: pages are
/// some KiB, and whoever reads one reads others.
const BLOCK: u64 = 256 << 10;
const BLOCKS: usize = 16;
/// What is there of an archive that was not brought as a whole.
const PARTS: [&str; 2] = ["manifest.part", INDEX];

/// What lies below a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixContent {
    /// Nothing: it may be misspelt.
    Nothing,
    /// Objects of any sort.
    Files,
    /// An archive of reads, or a part of one.
    Archive,
}

/// What was listed, and how it is reached.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    pub(super) url: String,
    pub(super) settings: BucketSettings,
    pub(super) objects: BTreeMap<String, ListedObject>,
    folders: usize,
}

impl Listing {
    /// Asks the bucket; nothing of a client is left.
    ///
    /// # Errors
    /// What the bucket says.
    pub(crate) fn fetch_from_bucket(
        url: &str,
        settings: BucketSettings,
    ) -> std::result::Result<Listing, RequestError> {
        let folder =
            forebay_objstore::BucketClient::open(url, settings.clone())?.list_folder("")?;
        let objects = folder.objects.into_iter().map(|object| (object.name.clone(), object));
        let (objects, folders) = (objects.collect(), folder.folders.len());
        Ok(Listing { url: url.to_owned(), settings, objects, folders })
    }

    pub(super) fn classify_contents(&self) -> PrefixContent {
        let mut parts = std::iter::once(MANIFEST).chain(PARTS);
        match self.objects.is_empty() && self.folders == 0 {
            true => PrefixContent::Nothing,
            false if parts.any(|part| self.objects.contains_key(part)) => PrefixContent::Archive,
            false => PrefixContent::Files,
        }
    }
}

/// Objects of an archive, in a bucket.
#[derive(Debug)]
pub(super) struct ArchiveObjects {
    client: Arc<Client>,
    stretches: RangePrefetcher,
    index: Mutex<VecDeque<(u64, Bytes)>>,
}

impl ArchiveObjects {
    /// Begins to have threads.
    ///
    /// # Errors
    /// No client can be made.
    pub(super) fn start(listing: Listing) -> std::result::Result<ArchiveObjects, RequestError> {
        let client = Arc::new(Client::start(listing)?);
        let stretches = RangePrefetcher::for_client(Arc::clone(&client));
        Ok(ArchiveObjects { client, stretches, index: Mutex::default() })
    }

    /// Some bytes of the index.
    fn read_index(&self, part: &ObjectRange<'_>) -> Result<Vec<u8>> {
        let (size, end) = (self.client.object_size(INDEX)?, part.offset + part.len as u64);
        let mut bytes = Vec::with_capacity(part.len);
        // Who wants a block that is under way waits for it.
        let mut kept = self.index.lock();
        for start in (part.offset / BLOCK * BLOCK..end).step_by(BLOCK as usize) {
            let known = kept.iter().find(|(at, _)| *at == start).map(|(_, block)| block.clone());
            let block = match known {
                Some(block) => block,
                None => {
                    let len = BLOCK.min(size - start) as usize;
                    let came = self.client.fetch_parts(&[ObjectRange {
                        name: INDEX,
                        offset: start,
                        len,
                    }])?;
                    let block = came.into_iter().next().unwrap_or_default();
                    kept.push_back((start, block.clone()));
                    block
                }
            };
            let from = part.offset.saturating_sub(start) as usize;
            let to = (end - start).min(block.len() as u64) as usize;
            bytes.extend_from_slice(block.get(from..to).unwrap_or_default());
        }
        while kept.len() > BLOCKS {
            kept.pop_front();
        }
        Ok(bytes)
    }
}

impl ObjectSource for ArchiveObjects {
    fn object_size(&self, name: &str) -> Result<u64> {
        self.client.object_size(name)
    }

    fn read_range(&self, name: &str, offset: u64, len: usize) -> Result<Vec<u8>> {
        Ok(self.read_parts(&[ObjectRange { name, offset, len }])?.concat())
    }

    fn read_parts(&self, parts: &[ObjectRange<'_>]) -> Result<Vec<Vec<u8>>> {
        for part in parts {
            let end = part.offset.saturating_add(part.len as u64);
            if end > self.client.object_size(part.name)? {
                let words = format!("{} ends before byte {end}", part.name);
                return Err(Error::new(Kind::Damaged, words));
            }
        }
        if let [part] = parts
            && part.name == INDEX
        {
            return Ok(vec![self.read_index(part)?]);
        }
        let mut came = self.stretches.take_parts(parts);
        let rest = came.iter().zip(parts).filter(|(came, _)| came.is_none());
        let rest: Vec<ObjectRange<'_>> = rest.map(|(_, part)| *part).collect();
        let mut fetched = self.client.fetch_parts(&rest)?.into_iter();
        for place in came.iter_mut().filter(|came| came.is_none()) {
            *place = fetched.next().map(|bytes| bytes.to_vec());
        }
        Ok(came.into_iter().map(Option::unwrap_or_default).collect())
    }

    fn prefetch_parts(&self, parts: &[ObjectRange<'_>]) {
        // Whoever asks for bytes that are not there meets the error.
        let is_there = |part: &&ObjectRange<'_>| {
            let end = part.offset.saturating_add(part.len as u64);
            self.client.object_size(part.name).is_ok_and(|size| end <= size)
        };
        let parts: Vec<ObjectRange<'_>> = parts.iter().filter(is_there).copied().collect();
        self.stretches.prefetch_parts(&parts);
    }

    fn can_retry_damaged(&self, parts: &[ObjectRange<'_>]) -> bool {
        self.stretches.forget_parts(parts);
        self.index.lock().clear();
        true
    }
}

//! A bucket in memory, for tests, that stops answering after so many writes.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use super::request::{Bucket, ReadParts};
use forebay_objstore::{FolderListing, ListedObject, ObjectMetadata, ObjectVersion, RequestError};

/// Bytes of a stream come in such pieces.
const PIECE: usize = 50_000;

#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) objects: Mutex<BTreeMap<String, (Bytes, String)>>,
    pub(super) writes_left: Mutex<Option<u32>>,
    /// It writes over what is there, whatever it is asked.
    ignores: std::sync::atomic::AtomicBool,
    /// Its objects were copied from another one, and have other versions.
    is_copied: std::sync::atomic::AtomicBool,
    /// Parts of objects that were asked for, and folders.
    pub(super) asked: Mutex<Vec<String>>,
}

impl Memory {
    pub(super) fn new() -> Arc<Memory> {
        Arc::default()
    }

    /// From now on the machine that writes is gone after so many writes; `None`: never.
    pub(super) fn lives(&self, writes: Option<u32>) {
        *self.writes_left.lock() = writes;
    }

    pub(super) fn is_a_copy(&self) {
        self.is_copied.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    fn found(&self, name: &str, bytes: &[u8]) -> ObjectMetadata {
        let of_copy = |version: &str| ObjectVersion(format!("{version}-2"));
        let mut found = found(name, bytes);
        if self.is_copied.load(std::sync::atomic::Ordering::Relaxed) {
            found.version = found.version.map(|version| of_copy(&version.0));
        }
        found
    }

    pub(super) fn ignores_conditions(&self) {
        self.ignores.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    /// Names of objects that are not Forebay's own, and their bytes.
    pub(super) fn plain(&self) -> BTreeMap<String, Bytes> {
        let objects = self.objects.lock();
        let own = objects.iter().filter(|(name, _)| !name.starts_with(".forebay/"));
        own.map(|(name, (bytes, _))| (name.clone(), bytes.clone())).collect()
    }

    fn write(&self) -> Result<(), RequestError> {
        if let Some(left) = &mut *self.writes_left.lock() {
            let dead = || RequestError { kind: io::ErrorKind::Other, why: "killed".to_owned() };
            *left = left.checked_sub(1).ok_or_else(dead)?;
        }
        Ok(())
    }
}

pub(super) fn version_of(bytes: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(bytes))
}

fn found(name: &str, bytes: &[u8]) -> ObjectMetadata {
    let (name, size) = (name.to_owned(), bytes.len() as u64);
    ObjectMetadata { name, size, version: Some(ObjectVersion(version_of(bytes))), tag: None }
}

fn missing(name: &str) -> RequestError {
    RequestError { kind: io::ErrorKind::NotFound, why: format!("{name} is not there") }
}

impl ReadParts for Memory {
    fn stream_range(
        &self,
        name: &str,
        of: Option<&str>,
        range: Range<u64>,
        take: &mut dyn FnMut(Bytes) -> Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        let mut bytes = self.get_version_range(name, of, range, &|_| true)?;
        while !bytes.is_empty() {
            take(bytes.split_to(PIECE.min(bytes.len())))?;
        }
        Ok(())
    }

    fn stream_up_to(
        &self,
        name: &str,
        version: &str,
        range: Range<u64>,
        begin: &mut dyn FnMut(u64),
        take: &mut dyn FnMut(Bytes) -> Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        let size = self.objects.lock().get(name).map(|(bytes, _)| bytes.len() as u64);
        let size = size.ok_or_else(|| missing(name))?;
        if range.start >= size {
            let (kind, why) = (io::ErrorKind::InvalidInput, "it ends before".to_owned());
            return Err(RequestError { kind, why });
        }
        // Who is refused hears that first.
        self.get_version_range(name, Some(version), range.start..range.start, &|_| true)?;
        begin(size);
        self.stream_range(name, Some(version), range.start..range.end.min(size), take)
    }
}

impl Bucket for Memory {
    fn put_if_absent(&self, name: &str, bytes: Bytes, tag: &str) -> Result<(), RequestError> {
        self.write()?;
        let mut objects = self.objects.lock();
        let ignores = self.ignores.load(std::sync::atomic::Ordering::Relaxed);
        match objects.get(name).filter(|_| !ignores) {
            Some((_, whose)) if whose == tag => Ok(()),
            Some(_) => {
                Err(RequestError { kind: io::ErrorKind::AlreadyExists, why: name.to_owned() })
            }
            None => {
                objects.insert(name.to_owned(), (bytes, tag.to_owned()));
                Ok(())
            }
        }
    }

    fn get_range(
        &self,
        name: &str,
        range: Range<u64>,
        is_right: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Bytes, RequestError> {
        let objects = self.objects.lock();
        let (bytes, _) = objects.get(name).ok_or_else(|| missing(name))?;
        let bytes = bytes.slice(range.start as usize..range.end as usize);
        match is_right(&bytes) {
            true => Ok(bytes),
            false => Err(RequestError { kind: io::ErrorKind::InvalidData, why: name.to_owned() }),
        }
    }

    fn get_version_range(
        &self,
        name: &str,
        of: Option<&str>,
        range: Range<u64>,
        is_right: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Bytes, RequestError> {
        self.asked.lock().push(format!("{name} {}..{}", range.start, range.end));
        let now = self.objects.lock().get(name).map(|(bytes, _)| version_of(bytes));
        match (of, now) {
            (Some(version), Some(now)) if version != now => {
                let (kind, why) = (io::ErrorKind::StaleNetworkFileHandle, "another now".to_owned());
                Err(RequestError { kind, why })
            }
            _ => self.get_range(name, range, is_right),
        }
    }

    fn upload_if_absent(
        &self,
        name: &str,
        tag: &str,
        size: u64,
        next: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> Result<Option<String>, RequestError> {
        self.write()?;
        let mut bytes = vec![0; size as usize];
        let mut done = 0;
        while done < bytes.len() {
            match next(&mut bytes[done..])? {
                0 => return Err(io::Error::from(io::ErrorKind::InvalidData).into()),
                count => done += count,
            }
        }
        let version = version_of(&bytes);
        let mut objects = self.objects.lock();
        if objects.get(name).is_some_and(|(_, whose)| whose != tag) {
            return Err(RequestError { kind: io::ErrorKind::AlreadyExists, why: name.to_owned() });
        }
        objects.insert(name.to_owned(), (bytes.into(), tag.to_owned()));
        Ok(Some(version))
    }

    fn copy_object(&self, from: &str, to: &str) -> Result<(), RequestError> {
        self.write()?;
        let mut objects = self.objects.lock();
        let object = objects.get(from).cloned().ok_or_else(|| missing(from))?;
        objects.insert(to.to_owned(), object);
        Ok(())
    }

    fn delete_object(&self, name: &str) -> Result<(), RequestError> {
        self.write()?;
        self.objects.lock().remove(name);
        Ok(())
    }

    fn head_object(&self, name: &str) -> Result<Option<ObjectMetadata>, RequestError> {
        let objects = self.objects.lock();
        let found = |(bytes, tag): &(Bytes, String)| ObjectMetadata {
            tag: Some(tag.clone()).filter(|tag| !tag.is_empty()),
            ..self.found(name, bytes)
        };
        Ok(objects.get(name).map(found))
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<ObjectMetadata>, RequestError> {
        let objects = self.objects.lock();
        let below = objects.iter().filter(|(name, _)| name.starts_with(folder));
        Ok(below.map(|(name, (bytes, _))| self.found(name, bytes)).collect())
    }

    fn list_with_delimiter(&self, folder: &str) -> Result<FolderListing, RequestError> {
        self.asked.lock().push(format!("{folder}/"));
        let above = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut found = FolderListing::default();
        for (key, (bytes, _)) in &*self.objects.lock() {
            match key.strip_prefix(&above).map(|rest| rest.split_once('/').ok_or(rest)) {
                None | Some(Err("")) => {}
                Some(Ok((inner, _))) if found.folders.iter().any(|known| known == inner) => {}
                Some(Ok((inner, _))) => found.folders.push(inner.to_owned()),
                Some(Err(name)) => found.objects.push(ListedObject {
                    name: name.to_owned(),
                    size: bytes.len() as u64,
                    written: (1_700_000_000, 0),
                    version: Some(ObjectVersion(version_of(bytes))),
                }),
            }
        }
        Ok(found)
    }
}

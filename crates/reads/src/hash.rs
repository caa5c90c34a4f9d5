//! Checksums: XXH3 (128 bits) of what lies in an archive, MD5 and SHA-256 of what went in.
//!
//! XXH3 finds every accident; it does not stop somebody who wants to deceive. SHA-256 does.

mod digest_thread;
mod md5_steps;
mod md5_stream;

use sha2::{Digest, Sha256};

pub(crate) use digest_thread::{DigestFeed, start_digests};
use md5_stream::Md5Stream;

/// The 128 bits of a chunk, a page or a manifest, least byte first.
pub(crate) type Hash = [u8; 16];

pub(crate) fn hash(bytes: &[u8]) -> Hash {
    twox_hash::XxHash3_128::oneshot(bytes).to_le_bytes()
}

/// What a whole file comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileDigests {
    /// Its length.
    pub bytes: u64,
    /// Its MD5, which repositories ask for.
    pub md5: [u8; 16],
    /// Its SHA-256.
    pub sha256: [u8; 32],
}

/// Adds a file up as it comes.
#[derive(Debug, Default)]
pub(crate) struct DigestBuilder {
    bytes: u64,
    md5: Md5Stream,
    sha256: Sha256,
}

impl DigestBuilder {
    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.md5.add_bytes(bytes);
        self.sha256.update(bytes);
    }

    /// Adds to each of two files its bytes: sooner done than one after the other.
    pub(crate) fn add_to_both(sums: [&mut DigestBuilder; 2], bytes: [&[u8]; 2]) {
        let [one, other] = sums;
        Md5Stream::add_to_both([&mut one.md5, &mut other.md5], bytes);
        for (sum, bytes) in [one, other].into_iter().zip(bytes) {
            sum.bytes += bytes.len() as u64;
            sum.sha256.update(bytes);
        }
    }

    pub(crate) fn into_digests(self) -> FileDigests {
        FileDigests {
            bytes: self.bytes,
            md5: self.md5.into_md5(),
            sha256: self.sha256.finalize().into(),
        }
    }
}

/// Digits as md5sum(1) writes them.
#[must_use]
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

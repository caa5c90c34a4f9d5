//! Checksums: XXH3 (128 bits) of what lies in an archive, MD5 and SHA-256 of what went in.
//!
//! XXH3 finds every accident; it does not stop somebody who wants to deceive. SHA-256 does.

use md5::{Digest, Md5};
use sha2::Sha256;

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
    md5: Md5,
    sha256: Sha256,
}

impl DigestBuilder {
    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.md5.update(bytes);
        self.sha256.update(bytes);
    }

    pub(crate) fn into_digests(self) -> FileDigests {
        FileDigests {
            bytes: self.bytes,
            md5: self.md5.finalize().into(),
            sha256: self.sha256.finalize().into(),
        }
    }
}

/// Digits as md5sum(1) writes them.
#[must_use]
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

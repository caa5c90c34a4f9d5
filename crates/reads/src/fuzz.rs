//! What an archive, a BAM or a gzip may hold, as bytes of anybody: that reading them ends, without a
//! panic and within its bounds, is what counts. Checksums are made to fit, or nothing would be
//! reached. `fuzz/` feeds the targets for long, the test below for a moment.

mod bam;
mod codecs;
mod existing;
mod group;
mod index;
mod manifest;
mod sample;
mod whole;

#[cfg(test)]
pub(crate) use sample::{encode_sample_pair, group_data, seal_archive};

/// Something that reads.
#[derive(Debug)]
pub struct FuzzTarget {
    /// What people call it.
    pub name: &'static str,
    /// Reads these bytes. It panics if what it reads contradicts itself.
    pub feed: fn(&[u8]),
    /// Bytes that are worth changing.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All there are. Each has a program in `fuzz/fuzz_targets`.
pub const TARGETS: &[&FuzzTarget] = &[
    &manifest::TARGET,
    &index::TARGET,
    &group::TARGET,
    &codecs::TARGET,
    &whole::TARGET,
    &bam::TARGET,
    &existing::TARGET,
];

/// Feeds a target.
///
/// # Panics
/// There is none of this name, or a flaw was found.
pub fn feed(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("a target of this name").feed)(bytes);
}

#[cfg(test)]
mod tests;

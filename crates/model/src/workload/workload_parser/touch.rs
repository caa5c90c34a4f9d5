//! What a job does to the files of a family: to its own part where the family is cut for its stage,
//! else to each part that its share of the row covers.

use super::file_families::FileFamilies;
use super::file_set_id;
use super::stage::{AccessAmount, FamilyAccess};
use crate::event::{Op, OpKey};
use crate::toml::ConfigError;
use crate::units::ByteCount;
use crate::workload::FileSetAccess;

impl FileFamilies<'_> {
    /// The accesses of one job: to its own part where the family is cut for its stage, else to
    /// each part that its share of the row covers.
    pub(super) fn add_accesses(
        &self,
        used: &FamilyAccess<'_>,
        (stage, job): (usize, usize),
        (from, to): (f64, f64),
        length: f64,
        accesses: &mut Vec<FileSetAccess>,
    ) -> Result<(), ConfigError> {
        let known: Vec<&str> = self.all.iter().map(|family| family.name).collect();
        let Some(family) = self.all.iter().find(|family| family.name == used.files.key) else {
            return Err(used.files.unknown_key_error("family of files", &known));
        };
        let share = family.bytes.get() as f64 * (to - from);
        let much = |much: AccessAmount| match much {
            AccessAmount::Times(times) => share * times,
            AccessAmount::Bytes(bytes) => bytes.get() as f64,
        };
        let (read, write) = (much(used.read), much(used.write));
        let mut add = |part: usize, share: f64| {
            let (read, written) = (
                ByteCount((read * share).round() as u64),
                ByteCount((write * share).round() as u64),
            );
            let mut ops: Vec<(OpKey, f64)> =
                used.ops.iter().map(|(key, count)| (*key, count * length * share)).collect();
            for (op, bytes) in [(Op::Read, read), (Op::Write, written)] {
                if bytes > ByteCount::ZERO {
                    let count = bytes.get() as f64 / used.block.get() as f64;
                    ops.push((
                        OpKey::with_bytes(op, used.block.get(), used.pattern),
                        count.max(1.0),
                    ));
                }
            }
            accesses.push(FileSetAccess {
                files: file_set_id(family.first + part),
                ops,
                read,
                written,
            });
        };
        if family.stage == Some(stage) {
            add(job, 1.0);
            return Ok(());
        }
        let mut part = family.ends.partition_point(|end| *end <= from);
        let mut at = from;
        while part < family.ends.len() && (at < to || part == 0) {
            let end = family.ends[part].min(to);
            add(part, if to > from { (end - at) / (to - from) } else { 1.0 });
            at = end;
            part += 1;
        }
        Ok(())
    }
}

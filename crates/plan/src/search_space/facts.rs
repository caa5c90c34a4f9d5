//! What there is to know of a class of files before anything is simulated.

use forebay_model::workload::{DeletionPoint, TaskId};
use forebay_model::{ByteCount, Op, Workload};

/// One class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassFacts {
    /// Tasks make its files, all that have bytes: names that are only looked for are nobody's.
    pub made: bool,
    /// Tasks make some of its files, or write to them.
    pub written: bool,
    /// Tasks read its files.
    pub read: bool,
    /// No file of it is touched by two tasks.
    pub private: bool,
    /// Some of its files are there when all tasks are done.
    pub stays: bool,
    /// Files of one pipeline.
    pub files: u64,
    /// Their bytes.
    pub bytes: ByteCount,
    /// The bytes of the largest set of them.
    pub largest: ByteCount,
}

/// For each class of the workload.
pub fn class_facts(workload: &Workload) -> Vec<ClassFacts> {
    let sets = workload.files.len();
    let (mut made, mut read) = (vec![false; sets], vec![false; sets]);
    let mut only: Vec<Option<TaskId>> = vec![None; sets];
    let mut shared = vec![false; sets];
    for (number, task) in workload.tasks.iter().enumerate() {
        let id = TaskId(number as u32);
        for access in task.steps.iter().flat_map(|step| &step.accesses) {
            let set = access.files.index();
            if set >= sets {
                continue;
            }
            made[set] |= access.makes_files();
            read[set] |= access.read > ByteCount::ZERO
                || access.ops.iter().any(|(key, count)| *count > 0.0 && key.op() == Op::Read);
            shared[set] |= only[set].is_some_and(|other| other != id);
            only[set] = Some(id);
        }
    }
    let start = ClassFacts { private: true, ..ClassFacts::default() };
    let mut inputs = vec![false; workload.classes.len()];
    let mut classes = vec![start; workload.classes.len()];
    for (number, set) in workload.files.iter().enumerate() {
        // Names that are only looked for are no files.
        let Some(class) = classes.get_mut(set.class.index()).filter(|_| set.count > 0) else {
            continue;
        };
        inputs[set.class.index()] |= !made[number] && set.bytes > ByteCount::ZERO;
        class.written |= made[number];
        class.read |= read[number];
        class.private &= !shared[number];
        class.stays |= set.until == DeletionPoint::End;
        class.files += set.count;
        class.bytes += set.bytes;
        class.largest = class.largest.max(set.bytes);
    }
    for (class, inputs) in classes.iter_mut().zip(inputs) {
        class.made = class.written && !inputs;
    }
    classes
}

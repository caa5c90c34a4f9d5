//! Trinity: phase 2 is one small assembly for each read partition `Fb_x/CBin_y/cN`.

use super::process_claims::{ClaimedTask, ObservedRun, TaskClaims};
use super::program::is_driver;
use super::{EngineAdapter, EngineNote};
use std::collections::HashMap;

pub(super) const ENGINE: EngineAdapter =
    EngineAdapter { name: "trinity", wanted: |_| false, read: no_notes, claim: claim_processes };

fn no_notes(_: &[u8], _: &[u8]) -> Vec<EngineNote> {
    Vec::new()
}

/// `.../Fb_0/CBin_12/c1234.trinity.reads.fa` -> `Fb_0/CBin_12/c1234`.
fn find_partition(text: &[u8]) -> Option<&[u8]> {
    let mut at = 0;
    while let Some(found) = text[at..].windows(3).position(|w| w == b"Fb_") {
        let start = at + found;
        at = start + 3;
        let Some(end) =
            end_of_digits(text, at).and_then(|end| end_of_numbered_part(text, end, b"/CBin_"))
        else {
            continue;
        };
        if let Some(end) = end_of_numbered_part(text, end, b"/c") {
            return Some(&text[start..end]);
        }
    }
    None
}

/// The end of the digits at `at`; `None` if there are none.
fn end_of_digits(text: &[u8], at: usize) -> Option<usize> {
    let digits = text.get(at..)?.iter().take_while(|b| b.is_ascii_digit()).count();
    (digits > 0).then_some(at + digits)
}

fn end_of_numbered_part(text: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    text.get(at..)?.strip_prefix(word)?;
    end_of_digits(text, at + word.len())
}

fn claim_processes(seen: &ObservedRun, claims: &mut TaskClaims) {
    // By what it made, when all of that is in one partition.
    let mut made: HashMap<usize, Option<&[u8]>> = HashMap::new();
    for (process, path) in &seen.wrote {
        let found = find_partition(path);
        made.entry(*process)
            .and_modify(|one| *one = one.filter(|p| Some(*p) == found))
            .or_insert(found);
    }
    let mut tasks: HashMap<&[u8], usize> = HashMap::new();
    let mut tops = HashMap::new();
    for &process in seen.order() {
        let row = &seen.processes[process];
        if seen.is_stranger(process) {
            continue;
        }
        let by_words = row.argv.iter().find_map(|word| find_partition(word));
        let by_cwd = || row.cwd.as_deref().and_then(find_partition);
        let by_files = || made.get(&process).copied().flatten().filter(|_| !is_driver(row));
        let Some(key) = by_words.or_else(by_cwd).or_else(by_files) else { continue };
        let task = *tasks.entry(key).or_insert_with(|| {
            claims.add_task(ClaimedTask {
                name: "Trinity partition".into(),
                engine: ENGINE.name,
                key: Some(String::from_utf8_lossy(key).into_owned()),
                ..ClaimedTask::default()
            })
        });
        tops.insert(process, task);
    }
    claims.claim_subtrees(seen, &tops);
}

#[cfg(test)]
mod tests {
    //! If these fail, thousands of small assemblies are one lump or thousands of strangers.
    use super::*;
    use crate::tasks::tests::{process, task_names};

    #[test]
    fn partitions() {
        let path = b"/t/read_partitions/Fb_0/CBin_12/c1234.trinity.reads.fa.out/x";
        assert_eq!(find_partition(path), Some(&b"Fb_0/CBin_12/c1234"[..]));
        assert_eq!(find_partition(b"Fb_/Fb_1/CBin_2/c3"), Some(&b"Fb_1/CBin_2/c3"[..]));
        for text in [&b""[..], b"Fb_", b"Fb_1/CBin_x/c3", b"Fb_1/CBin_2/d", b"Fb_1/CBin_2/c"] {
            assert_eq!(find_partition(text), None);
        }
    }

    #[test]
    fn a_partition_is_one_task_with_all_that_it_starts() {
        let one = "sh -c Trinity --single /t/Fb_0/CBin_0/c1.trinity.reads.fa";
        let processes = vec![
            process(1, None, "perl /opt/Trinity --seqType fq"),
            process(2, Some(1), "ParaFly -c recursive_trinity.cmds"),
            process(3, Some(2), one),
            process(4, Some(3), "touch chrysalis.ok"),
            process(5, Some(2), "sh -c Trinity --single /t/Fb_0/CBin_0/c2.trinity.reads.fa"),
            process(6, Some(1), "bowtie2-build x"),
            process(7, Some(1), "inchworm"),
        ];
        let wrote = vec![
            (crate::ProcessId(7), b"/t/Fb_0/CBin_0/c1.trinity.reads.fa".to_vec()),
            (crate::ProcessId(7), b"/t/Fb_0/CBin_0/c2.trinity.reads.fa".to_vec()),
        ];
        let claims = super::super::assign_tasks(&ObservedRun::new(processes, wrote, vec![]));
        let part = "Trinity partition";
        assert_eq!(
            task_names(&claims),
            ["Trinity", "ParaFly", part, part, part, "bowtie2-build", "inchworm"]
        );
        assert_eq!(claims.of[2], claims.of[3]);
        assert_ne!(claims.of[2], claims.of[4]);
    }
}

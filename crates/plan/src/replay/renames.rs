//! Which files had another name before. A run keeps the last names and counts renames by task and
//! by the class of the new name: so the files of that class which the task made are taken, then
//! those that others made before, in the order in which they were made.

use super::run_lookup::{Owner, RunLookup};
use forebay_model::{ClassId, Op};
use std::collections::BTreeMap;

/// A file that may have been renamed.
struct Candidate {
    file: usize,
    owner: Owner,
    made: f64,
    closed: f64,
    created: bool,
}

/// Gives names before to files, by the counts of renames.
pub(super) fn infer_renames(told: &mut RunLookup<'_>) {
    let mut candidates = rename_candidates(told);
    let asked: Vec<(Owner, ClassId, u64)> = told
        .ops
        .iter()
        .filter_map(|(&(owner, class), ops)| Some((owner, class, *ops.get(&Op::Rename)?)))
        .collect();
    // Tasks in their order: who came first renamed what was made first.
    for (owner, class, count) in asked {
        let (start, end) = told.owner_span(owner);
        let files = candidates.get_mut(&class);
        let mut left = count;
        if let Some(files) = files {
            let passes: [fn(&Candidate, Owner) -> bool; 3] = [
                |one, owner| one.created && one.owner == owner,
                |one, _| one.created,
                |one, _| !one.created,
            ];
            for fits in passes {
                files.retain(|one| {
                    if left == 0 || one.made > end || !fits(one, owner) {
                        return true;
                    }
                    left -= 1;
                    let at = one.closed.max(start);
                    let before = told.names[one.file].earlier_name(one.file);
                    told.names[one.file].before = Some((before, at));
                    told.renamed.push((one.file, at, owner));
                    false
                });
            }
        }
        told.unrenamed += left;
    }
}

/// By class, in the order in which they were made.
fn rename_candidates(told: &RunLookup<'_>) -> BTreeMap<ClassId, Vec<Candidate>> {
    let mut all: BTreeMap<ClassId, Vec<Candidate>> = BTreeMap::new();
    let mut seen = vec![false; told.names.len()];
    for open in told.opens {
        let Some(file) = told.file_of_open(open) else { continue };
        if !std::mem::replace(&mut seen[file], true) {
            let created = open.open.created;
            all.entry(told.class_of_file(file)).or_default().push(Candidate {
                file,
                owner: told.owner_of_open(open),
                made: if created { open.open.opened.as_secs() } else { 0.0 },
                closed: if created { told.close_time(open) } else { 0.0 },
                created,
            });
        }
    }
    all
}

//! Where a file should live, by what became of it.

use std::collections::HashMap;

use forebay_model::{ClassId, FileId};

use super::Users;
use crate::commands::report::seen::{OfFile, SMALL, Seen};
use crate::commands::report::text::shown;

/// So many small files of a class are worth packing.
const CROWD: u64 = 1_000;
/// A copy pays where a file is read so many times whole.
const AGAIN: u64 = 2;

/// How many small files of each class the run made.
pub(super) fn crowds(run: &Seen) -> HashMap<ClassId, u64> {
    let mut crowds = HashMap::new();
    for (id, file) in &run.opened.files {
        let small = file.created && file.size.is_some_and(|size| size <= SMALL);
        if let Some(place) = run.file(*id).filter(|_| small) {
            *crowds.entry(place.class).or_default() += 1;
        }
    }
    crowds
}

/// The place, and the reason, in words.
pub(super) fn advised(
    run: &Seen,
    id: FileId,
    file: &OfFile,
    users: &Users,
    crowds: &HashMap<ClassId, u64>,
) -> (&'static str, String) {
    let place = run.file(id);
    let home = place.and_then(|place| place.home);
    if let Some(tree) = home.and_then(|home| run.trees.iter().find(|tree| tree.id == home)) {
        let tier = shown(Seen::tier_name(tree).as_bytes());
        return ("where it was", format!("a rule sent it to tier {tier}"));
    }
    let crowd = place.and_then(|place| crowds.get(&place.class)).copied().unwrap_or(0);
    if file.created && crowd >= CROWD && file.size.is_some_and(|size| size <= SMALL) {
        return ("packed, on a fast tier", format!("one of {crowd} small files of its class"));
    }
    let tasks = |count: u64| if count == 1 { "1 task".to_owned() } else { format!("{count} tasks") };
    match (file.created, run.gone.contains_key(&id), users.readers) {
        (true, true, _) => ("a fast tier of the node", "made and removed within the run".to_owned()),
        (true, false, 0) => ("in place", "a result: nobody in the run read it".to_owned()),
        (true, false, readers) => {
            let why = format!("made in the run and read again by {}", tasks(readers));
            ("a fast tier, and home when the run ends", why)
        }
        (false, _, readers) => {
            let whole = file.size.filter(|size| *size > 0).map_or(0, |size| file.read / size);
            let again = readers.max(whole);
            if again >= AGAIN {
                let why = match readers >= whole {
                    true => format!("an input that {} read", tasks(readers)),
                    false => format!("an input that was read {whole} times over"),
                };
                return ("in place, with a copy on a fast tier", why);
            }
            let why = if users.writers > 0 { "it was there before, and was changed" } else { "read once" };
            ("in place", why.to_owned())
        }
    }
}

//! Folders that a choice puts on one tier, and that may be there as a whole.
//!
//! A search places classes of files one by one. Where all files of a folder go to one tier, and the
//! run that it was learnt from allows it ([`LearntRun::emptied_folders`](crate::LearntRun)), the
//! folder may be on that tier as a whole: nothing of Forebay lies between then.

use crate::Choice;
use crate::choice::in_place_placement;
use forebay_model::{FileLayout, FileLocation, Placement, TierId, Workload};

/// A folder that is to be on a tier as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedFolder {
    /// Which, relative to the managed directory.
    pub path: String,
    /// Where.
    pub tier: TierId,
    /// The classes of the files in it: places in [`Workload::classes`].
    pub classes: Vec<usize>,
}

impl ProposedFolder {
    /// What a rule for it matches.
    pub fn glob(&self) -> String {
        format!("{}/**", self.path)
    }
}

/// Those of `emptied` of which `choice` puts all files on one tier. What machines see of each other is
/// no whole folder, so on several nodes there is none.
pub fn propose_whole_folders(
    choice: &Choice,
    workload: &Workload,
    emptied: &[String],
) -> Vec<ProposedFolder> {
    if choice.nodes > 1 {
        return Vec::new();
    }
    let mut has_files = vec![false; workload.classes.len()];
    for set in workload.files.iter().filter(|set| set.count > 0) {
        has_files[set.class.index()] = true;
    }
    emptied.iter().filter_map(|path| propose_folder(choice, workload, &has_files, path)).collect()
}

fn propose_folder(
    choice: &Choice,
    workload: &Workload,
    has_files: &[bool],
    path: &str,
) -> Option<ProposedFolder> {
    let is_inside = |name: &str| name.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
    let classes: Vec<usize> = workload
        .classes
        .iter()
        .enumerate()
        .filter(|(at, class)| has_files[*at] && is_inside(&class.pattern))
        .map(|(at, _)| at)
        .collect();
    let is_kept = |placement: &Placement| placement.cache.is_none() && placement.publish.is_none();
    let tier_of = |class: &usize| match &choice.placements[*class] {
        Placement { home: FileLocation::Tier(tier), .. } if is_kept(&choice.placements[*class]) => {
            Some(tier)
        }
        _ => None,
    };
    let tier = classes.first().and_then(tier_of)?;
    classes.iter().all(|class| tier_of(class) == Some(tier)).then(|| ProposedFolder {
        path: path.to_owned(),
        tier: tier.clone(),
        classes,
    })
}

/// The choice with these folders as a whole.
pub fn with_whole_folders(choice: &Choice, folders: &[ProposedFolder]) -> Choice {
    let mut whole = choice.clone();
    for folder in folders {
        for class in &folder.classes {
            whole.placements[*class] = Placement {
                home: FileLocation::Tier(folder.tier.clone()),
                layout: FileLayout::Whole,
                ..in_place_placement()
            };
        }
    }
    whole
}

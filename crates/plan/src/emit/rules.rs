//! A rules file that says the same as a choice.

use super::EmitContext;
use super::glob::{glob_for_class, glob_for_path, narrowness};
use super::toml::{rule_keys, single_line_comment, toml_string};
use forebay_model::workload::FileClass;
use forebay_model::{FileLayout, FileLocation, Placement, Rules};

/// Why a choice can't be said in rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EmitError(String);

/// A run that packs files asks the storage in place three things for each: whether the name is free,
/// whether its directory hands down a list of rights, and to set the directory's time. Where answers
/// count for a second, it asks once a second for each directory; no change from outside is promised
/// to be seen sooner without.
const ASK_ONCE: &str = "\n# Names and attributes are asked for once a second, not for each file.\n\
    [[metadata_cache]]\nmatch = \"**\"\ntimeout = \"1 s\"\n";

/// One glob and what it says.
struct RuleLine<'e> {
    glob: String,
    class: &'e str,
    placement: &'e Placement,
}

/// The text of a rules file that places each class of the workload as the choice does.
///
/// # Errors
/// Two classes have one name, and the choice wants them in two places.
pub fn render_rules(emission: &EmitContext<'_>) -> Result<String, EmitError> {
    let classes = classes_with_files(emission);
    let mut lines: Vec<RuleLine<'_>> = Vec::new();
    let mut narrow: Vec<RuleLine<'_>> = Vec::new();
    // All that is made in a whole folder is in it, whatever other rules say.
    let whole: Vec<RuleLine<'_>> = emission
        .whole_folders
        .iter()
        .filter_map(|folder| {
            let placement = &emission.choice.placements[*folder.classes.first()?];
            Some(RuleLine { glob: folder.glob(), class: "a folder of temporary files", placement })
        })
        .collect();
    let is_single = |(_, placement): &(&FileClass, &Placement)| {
        !is_in_place(placement) && placement.layout != FileLayout::Whole
    };
    for (class, placement) in classes.clone().filter(is_single) {
        let glob = glob_for_class(&class.pattern, &class.example);
        lines.push(RuleLine { glob, class: &class.pattern, placement });
        // Where a file lives is decided when it is made.
        for name in &class.passing_names {
            let glob = glob_for_class(&name.pattern, &name.example);
            lines.push(RuleLine { glob, class: &name.pattern, placement });
        }
    }
    lines.sort_by_key(|line| std::cmp::Reverse(narrowness(&line.glob)));
    // What a glob for another class catches, too, is said before it: by a glob of its own, or where
    // that is the wider one, by its path.
    for by_path in [false, true] {
        let text = render_rule_text(emission, &[&whole, &narrow, &lines]);
        let Ok(read) = Rules::parse(&text, "rules", emission.site) else {
            return verify_rules_text(text, emission);
        };
        for (class, placement) in classes.clone() {
            if same_placement(read.placement_for_path(&class.example, None), placement) {
                continue;
            }
            let path = String::from_utf8_lossy(&class.example);
            let glob = if by_path {
                glob_for_path(&path)
            } else {
                glob_for_class(&class.pattern, &class.example)
            };
            let line = RuleLine { glob, class: &class.pattern, placement };
            if by_path {
                narrow.insert(0, line);
            } else if !lines.iter().any(|other| other.glob == line.glob) {
                narrow.push(line);
            }
        }
        narrow.sort_by_key(|line| std::cmp::Reverse(narrowness(&line.glob)));
    }
    verify_rules_text(render_rule_text(emission, &[&whole, &narrow, &lines]), emission)
}

/// Classes that have files, each with its placement. Names that are only looked for need no rule,
/// and none may be in the way of a rule for files.
fn classes_with_files<'e>(
    emission: &EmitContext<'e>,
) -> impl Iterator<Item = (&'e FileClass, &'e Placement)> + Clone {
    let mut files = vec![false; emission.workload.classes.len()];
    for set in emission.workload.files.iter().filter(|set| set.count > 0) {
        files[set.class.index()] = true;
    }
    let placed = emission.workload.classes.iter().zip(&emission.choice.placements);
    let all: Vec<_> = placed.zip(files).filter(|(_, files)| *files).map(|(one, _)| one).collect();
    all.into_iter()
}

/// The text, if it says what was chosen.
fn verify_rules_text(text: String, emission: &EmitContext<'_>) -> Result<String, EmitError> {
    let read = Rules::parse(&text, "the rules", emission.site)
        .map_err(|flaw| EmitError(flaw.to_string()))?;
    for (class, placement) in classes_with_files(emission) {
        if !same_placement(read.placement_for_path(&class.example, None), placement) {
            let (class, path) = (&class.pattern, String::from_utf8_lossy(&class.example));
            let message = format!("no rule can tell {path:?} (of {class:?}) from other files");
            return Err(EmitError(message));
        }
    }
    Ok(text)
}

fn is_in_place(placement: &Placement) -> bool {
    placement.home == FileLocation::Here && placement.cache.is_none() && placement.publish.is_none()
}

/// Whether both mean the same, whichever rule says it.
pub(super) fn same_placement(a: &Placement, b: &Placement) -> bool {
    Placement { rule: None, ..a.clone() } == Placement { rule: None, ..b.clone() }
}

fn render_rule_text(emission: &EmitContext<'_>, lines: &[&[RuleLine<'_>]]) -> String {
    let mut text = emission.header_comment("#");
    let mut all = lines.iter().copied().flatten().peekable();
    if all.peek().is_none() {
        text.push_str("# There is no rule: everything stays in place.\n");
    }
    while let Some(line) = all.next() {
        let mut group = vec![line];
        while let Some(next) = all.next_if(|next| same_placement(next.placement, line.placement)) {
            group.push(next);
        }
        text.push_str("\n[[rule]]\n");
        let globs: Vec<String> = group.iter().map(|line| toml_string(&line.glob)).collect();
        match globs.as_slice() {
            [one] => {
                text.push_str(&format!("match = {one} # {}\n", single_line_comment(group[0].class)))
            }
            _ => {
                text.push_str("match = [\n");
                for (glob, line) in globs.iter().zip(&group) {
                    text.push_str(&format!("    {glob}, # {}\n", single_line_comment(line.class)));
                }
                text.push_str("]\n");
            }
        }
        text.push_str(&rule_keys(line.placement));
    }
    if lines.iter().copied().flatten().any(|line| line.placement.layout.is_packed()) {
        text.push_str(ASK_ONCE);
    }
    text
}

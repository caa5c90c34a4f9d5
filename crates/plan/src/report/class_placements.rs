//! Where files live, class by class: those that move or matter, and the rest in a line.

use super::certainty::count_with_noun;
use super::{PlacedClass, Plan};
use forebay_model::{
    ByteCount, FileLayout, FileLocation, Placement, PrefetchMode, Seconds, WriteBackTrigger,
};

/// So many classes that move are told one by one.
const MOVED_MAX: usize = 8;
/// And so many that stay and are waited for.
const STAY_MAX: usize = 4;
/// A class that stays is worth a line if tasks wait for it for more than this part of all waits.
const MATTERS: f64 = 0.01;

/// Where files live, in words.
pub(super) fn describe_placement(placement: &Placement) -> String {
    match (&placement.home, &placement.cache) {
        (FileLocation::Tier(tier), _) if placement.layout == FileLayout::Packed => {
            format!("{tier}, packed")
        }
        (FileLocation::Tier(tier), _) if placement.layout == FileLayout::Apart => {
            format!("{tier}, names packed")
        }
        (FileLocation::Tier(tier), _) if placement.layout == FileLayout::Whole => {
            format!("{tier}, as a whole folder")
        }
        (FileLocation::Tier(tier), _) if placement.drain == WriteBackTrigger::Closed => {
            format!("{tier} until closed")
        }
        (FileLocation::Tier(tier), _) => tier.to_string(),
        (FileLocation::Here, Some(cache)) => {
            let when = match cache.ahead {
                PrefetchMode::Never => "after their first use",
                PrefetchMode::OnOpen => "from their first open on",
                PrefetchMode::AtStart => "from the start",
            };
            format!("in place, read from {} {when}", cache.tier)
        }
        (FileLocation::Here, None) => "in place".to_owned(),
    }
}

/// One line: which files, where they live, how many, how large, how long tasks wait for them there,
/// and in place where that is elsewhere.
pub type FileRow = [String; 6];

/// A line for each class that moves or that tasks wait for, the rest summed up; with `all`, one for
/// each.
pub fn file_rows(plan: &Plan, all: bool) -> Vec<FileRow> {
    let waits = |of: &[PlacedClass]| of.iter().map(|class| class.waits_s.get()).sum::<f64>();
    let least = MATTERS * (waits(&plan.moved) + waits(&plan.stay));
    let matter = plan.stay.iter().take(STAY_MAX).filter(|class| class.waits_s.get() > least);
    let mut rows = Vec::new();
    for (classes, most) in [(&plan.moved, MOVED_MAX), (&plan.stay, matter.count())] {
        // A line that stands for one class may as well name it.
        let shown = if all || classes.len() <= most + 1 { classes.len() } else { most };
        let (one_by_one, rest) = classes.split_at(shown);
        rows.extend(one_by_one.iter().map(file_row));
        rows.extend(sum_row(rest));
    }
    rows
}

fn file_row(class: &PlacedClass) -> FileRow {
    let stays = class.to == "in place";
    let instead = if stays { String::new() } else { class.waits_in_place_s.to_string() };
    let (number, bytes) = (class.files.to_string(), class.bytes.to_string());
    [
        class.pattern.clone(),
        with_preposition(&class.to),
        number,
        bytes,
        class.waits_s.to_string(),
        instead,
    ]
}

/// `on nvme`, `in place`
fn with_preposition(to: &str) -> String {
    if to.starts_with("in place") { to.to_owned() } else { format!("on {to}") }
}

fn sum_row(rest: &[PlacedClass]) -> Option<FileRow> {
    let mut all = rest.first()?.clone();
    all.pattern = format!("and {} more", rest.len());
    if rest.iter().any(|class| class.to != all.to) {
        all.to = "several tiers".to_owned();
    }
    all.files = rest.iter().map(|class| class.files).sum();
    all.bytes = rest.iter().map(|class| class.bytes).sum::<ByteCount>();
    all.waits_s = rest.iter().map(|class| class.waits_s).sum::<Seconds>();
    all.waits_in_place_s = rest.iter().map(|class| class.waits_in_place_s).sum::<Seconds>();
    Some(file_row(&all))
}

/// The same in sentences, each class that moves with its own.
pub(super) fn placement_sentences(plan: &Plan) -> Vec<String> {
    let moved = plan.moved.iter().map(|moved| {
        let go = if moved.to.starts_with("in place") { "stay" } else { "go to" };
        let (bytes, files) = (moved.bytes, count_with_noun(moved.files, "file"));
        format!(
            "Files of {:?} ({bytes} in {files}) {go} {}: tasks wait {} for them instead of {}, at \
             least and summed.",
            moved.pattern, moved.to, moved.waits_s, moved.waits_in_place_s
        )
    });
    let stay = plan.stay.len() as u64;
    let rest = (stay > 0 && !plan.moved.is_empty())
        .then(|| format!("{} of files stay in place.", count_with_noun(stay, "other class")));
    moved.chain(rest).collect()
}

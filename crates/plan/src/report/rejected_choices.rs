//! Choices that are not the proposal: how they differ, what they lead to, why they lost.

use super::class_placements::describe_placement;
use super::{RejectedChoice, ReportContext};
use crate::search::{Goal, RejectedPoint, Score};
use crate::search_space::{Configuration, SearchPoint};
use forebay_model::FileLocation;

/// What differs by less is the same, and no news.
const SAME: f64 = 5e-4;
/// So many of those that lost are told.
const LOST_MAX: usize = 12;

/// What lost, the nearest first.
pub(super) fn list_rejected(story: &ReportContext<'_>) -> Vec<RejectedChoice> {
    let frame = story.found.chosen.frame;
    let near = |rejected: &RejectedPoint| {
        let other = if rejected.point.frame == frame { f64::INFINITY } else { 0.0 };
        rejected.ratio.unwrap_or(other)
    };
    let start = story.space.all_in_place();
    let same = |rejected: &&RejectedPoint| {
        rejected.ratio.is_none_or(|ratio| (ratio - 1.0).abs() > SAME) || rejected.point == start
    };
    let mut sorted: Vec<&RejectedPoint> = story.found.rejected.iter().filter(same).collect();
    // All in place is told first; then other machines, pipelines and orders, with those that can't
    // be before the nearest; then files, with what can't be at the end.
    let rank = |rejected: &RejectedPoint| (rejected.point != start, rejected.point.frame == frame);
    sorted.sort_by(|a, b| rank(a).cmp(&rank(b)).then(near(a).total_cmp(&near(b))));
    let tell = |rejected: &&RejectedPoint| {
        let why = match (&rejected.score, rejected.ratio) {
            (Err(why), _) => why.clone(),
            (Ok(score), Some(ratio)) => why_rejected(story, score, ratio),
            (Ok(_), None) => String::new(),
        };
        describe_rejected(story, &rejected.point, rejected.score.clone(), why)
    };
    let mut told: Vec<RejectedChoice> = Vec::new();
    for lost in sorted.iter().map(tell) {
        // Those that differ in what is not told are one line.
        if told.iter().any(|other| (&other.what, &other.why) == (&lost.what, &lost.why)) {
            continue;
        }
        told.push(lost);
        if told.len() == LOST_MAX {
            break;
        }
    }
    told
}

fn why_rejected(story: &ReportContext<'_>, score: &Score, ratio: f64) -> String {
    let chosen = &story.found.score;
    let percent = (ratio - 1.0) * 100.0;
    let worse = match story.wanted.goal {
        Goal::Fastest => "slower",
        Goal::Cheapest => "dearer",
        Goal::Throughput => "fewer samples an hour",
    };
    let dearer = match (score.per_sample, chosen.per_sample) {
        (Some(a), Some(b)) if a > b && story.wanted.goal != Goal::Cheapest => ", and dearer",
        _ => "",
    };
    if percent.abs() < 0.05 {
        format!("the same in the model{dearer}")
    } else if percent < 0.0 {
        format!("{:.1} % better in the model{dearer}, which is less than its error", -percent)
    } else if percent > 0.0 && ratio - 1.0 <= story.wanted.error {
        format!("{percent:.1} % {worse}, less than the model's error{dearer}")
    } else if ratio > 3.0 {
        match story.wanted.goal {
            Goal::Fastest => format!("{ratio:.1} times as long"),
            Goal::Cheapest => format!("{ratio:.1} times as dear"),
            Goal::Throughput => format!("{ratio:.1} times as long for each sample"),
        }
    } else {
        format!("{percent:.1} % {worse}")
    }
}

pub(super) fn describe_rejected(
    story: &ReportContext<'_>,
    point: &SearchPoint,
    score: Result<Score, String>,
    why: String,
) -> RejectedChoice {
    let score = score.ok();
    RejectedChoice {
        what: describe_difference(story, point),
        why,
        makespan_s: score.map(|score| score.makespan),
        per_sample_usd: score.and_then(|score| score.per_sample),
    }
}

/// How another point differs from the proposal.
fn describe_difference(story: &ReportContext<'_>, point: &SearchPoint) -> String {
    let (space, chosen) = (story.space, &story.found.chosen);
    let mut words = Vec::new();
    if space.count_moved_classes(point) == 0 && space.count_moved_classes(chosen) > 0 {
        words.push("everything in place".to_owned());
    } else {
        for class in
            (0..point.picks.len()).filter(|class| point.picks[*class] != chosen.picks[*class])
        {
            let pattern = &story.workload.classes[class].pattern;
            let placement = space.placement_at(point, class);
            let on = if placement.home == FileLocation::Here { "" } else { "on " };
            words.push(format!("{pattern} {on}{}", describe_placement(placement)));
        }
    }
    if words.len() > 3 {
        let more = words.len() - 2;
        words.truncate(2);
        words.push(format!("{more} more classes elsewhere"));
    }
    if point.frame != chosen.frame {
        words.push(describe_frame_change(
            story,
            &space.frames[point.frame],
            &space.frames[chosen.frame],
        ));
    }
    if words.is_empty() { "as proposed".to_owned() } else { words.join("; ") }
}

fn describe_frame_change(
    story: &ReportContext<'_>,
    frame: &Configuration,
    chosen: &Configuration,
) -> String {
    let mut words = Vec::new();
    if frame.nodes != chosen.nodes {
        words.push(format!("{} nodes", frame.nodes));
    }
    if frame.slots != chosen.slots {
        words.push(format!("{} slots on each", frame.slots));
    }
    if frame.pipelines != chosen.pipelines {
        words.push(match frame.pipelines {
            1 => "one pipeline at a time".to_owned(),
            many => format!("{many} pipelines at a time"),
        });
    }
    if frame.spot != chosen.spot {
        let spot = if frame.spot.is_some() { "may be taken away" } else { "stay (on demand)" };
        words.push(format!("machines that {spot}"));
    }
    if frame.stagger != chosen.stagger {
        words.push(format!("{} between their starts", frame.stagger));
    }
    if (frame.policy, &frame.low) != (chosen.policy, &chosen.low) {
        let kinds = &story.workload.kinds;
        let low = frame.low.iter().filter_map(|kind| Some(kinds.get(kind.index())?.name.as_str()));
        let low: Vec<&str> = low.collect();
        words.push(match low.as_slice() {
            [] => format!("policy {}", frame.policy.0),
            low => format!("policy {} with {} after all others", frame.policy.0, low.join(", ")),
        });
    }
    for (pool, bytes) in frame.pools.iter().filter(|(pool, b)| chosen.pools.get(*pool) != Some(b)) {
        words.push(format!("{bytes} for {pool}"));
    }
    if frame.pools.is_empty() && !chosen.pools.is_empty() {
        words.push("pools as in the site file".to_owned());
    }
    words.join(", ")
}

//! From what a search found to what is told.

use super::{Figures, Lost, Moved, Plan, SCHEMA, Setting};
use crate::advise::{Evidence, advise};
use crate::bound::Bounds;
use crate::search::{Found, Goal, Rejected, Rung, Score, Wanted};
use crate::space::{Frame, Point, Space, facts};
use crate::{Choice, Cost, Homecoming, Outcome};
use forebay_model::{Ahead, Home, Layout, Placement, Seconds, Site, Workload};

/// What differs by less is the same, and no news.
const SAME: f64 = 5e-4;
/// So many of those that lost are told.
const LOST_MAX: usize = 12;

/// All that a plan is told from.
#[derive(Clone, Copy, Debug)]
pub struct Story<'a> {
    /// The names of the runs, and of the site file.
    pub runs: &'a [String],
    /// The name of the site file.
    pub site_name: &'a str,
    /// The storages.
    pub site: &'a Site,
    /// The tasks.
    pub workload: &'a Workload,
    /// What could be chosen.
    pub space: &'a Space,
    /// Waits, for each class.
    pub bounds: &'a Bounds,
    /// What was wanted.
    pub wanted: Wanted,
    /// What was found.
    pub found: &'a Found,
    /// What comes of the proposal, with its cost.
    pub chosen: (&'a Outcome, Option<&'a Cost>),
    /// What comes of everything as it is, if it can be.
    pub as_it_is: Option<(&'a Outcome, Option<&'a Cost>)>,
    /// What the prices are from.
    pub prices: Option<&'a str>,
}

/// Tells it.
pub fn tell(story: &Story<'_>) -> Plan {
    let (found, space) = (story.found, story.space);
    let choice = space.choice(&found.chosen);
    let frame = &space.frames[found.chosen.frame];
    let evidence = Evidence {
        site: story.site,
        workload: story.workload,
        choice: &choice,
        outcome: story.chosen.0,
    };
    let first = &space.frames[0];
    let start = space.choice(&space.as_it_is());
    Plan {
        schema: SCHEMA,
        runs: story.runs.to_vec(),
        site: story.site_name.to_owned(),
        goal: story.wanted.goal.name().to_owned(),
        samples: story.wanted.samples,
        seed: story.wanted.seed,
        error: story.wanted.error,
        doubts: story.workload.doubts.iter().map(|doubt| doubt.what.clone()).collect(),
        as_it_is: story
            .as_it_is
            .map(|(outcome, cost)| figures(story, first, &start, outcome, cost)),
        as_it_is_why: found.as_it_is.as_ref().err().cloned(),
        chosen: figures(story, frame, &choice, story.chosen.0, story.chosen.1),
        setting: setting(&choice, story.workload),
        moved: moved(story, &found.chosen),
        value: found.value,
        bound: found.bound,
        gap: found.gap(),
        unit: unit(story.wanted.goal).to_owned(),
        search: match found.rung {
            Rung::Exhausted => "exhausted",
            Rung::Stopped => "stopped",
            Rung::Annealed => "annealed",
        }
        .to_owned(),
        classes: found.classes,
        simulated: found.simulated,
        alike: found.alike.as_ref().map(|(point, score)| {
            let why = "the model can't tell it from the proposal, which costs less".to_owned();
            lost(story, point, Ok(*score), why)
        }),
        lost: all_lost(story),
        front: found
            .front
            .iter()
            .map(|(point, score)| lost(story, point, Ok(*score), String::new()))
            .collect(),
        prices: story.prices.map(str::to_owned),
        unverified: story.chosen.1.map(|cost| cost.unverified.clone()).unwrap_or_default(),
        left_out: space.left_out.clone(),
        advice: advise(&evidence),
    }
}

fn unit(goal: Goal) -> &'static str {
    match goal {
        Goal::Fastest => "seconds",
        Goal::Cheapest => "dollars for a sample",
        Goal::Throughput => "seconds for a sample",
    }
}

fn figures(
    story: &Story<'_>,
    frame: &Frame,
    choice: &Choice,
    outcome: &Outcome,
    cost: Option<&Cost>,
) -> Figures {
    let homecoming = Homecoming::new(story.site, story.workload).time(choice);
    let makespan = outcome.makespan + homecoming;
    let hours = makespan.get() / 3600.0;
    let peaks = outcome.tiers.iter().map(|(id, tier)| (id.0.clone(), tier.peak_bytes));
    Figures {
        makespan_s: makespan,
        homecoming_s: homecoming,
        samples_per_hour: if hours > 0.0 { f64::from(frame.pipelines) / hours } else { 0.0 },
        per_sample_usd: cost.map(|cost| cost.per_sample),
        utilisation: outcome.utilisation,
        peak_bytes: peaks.collect(),
        cost: cost.cloned(),
    }
}

fn setting(choice: &Choice, workload: &Workload) -> Setting {
    let name = |kind: &forebay_model::workload::TaskKindId| {
        workload.kinds.get(kind.index()).map_or(String::new(), |kind| kind.name.clone())
    };
    Setting {
        nodes: choice.nodes,
        slots: choice.slots,
        pipelines: choice.pipelines,
        stagger_s: choice.stagger,
        policy: choice.policy.0.to_owned(),
        low: choice.low.iter().map(name).collect(),
        pools: choice.pools.iter().map(|(id, bytes)| (id.0.clone(), *bytes)).collect(),
    }
}

fn moved(story: &Story<'_>, point: &Point) -> Vec<Moved> {
    let facts = facts(story.workload);
    let one = |class: usize| {
        let pick = usize::from(point.picks[class]);
        (pick > 0).then(|| Moved {
            pattern: story.workload.classes[class].pattern.clone(),
            to: placed(story.space.placement(point, class)),
            files: facts[class].files,
            bytes: facts[class].bytes,
            waits_in_place_s: Seconds(story.bounds.waiting(class, 0)),
            waits_s: Seconds(story.bounds.waiting(class, pick)),
        })
    };
    let mut moved: Vec<Moved> = (0..point.picks.len()).filter_map(one).collect();
    let saves = |moved: &Moved| moved.waits_in_place_s.get() - moved.waits_s.get();
    moved.sort_by(|a, b| saves(b).total_cmp(&saves(a)));
    moved
}

/// Where files live, in words.
fn placed(placement: &Placement) -> String {
    match (&placement.home, &placement.cache) {
        (Home::Tier(tier), _) if placement.layout == Layout::Packed => format!("{tier}, packed"),
        (Home::Tier(tier), _) => tier.to_string(),
        (Home::Here, Some(cache)) => {
            let when = match cache.ahead {
                Ahead::Never => "after their first use",
                Ahead::OnOpen => "at the first open",
                Ahead::AtStart => "before the start",
            };
            format!("in place, read from copies on {} made {when}", cache.tier)
        }
        (Home::Here, None) => "in place".to_owned(),
    }
}

fn all_lost(story: &Story<'_>) -> Vec<Lost> {
    let near = |rejected: &&Rejected| rejected.ratio.unwrap_or(0.0);
    let start = story.space.as_it_is();
    let same = |rejected: &&Rejected| {
        rejected.ratio.is_none_or(|ratio| (ratio - 1.0).abs() > SAME) || rejected.point == start
    };
    let mut sorted: Vec<&Rejected> = story.found.rejected.iter().filter(same).collect();
    // All in place is told first; then what can't be; then the nearest.
    sorted.sort_by(|a, b| {
        (b.point == start).cmp(&(a.point == start)).then(near(a).total_cmp(&near(b)))
    });
    let tell = |rejected: &&Rejected| {
        let why = match (&rejected.score, rejected.ratio) {
            (Err(why), _) => why.clone(),
            (Ok(score), Some(ratio)) => reason(story, score, ratio),
            (Ok(_), None) => String::new(),
        };
        lost(story, &rejected.point, rejected.score.clone(), why)
    };
    sorted.iter().take(LOST_MAX).map(tell).collect()
}

fn reason(story: &Story<'_>, score: &Score, ratio: f64) -> String {
    let chosen = &story.found.score;
    let percent = (ratio - 1.0) * 100.0;
    let worse = match story.wanted.goal {
        Goal::Fastest => "slower",
        Goal::Cheapest => "dearer",
        Goal::Throughput => "fewer samples an hour",
    };
    let dearer = match (score.per_sample, chosen.per_sample) {
        (Some(a), Some(b)) if a > b => ", and dearer",
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

fn lost(story: &Story<'_>, point: &Point, score: Result<Score, String>, why: String) -> Lost {
    let score = score.ok();
    Lost {
        what: differs(story, point),
        why,
        makespan_s: score.map(|score| score.makespan),
        per_sample_usd: score.and_then(|score| score.per_sample),
    }
}

/// How another point differs from the proposal.
fn differs(story: &Story<'_>, point: &Point) -> String {
    let (space, chosen) = (story.space, &story.found.chosen);
    let mut words = Vec::new();
    if space.moved(point) == 0 && space.moved(chosen) > 0 {
        words.push("everything in place".to_owned());
    } else {
        for class in
            (0..point.picks.len()).filter(|class| point.picks[*class] != chosen.picks[*class])
        {
            let pattern = &story.workload.classes[class].pattern;
            words.push(format!("{pattern} {}", placed(space.placement(point, class))));
        }
    }
    if words.len() > 3 {
        let more = words.len() - 2;
        words.truncate(2);
        words.push(format!("{more} more classes elsewhere"));
    }
    if point.frame != chosen.frame {
        words.push(framed(story, &space.frames[point.frame], &space.frames[chosen.frame]));
    }
    if words.is_empty() { "as proposed".to_owned() } else { words.join("; ") }
}

fn framed(story: &Story<'_>, frame: &Frame, chosen: &Frame) -> String {
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

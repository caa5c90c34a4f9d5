//! A plan in sentences, and its front as a table.

use super::dollars::dollars;
use super::sure::{count, proof, sureness};
use super::{Figures, Plan};
use forebay_model::{Seconds, Usd};

/// What a person reads who asks why.
pub fn explain(plan: &Plan) -> Vec<String> {
    let mut told = Vec::new();
    told.push(first(plan));
    if let Some(saving) = saving(plan) {
        told.push(saving);
    }
    for moved in &plan.moved {
        let go = if moved.to.starts_with("in place") { "stay" } else { "go to" };
        let (bytes, files) = (moved.bytes, count(moved.files, "file"));
        told.push(format!(
            "Files of {:?} ({bytes} in {files}) {go} {}: tasks wait {} for them instead of {}, at \
             least and summed.",
            moved.pattern, moved.to, moved.waits_s, moved.waits_in_place_s
        ));
    }
    if plan.moved.is_empty() {
        told.push("Everything stays in place: nothing that was tried is better.".to_owned());
    }
    told.push(setting(plan));
    told.push(proof(plan));
    told.push(sureness(plan));
    if let Some(alike) = &plan.alike {
        let figure = alike.makespan_s.map(|time| format!(" ({time})")).unwrap_or_default();
        told.push(format!(
            "There is no measurable difference to {}{figure}: the one that costs or moves less is \
             proposed.",
            alike.what
        ));
    }
    told.extend(dollars(plan));
    for lost in &plan.lost {
        let figure = match (lost.makespan_s, lost.per_sample_usd) {
            (Some(time), Some(usd)) => format!(" ({time}, {usd} a sample)"),
            (Some(time), None) => format!(" ({time})"),
            _ => String::new(),
        };
        told.push(format!("Not {}{figure}: {}.", lost.what, lost.why));
    }
    told.extend(plan.left_out.iter().map(|why| format!("Not considered: {why}.")));
    told.extend(plan.advice.iter().map(|advice| advice.sentence.clone()));
    told
}

fn first(plan: &Plan) -> String {
    let samples = count(u64::from(plan.samples), "sample");
    format!(
        "The {} way to do {samples} on {}, by the model: {}.",
        match plan.goal.as_str() {
            "throughput" => "most productive",
            goal => goal,
        },
        plan.site,
        in_short(&plan.chosen)
    )
}

fn in_short(figures: &Figures) -> String {
    let usd = figures.per_sample_usd.map(|usd| format!(", {usd} a sample")).unwrap_or_default();
    let (time, rate) = (figures.makespan_s, figures.samples_per_hour);
    let home = match figures.homecoming_s {
        Seconds(0.0) => String::new(),
        time => format!(" (of them {time} after the last task, to bring results home)"),
    };
    let busy = figures.utilisation * 100.0;
    format!("{time}{home}, {rate:.2} samples an hour{usd}, {busy:.0} % of slots busy")
}

fn saving(plan: &Plan) -> Option<String> {
    if let Some(why) = &plan.as_it_is_why {
        return Some(format!("Everything in place is not possible: {why}."));
    }
    let before = plan.as_it_is.as_ref()?;
    let (old, new) = (before.makespan_s.get(), plan.chosen.makespan_s.get());
    let mut words = format!("Everything in place: {}.", in_short(before));
    let saved = old - new;
    if old > 0.0 && saved.abs() / old <= plan.error {
        words.push_str(
            " That is no measurable difference in time: it is less than the model's error.",
        );
    } else if saved >= 0.0 {
        words.push_str(&format!(
            " The plan saves {}, {:.0} %.",
            Seconds(saved),
            saved / old * 100.0
        ));
    } else {
        words.push_str(&format!(" The plan takes {} longer.", Seconds(-saved)));
    }
    if let (Some(Usd(old)), Some(Usd(new))) = (before.per_sample_usd, plan.chosen.per_sample_usd) {
        let word = if new <= old { "less" } else { "more" };
        words.push_str(&format!(" A sample costs {} {word}.", Usd((old - new).abs())));
    }
    Some(words)
}

fn setting(plan: &Plan) -> String {
    let setting = &plan.setting;
    let mut words = format!(
        "{} with {} each, {} at a time",
        count(u64::from(setting.nodes), "node"),
        count(u64::from(setting.slots), "slot"),
        count(u64::from(setting.pipelines), "pipeline")
    );
    if setting.pipelines > 1 && setting.stagger_s > Seconds::ZERO {
        words.push_str(&format!(", started {} apart", setting.stagger_s));
    }
    words.push_str(&format!(", policy {}", setting.policy));
    if !setting.low.is_empty() {
        words.push_str(&format!(" with {} after all others", setting.low.join(", ")));
    }
    if setting.spot {
        words.push_str(", machines that may be taken away (spot)");
    }
    for (pool, bytes) in &setting.pools {
        words.push_str(&format!(", pool {pool} of {bytes} (set it in the site file)"));
    }
    words + "."
}

/// Time against dollars, a line for each choice that nothing beats in both; empty without prices.
pub fn front(plan: &Plan) -> Vec<[String; 3]> {
    let row = |lost: &super::Lost| {
        let (time, usd) = (lost.makespan_s?, lost.per_sample_usd?);
        Some([time.to_string(), usd.to_string(), lost.what.clone()])
    };
    plan.front.iter().filter_map(row).collect()
}

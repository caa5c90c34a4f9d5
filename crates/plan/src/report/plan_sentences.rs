//! A plan in sentences, and its front as a table.

use super::certainty::{certainty_sentence, count_with_noun, optimality_sentence};
use super::class_placements::placement_sentences;
use super::dollars::cost_sentences;
use super::{Plan, PlanFigures};
use forebay_model::{Seconds, Usd};

/// So many choices that lost are told, if not all are.
const LOST_SHOWN: usize = 5;
/// And so many pieces of advice.
const ADVICE_SHOWN: usize = 3;

/// Less is written as nothing.
const LEAST_USD: f64 = 5e-6;

/// All of it in sentences.
pub fn explain_plan(plan: &Plan) -> Vec<String> {
    let mut told = opening_sentences(plan);
    told.extend(placement_sentences(plan));
    told.extend(closing_sentences(plan, true));
    told
}

/// Whether everything is to stay as it is.
pub fn gains_nothing(plan: &Plan) -> bool {
    plan.moved.is_empty() && plan.as_it_is.as_ref() == Some(&plan.chosen)
}

/// All that is said where nothing is gained: how it is, that it is to stay so, and who tells more.
pub fn no_gain_sentences(plan: &Plan) -> [String; 3] {
    let least = match plan.chosen.per_sample_usd {
        Some(usd) => format!("{}, {usd} a sample", plan.chosen.makespan_s),
        None => plan.chosen.makespan_s.to_string(),
    };
    let (error, tried) = (plan.error * 100.0, plan.simulated);
    [
        format!("Leave everything as it is ({least}, by the model)."),
        format!(
            "None of {tried} choices that were tried gains more than the model's error, {error:.0} %."
        ),
        "What was tried, why it lost, and what else may help: --all.".to_owned(),
    ]
}

/// What is proposed and what it saves: what comes before the files.
pub fn opening_sentences(plan: &Plan) -> Vec<String> {
    let mut told = vec![proposal_sentence(plan)];
    told.extend(saving_sentence(plan));
    if plan.moved.is_empty() {
        told.push(
            "Leave it as it is: everything in place, and no Forebay in between, is best of all \
             that was tried."
                .to_owned(),
        );
    }
    told
}

/// How it is run, how sure all that is, what it costs, and why others lost: what comes after the
/// files. Without `all`, of what lost the first ones.
pub fn closing_sentences(plan: &Plan, all: bool) -> Vec<String> {
    let mut told = Vec::new();
    told.push(setting_sentence(plan));
    told.extend(plan.whole_folders.iter().map(whole_folder_sentence));
    told.push(optimality_sentence(plan));
    told.extend(plan.learnt_from.as_ref().and_then(|run| run.sentence()));
    told.push(certainty_sentence(plan));
    if let Some(alike) = &plan.alike {
        let figure = alike.makespan_s.map(|time| format!(" ({time})")).unwrap_or_default();
        told.push(format!(
            "There is no measurable difference to {}{figure}: the one that costs or moves less is \
             proposed.",
            alike.what
        ));
    }
    told.extend(cost_sentences(plan));
    let shown = if all { usize::MAX } else { LOST_SHOWN };
    for lost in plan.lost.iter().take(shown) {
        let figure = match (lost.makespan_s, lost.per_sample_usd) {
            (Some(time), Some(usd)) => format!(" ({time}, {usd} a sample)"),
            (Some(time), None) => format!(" ({time})"),
            _ => String::new(),
        };
        told.push(format!("Not {}{figure}: {}.", lost.what, lost.why));
    }
    let more = plan.lost.len().saturating_sub(shown);
    if more > 0 {
        told.push(format!(
            "{} lost, too: --all tells them.",
            count_with_noun(more as u64, "other choice")
        ));
    }
    told.extend(plan.left_out.iter().map(|why| format!("Not considered: {why}.")));
    let advice = plan.advice.iter().take(if all { usize::MAX } else { ADVICE_SHOWN });
    told.extend(advice.map(|advice| advice.sentence.clone()));
    told
}

fn whole_folder_sentence((folder, tier): &(String, String)) -> String {
    format!(
        "Folder {folder:?} goes to {tier} as a whole: the run left nothing in it, and renamed and \
         linked nothing across its edge, which would fail now. What programs save there is not in \
         the figures."
    )
}

fn proposal_sentence(plan: &Plan) -> String {
    let samples = count_with_noun(u64::from(plan.samples), "sample");
    format!(
        "The {} way to do {samples} on {}, by the model: {}.",
        match plan.goal.as_str() {
            "throughput" => "most productive",
            goal => goal,
        },
        plan.site,
        figures_in_short(&plan.chosen)
    )
}

fn figures_in_short(figures: &PlanFigures) -> String {
    let usd = figures.per_sample_usd.map(|usd| format!(", {usd} a sample")).unwrap_or_default();
    let (time, rate) = (figures.makespan_s, figures.samples_per_hour);
    let many = match pipelines_at_once(figures) {
        1 => String::new(),
        many => format!(" for {many} at a time"),
    };
    let home = match figures.homecoming_s {
        Seconds(0.0) => String::new(),
        time => format!(" (of them {time} after the last task, to write results back)"),
    };
    let busy = figures.utilisation * 100.0;
    format!("{time}{many}{home}, {rate:.2} samples an hour{usd}, {busy:.0} % of slots busy")
}

/// Pipelines at a time.
fn pipelines_at_once(figures: &PlanFigures) -> u64 {
    (figures.samples_per_hour * figures.makespan_s.get() / 3600.0).round().max(1.0) as u64
}

/// Until all samples are done, one wave after the other.
fn time_for_all_samples(plan: &Plan, figures: &PlanFigures) -> f64 {
    figures.makespan_s.get() * u64::from(plan.samples).div_ceil(pipelines_at_once(figures)) as f64
}

fn saving_sentence(plan: &Plan) -> Option<String> {
    if let Some(why) = &plan.as_it_is_why {
        return Some(format!("Everything in place is not possible: {why}."));
    }
    let before = plan.as_it_is.as_ref()?;
    let (old, new) = (time_for_all_samples(plan, before), time_for_all_samples(plan, &plan.chosen));
    let whole = if plan.samples > 1 { " for all samples" } else { "" };
    let mut words = format!("Everything in place: {}.", figures_in_short(before));
    let saved = old - new;
    if old > 0.0 && saved.abs() / old <= plan.error {
        words.push_str(
            " That is no measurable difference in time: it is less than the model's error.",
        );
    } else if saved >= 0.0 {
        words.push_str(&format!(
            " The plan saves {}{whole}, {:.0} %.",
            Seconds(saved),
            saved / old * 100.0
        ));
    } else {
        words.push_str(&format!(" The plan takes {} longer{whole}.", Seconds(-saved)));
    }
    if let (Some(Usd(old)), Some(Usd(new))) = (before.per_sample_usd, plan.chosen.per_sample_usd)
        && (old - new).abs() >= LEAST_USD
    {
        let word = if new <= old { "less" } else { "more" };
        words.push_str(&format!(" A sample costs {} {word}.", Usd((old - new).abs())));
    }
    Some(words)
}

fn setting_sentence(plan: &Plan) -> String {
    let setting = &plan.setting;
    let mut words = format!(
        "{} with {} each, {} at a time",
        count_with_noun(u64::from(setting.nodes), "node"),
        count_with_noun(u64::from(setting.slots), "slot"),
        count_with_noun(u64::from(setting.pipelines), "pipeline")
    );
    if setting.pipelines > 1 && setting.stagger_s > Seconds::ZERO {
        words.push_str(&format!(", started {} apart", setting.stagger_s));
    }
    if setting.pipelines > 1 {
        words.push_str(&format!(", policy {}", setting.policy));
    }
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
pub fn pareto_rows(plan: &Plan) -> Vec<[String; 3]> {
    let row = |lost: &super::RejectedChoice| {
        let (time, usd) = (lost.makespan_s?, lost.per_sample_usd?);
        Some([time.to_string(), usd.to_string(), lost.what.clone()])
    };
    plan.front.iter().filter_map(row).collect()
}

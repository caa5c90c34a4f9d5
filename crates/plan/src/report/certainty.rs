//! How sure a plan is, in sentences: of being the best, and of being right.

use super::Plan;

pub(super) fn optimality_sentence(plan: &Plan) -> String {
    let (classes, simulated) = (plan.classes, plan.simulated);
    let chosen = format!(
        "{} of files, {simulated} choices simulated",
        count_with_noun(classes as u64, "class")
    );
    let bound = format!(
        "no placement can be below {:.4} {}, this is {:.4}: a gap of {:.1} %",
        plan.bound,
        plan.unit,
        plan.value,
        plan.gap * 100.0
    );
    match plan.search.as_str() {
        "exhausted" => format!(
            "Optimal in the model among all placements of {chosen}; independent of that, {bound}."
        ),
        "stopped" => format!("The budget ended before all was tried ({chosen}); {bound}."),
        _ => format!("The best that was found ({chosen}); {bound}."),
    }
}

pub(super) fn certainty_sentence(plan: &Plan) -> String {
    let error = plan.chosen.error.max(plan.error);
    let mut words = format!("The model may be wrong by {:.0} % either way", error * 100.0);
    if plan.doubts.is_empty() {
        return words + ".";
    }
    words.push_str(", because: ");
    words.push_str(&plan.doubts.join("; "));
    if words.ends_with('.') { words } else { words + "." }
}

/// `1 file`, `1,234 files`
pub(super) fn count_with_noun(number: u64, noun: &str) -> String {
    let plural = match (number, noun) {
        (1, _) => "",
        (_, noun) if noun.ends_with("class") => "es",
        _ => "s",
    };
    format!("{number} {noun}{plural}")
}

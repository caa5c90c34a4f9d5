//! What a plan costs, in sentences.

use super::Plan;

/// In dollars. Less than a thousandth of it is not worth words.
const CENT: f64 = 0.01;

/// A number that may be very small.
fn format_small_number(number: f64) -> String {
    if number < 1e-4 { "less than 0.0001".to_owned() } else { format!("{number:.4}") }
}

/// Nothing where nobody knows prices.
pub(super) fn cost_sentences(plan: &Plan) -> Vec<String> {
    let mut told = Vec::new();
    let Some(cost) = &plan.chosen.cost else { return told };
    let seen = cost.lines.iter().filter(|line| line.usd.get().abs() >= CENT / 1000.0);
    let lines: Vec<String> = seen.map(|line| format!("{} {}", line.usd, line.what)).collect();
    let lines = if lines.is_empty() { String::new() } else { format!(": {}", lines.join(", ")) };
    let (sheet, compiled) = (&cost.sheet, &cost.compiled);
    told.push(format!(
        "It costs {} in all by price sheet {sheet} of {compiled}{lines}.",
        cost.total
    ));
    if !cost.unverified.is_empty() {
        told.push(format!("Nobody could verify these prices: {}.", cost.unverified.join(", ")));
    }
    if !cost.unpriced.is_empty() {
        told.push(format!("Without a price, counted as free: {}.", cost.unpriced.join(", ")));
    }
    if let Some(interruptions) = cost.interruptions {
        told.push(format!(
            "Machines may be taken away: {} in such a run are to be expected, and {} for what is \
             then done again are in time and cost. The engine must start tasks again by itself \
             (--emit says how).",
            format_small_number(interruptions),
            cost.again
        ));
    }
    told
}

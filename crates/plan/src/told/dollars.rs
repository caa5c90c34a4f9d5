//! What a plan costs, in sentences.

use super::Plan;

/// In dollars. Less than a thousandth of it is not worth words.
const CENT: f64 = 0.01;

/// Nothing where nobody knows prices.
pub(super) fn dollars(plan: &Plan) -> Vec<String> {
    let mut told = Vec::new();
    let Some(cost) = &plan.chosen.cost else { return told };
    let seen = cost.lines.iter().filter(|line| line.usd.get().abs() >= CENT / 1000.0);
    let lines: Vec<String> = seen.map(|line| format!("{} {}", line.usd, line.what)).collect();
    told.push(format!(
        "It costs {} in all by price sheet {} of {}: {}.",
        cost.total,
        cost.sheet,
        cost.compiled,
        lines.join(", ")
    ));
    if !cost.unverified.is_empty() {
        told.push(format!("Nobody could verify these prices: {}.", cost.unverified.join(", ")));
    }
    if !cost.unpriced.is_empty() {
        told.push(format!("Without a price, counted as free: {}.", cost.unpriced.join(", ")));
    }
    if let Some(interruptions) = cost.interruptions {
        told.push(format!(
            "{interruptions:.3} machines are expected to be taken away meanwhile; what they \
                 lose is not counted."
        ));
    }
    told
}

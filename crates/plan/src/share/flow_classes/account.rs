//! The credits of a lane: an account that what goes through it above a rate empties, and time fills.

use crate::prepared_problem::{ResourceCredits, ResourceLimit};

/// An account is empty until it holds what comes in so many seconds: otherwise flows that need just
/// what comes would have it change at each event.
const ENOUGH: f64 = 0.05;

/// The credits of one lane.
#[derive(Clone, Debug)]
pub(super) struct CreditAccount {
    share: f64,
    full: f64,
    /// Bytes or operations a second that come.
    income: f64,
    level: f64,
    empty: bool,
    /// When `level` was true, and what has gone through since then.
    at: f64,
    through: f64,
}

impl CreditAccount {
    pub(super) fn new(credits: ResourceCredits, limit: &ResourceLimit, nodes: u32) -> Self {
        let (rate, accounts) =
            if credits.of_node { (limit.node, f64::from(nodes)) } else { (limit.total, 1.0) };
        Self {
            share: credits.share,
            full: credits.full * accounts,
            income: rate * credits.share * accounts,
            level: credits.full * accounts,
            empty: false,
            at: 0.0,
            through: 0.0,
        }
    }

    /// The part of the limit that it pays for.
    pub(super) fn limit_share(&self) -> f64 {
        if self.empty { self.share } else { 1.0 }
    }

    /// Time has passed.
    pub(super) fn advance_to(&mut self, now: f64) {
        let level = self.level + (self.income - self.through) * (now - self.at);
        self.level = level.clamp(0.0, self.full);
        self.at = now;
        // What is left is rounding, of bytes that go through at once.
        let nothing = self.through * 1e-9;
        let enough = self.full.min(self.income * ENOUGH);
        self.empty = self.level <= if self.empty { enough } else { nothing };
    }

    /// From now on so much goes through; when it will be empty.
    pub(super) fn spend_at_rate(&mut self, through: f64) -> f64 {
        self.through = through;
        if self.empty || through <= self.income {
            return f64::INFINITY;
        }
        self.at + self.level / (through - self.income)
    }
}

#[cfg(test)]
mod tests {
    //! A wrong account lets a bursting storage look faster, or slower, for longer than it is.
    use super::*;

    #[test]
    fn it_pays_for_what_is_above_its_income() {
        let credits = ResourceCredits { share: 0.25, full: 600.0, of_node: false };
        let limit = ResourceLimit {
            total: 400.0,
            node: f64::INFINITY,
            servers: 1,
            spread: 1,
            credits: None,
        };
        let mut account = CreditAccount::new(credits, &limit, 1);
        assert_eq!(account.spend_at_rate(400.0), 2.0, "600 / (400 - 100)");
        account.advance_to(2.0);
        assert_eq!(account.limit_share(), 0.25);
        assert_eq!(account.spend_at_rate(100.0), f64::INFINITY, "it lives from what comes");
        account.advance_to(9.0);
        assert_eq!(account.limit_share(), 0.25);
        account.spend_at_rate(0.0);
        account.advance_to(10.0);
        assert_eq!(account.limit_share(), 1.0);
        assert_eq!(account.spend_at_rate(200.0), 11.0, "a second of nothing is 100");
    }
}

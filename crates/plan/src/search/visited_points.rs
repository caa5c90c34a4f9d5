//! What has been simulated, so that nothing is simulated twice.

use super::{ChoiceEvaluator, SearchRequest};
use crate::search_space::{SearchPoint, SearchSpace};
use forebay_model::{Seconds, Usd};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a choice leads to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Score {
    /// From the start of the first pipeline until the results of the last are home.
    #[serde(rename = "makespan_s")]
    pub makespan: Seconds,
    /// What one pipeline costs; `None`: nobody knows prices.
    #[serde(rename = "per_sample_usd")]
    pub per_sample: Option<Usd>,
}

/// All points that were looked at.
pub(super) struct VisitedPoints<'a> {
    pub(super) space: &'a SearchSpace,
    pub(super) wanted: SearchRequest,
    judge: &'a mut dyn ChoiceEvaluator,
    go_on: &'a mut dyn FnMut(usize) -> bool,
    pub(super) known: BTreeMap<SearchPoint, Result<Score, String>>,
    best: Option<(f64, usize, SearchPoint)>,
    stopped: bool,
}

impl<'a> VisitedPoints<'a> {
    pub(super) fn new(
        space: &'a SearchSpace,
        judge: &'a mut dyn ChoiceEvaluator,
        wanted: SearchRequest,
        go_on: &'a mut dyn FnMut(usize) -> bool,
    ) -> Self {
        let known = BTreeMap::new();
        Self { space, wanted, judge, go_on, known, best: None, stopped: false }
    }

    /// Simulates those that are not known yet. False: time is over, and some may not be known.
    pub(super) fn simulate_unknown(&mut self, points: &[SearchPoint]) -> bool {
        let mut new: Vec<&SearchPoint> = Vec::new();
        for point in points {
            if !self.known.contains_key(point) && !new.contains(&point) {
                new.push(point);
            }
        }
        // The first look is always taken: a plan needs something to compare with.
        if self.stopped || (!self.known.is_empty() && !(self.go_on)(self.known.len())) {
            self.stopped = true;
            return new.is_empty();
        }
        let new: Vec<SearchPoint> = new.into_iter().cloned().collect();
        self.simulate_points(&new);
        true
    }

    fn simulate_points(&mut self, new: &[SearchPoint]) {
        let (possible, not): (Vec<&SearchPoint>, Vec<&SearchPoint>) =
            new.iter().partition(|point| self.space.fits_together(point));
        for point in not {
            self.known.insert(point.clone(), Err("packed files share one tier".to_owned()));
        }
        let choices: Vec<_> = possible.iter().map(|point| self.space.choice_at(point)).collect();
        let scores = self.judge.score_choices(&choices);
        for (point, score) in possible.into_iter().zip(scores) {
            if let Ok(score) = &score {
                let value = self.value_of_score(point, score);
                let new = (value, self.space.count_moved_classes(point), point.clone());
                // Of equals the one that moves least.
                let better = self.best.as_ref().is_none_or(|best| {
                    new.0.total_cmp(&best.0).then_with(|| (new.1, &new.2).cmp(&(best.1, &best.2)))
                        == std::cmp::Ordering::Less
                });
                if better {
                    self.best = Some(new);
                }
            }
            self.known.insert(point.clone(), score);
        }
    }

    /// What a point is worth; infinite if it can't be, or was not looked at.
    pub(super) fn value_at(&self, point: &SearchPoint) -> f64 {
        match self.known.get(point) {
            Some(Ok(score)) => self.value_of_score(point, score),
            _ => f64::INFINITY,
        }
    }

    pub(super) fn value_of_score(&self, point: &SearchPoint, score: &Score) -> f64 {
        let frame = &self.space.frames[point.frame];
        self.wanted.goal.value_of_score(frame, self.wanted.samples, score)
    }

    /// The best so far.
    pub(super) fn best_point(&self) -> Option<&SearchPoint> {
        self.best.as_ref().map(|(_, _, point)| point)
    }

    pub(super) fn best_value(&self) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |(value, ..)| *value)
    }

    /// Looks at those that explain the choice; when time is over, at a few of them: an eighth more
    /// than there was time for.
    pub(super) fn simulate_a_few(&mut self, points: &[SearchPoint]) {
        if self.simulate_unknown(points) {
            return;
        }
        let unknown = points.iter().filter(|point| !self.known.contains_key(*point));
        let few: Vec<SearchPoint> = unknown.take(self.known.len() / 8).cloned().collect();
        self.simulate_points(&few);
    }
}

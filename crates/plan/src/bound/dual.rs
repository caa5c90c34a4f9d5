//! The relaxation: each class may be split among its placements, what lies on a tier at one moment
//! must fit, and the goal is the largest of the three bounds.
//!
//! That is a linear program. It is not solved by a simplex but from its dual: for any prices of
//! time, storages and room that are not negative, the sum over classes of the cheapest placement
//! at these prices is a proven bound, rounding aside, and with the right prices it is the program's
//! value. So a step that goes wrong makes the bound weaker, never false.

use super::{LowerBounds, Objective, stagger_delay};
use crate::search_space::Configuration;

/// Steps for all frames together, and for each at least and at most.
const STEPS: usize = 8000;
const STEPS_MIN: usize = 40;
const STEPS_MAX: usize = 400;
/// Chains of tasks that are looked at.
const CHAINS_MAX: usize = 16;
/// Steps between two looks for another chain.
const CHAIN_EVERY: usize = 10;

/// A sum over classes that is a time (`fixed + sum`), or that must not exceed `limit`.
struct LinearTerm {
    fixed: f64,
    of: Vec<Vec<f64>>,
}

impl LowerBounds {
    /// What no placement of this frame beats; `frames`: so many are asked for.
    pub fn relaxed_bound(&self, frame: &Configuration, aim: &Objective, frames: usize) -> f64 {
        let steps = (STEPS / frames.max(1)).clamp(STEPS_MIN, STEPS_MAX);
        let nothing = vec![None; self.work.len()];
        let mut best = self.partial_bound(frame, &nothing, aim);
        let mut times: Vec<LinearTerm> = self
            .bound_rows(frame)
            .map(|row| LinearTerm { fixed: row.fixed, of: scale_amounts(row.of, row.factor) })
            .collect();
        let mut chains: Vec<Vec<usize>> = Vec::new();
        let rooms: Vec<LinearTerm> = self
            .rooms
            .iter()
            .map(|room| {
                let limit = room.per_pipeline_limit(frame).max(1.0);
                LinearTerm { fixed: -1.0, of: scale_amounts(&room.bytes, 1.0 / limit) }
            })
            .collect();
        let scale = best.max(1e-9);
        let mut credit = vec![0.0_f64; times.len()];
        let mut tight = vec![0.0_f64; rooms.len()];
        for step in 0..steps {
            let weights = softmax_weights(&credit);
            let (value, picks) = self.cheapest_picks(aim, &times, &weights, &rooms, &tight);
            best = best.max(value);
            let rate = 8.0 / (1.0 + step as f64).sqrt();
            for (credit, line) in credit.iter_mut().zip(&times) {
                *credit += rate * aim.time * line_total(line, &picks) / scale;
            }
            for (tight, line) in tight.iter_mut().zip(&rooms) {
                *tight = (*tight + 0.25 * rate * scale * line_total(line, &picks)).max(0.0);
            }
            if step % CHAIN_EVERY == 0 && chains.len() < CHAINS_MAX {
                let chain = self.longest_chain(&picks);
                if !chains.contains(&chain) {
                    times.push(self.chain_line(&chain, frame));
                    // It is as urgent as the most urgent so far: it was the longest.
                    credit.push(credit.iter().copied().fold(0.0, f64::max));
                    chains.push(chain);
                }
            }
        }
        best
    }

    /// Every class where it is cheapest at these prices.
    fn cheapest_picks(
        &self,
        aim: &Objective,
        times: &[LinearTerm],
        weights: &[f64],
        rooms: &[LinearTerm],
        tight: &[f64],
    ) -> (f64, Vec<u8>) {
        let priced = || {
            let times = times.iter().zip(weights).map(|(line, weight)| (line, weight * aim.time));
            times.chain(rooms.iter().zip(tight.iter().copied()))
        };
        let mut value: f64 = priced().map(|(line, price)| line.fixed * price).sum();
        let mut picks = Vec::with_capacity(self.work.len());
        for (class, options) in self.work.iter().enumerate() {
            let mut best = (f64::INFINITY, 0);
            for option in 0..options.len() {
                let prices = priced().map(|(line, price)| line.of[class][option] * price);
                let cost = aim.placement_toll(class, option) + prices.sum::<f64>();
                if cost < best.0 {
                    best = (cost, option);
                }
            }
            value += best.0;
            picks.push(best.1 as u8);
        }
        (value, picks)
    }

    /// The tasks of the longest chain with these placements.
    fn longest_chain(&self, picks: &[u8]) -> Vec<usize> {
        let mut done: Vec<(f64, Option<usize>)> = Vec::with_capacity(self.compute.len());
        for (task, compute) in self.compute.iter().enumerate() {
            let before = self.after[task].iter().copied();
            let before = before.max_by(|a, b| done[*a].0.total_cmp(&done[*b].0));
            let start = before.map_or(0.0, |before| done[before].0);
            let io = self.parts[task].iter();
            let io: f64 = io.map(|part| part.seconds[usize::from(picks[part.class])]).sum();
            done.push((start + compute + io, before));
        }
        let last = (0..done.len()).max_by(|a, b| done[*a].0.total_cmp(&done[*b].0));
        let mut chain: Vec<usize> = std::iter::successors(last, |task| done[*task].1).collect();
        chain.reverse();
        chain
    }

    fn chain_line(&self, chain: &[usize], frame: &Configuration) -> LinearTerm {
        let mut of: Vec<Vec<f64>> = self.work.iter().map(|all| vec![0.0; all.len()]).collect();
        let mut fixed = stagger_delay(frame);
        for &task in chain {
            fixed += self.compute[task];
            for part in &self.parts[task] {
                for (sum, seconds) in of[part.class].iter_mut().zip(&part.seconds) {
                    *sum += seconds;
                }
            }
        }
        LinearTerm { fixed, of }
    }
}

fn scale_amounts(of: &[Vec<f64>], factor: f64) -> Vec<Vec<f64>> {
    of.iter().map(|class| class.iter().map(|amount| amount * factor).collect()).collect()
}

fn line_total(line: &LinearTerm, picks: &[u8]) -> f64 {
    let sum = picks.iter().zip(&line.of).map(|(pick, of)| of[usize::from(*pick)]);
    line.fixed + sum.sum::<f64>()
}

/// Shares of 1, more for those with more credit.
fn softmax_weights(credit: &[f64]) -> Vec<f64> {
    let most = credit.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let raw: Vec<f64> = credit.iter().map(|credit| (credit - most).exp()).collect();
    let sum: f64 = raw.iter().sum();
    raw.into_iter().map(|share| share / sum).collect()
}

//! What each lane adds to a byte or an operation, so that none is asked for more than it has.

use super::FlowClassEngine;

impl FlowClassEngine {
    /// Works out what each lane adds, until no lane is asked for more than it has.
    pub(super) fn update_lane_waits(&mut self, now: f64) {
        for lane in &self.accounts {
            self.lanes[*lane].account.iter_mut().for_each(|account| account.advance_to(now));
        }
        self.solve_lane_waits(now);
        self.empties = f64::INFINITY;
        for lane in &self.accounts {
            let lane = &mut self.lanes[*lane];
            let through = lane.current_throughput(&self.classes);
            let empties = lane.account.as_mut().map(|account| account.spend_at_rate(through));
            self.empties = self.empties.min(empties.unwrap_or(f64::INFINITY));
        }
    }

    fn solve_lane_waits(&mut self, now: f64) {
        self.changed = false;
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            let (fill, streams) = self.growth[self.storage[number]];
            let others = f64::from(self.streams[self.storage[number]].saturating_sub(1));
            lane.left = 1.0 / (1.0 + fill + streams * others);
        }
        let busy = self.lanes.iter().filter(|lane| !lane.is_idle()).count();
        if busy == 0 {
            return;
        }
        // One lane after the other, each with what the others add: what they add together has one
        // answer, and this comes nearer to it with each round.
        for _ in 0..100 {
            let mut moved = false;
            for number in 0..self.lanes.len() {
                let Some(extra) = self.lanes[number].solve_wait(&self.classes) else { continue };
                let step = extra - self.lanes[number].extra;
                self.lanes[number].extra = extra;
                for (shape, amount) in &self.lanes[number].members {
                    let class = &mut self.classes[*shape as usize];
                    class.advance_to(now);
                    class.moved = true;
                    moved |= (amount * step).abs() > 1e-7 * class.stretch;
                    class.stretch = (class.stretch + amount * step).max(1.0);
                }
            }
            // Where one lane alone is short, nothing answers it.
            if !moved || busy == 1 {
                break;
            }
        }
        for shape in &self.active {
            if self.classes[*shape as usize].moved {
                self.classes[*shape as usize].predict_next_completion();
            }
        }
    }
}

//! A goal as a sum: a price of time, and a toll for each class.

/// What a search wants small: `time * makespan` plus the tolls of all classes.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// What one second costs, in the goal's own unit.
    pub time: f64,
    /// For each class and placement what it costs at least, whatever the time; may be empty: 0.
    pub tolls: Vec<Vec<f64>>,
}

impl Objective {
    /// The time alone.
    pub fn time_only(factor: f64) -> Self {
        Self { time: factor, tolls: Vec::new() }
    }

    pub(super) fn placement_toll(&self, class: usize, option: usize) -> f64 {
        self.tolls.get(class).and_then(|tolls| tolls.get(option)).copied().unwrap_or(0.0)
    }
}

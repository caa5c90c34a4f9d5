//! The name of the task that a thread works for, by the programs that run now.

use std::sync::Arc;
use std::time::Duration;

use forebay_model::ProcessId;
use forebay_model::tasks::live_name;

use super::{DEEPEST, Known, Processes};

/// How long a request waits for the thread that looks for parents, in steps of this. It reads
/// nothing of /proc itself: a process that waits for us may be among them.
const STEP: Duration = Duration::from_millis(1);
const STEPS_MAX: u32 = 50;

impl Processes {
    /// What the table of tasks will call it, as far as that is known while it runs.
    pub(crate) fn task(&self, thread: u32) -> Option<String> {
        let mut at = self.by_thread.read().get(&thread).cloned()?;
        let (mut words, mut steps) = (Vec::new(), 0);
        for _ in 0..DEEPEST {
            words.push(at.program.lock().argv.clone());
            let Some(parent) = self.parent_soon(&at, &mut steps) else { break };
            let Some(next) = self.by_id.read().get(parent.0 as usize).cloned() else { break };
            at = next;
        }
        words.reverse();
        live_name(&words, at.id == ProcessId(0))
    }

    fn parent_soon(&self, known: &Arc<Known>, steps: &mut u32) -> Option<ProcessId> {
        loop {
            match known.parent.get() {
                Some(parent) => return *parent,
                None if *steps >= STEPS_MAX => return None,
                None => std::thread::sleep(STEP),
            }
            *steps += 1;
        }
    }
}

//! The name of the task that a thread works for, by the programs that run now.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use forebay_model::ProcessId;
use forebay_model::tasks::{OTHERS, live_task_name};

use super::{DEEPEST, KnownProcess, ProcessTable};

/// How long a request waits for the thread that looks for parents, in steps of this. It reads
/// nothing of /proc itself: a process that waits for us may be among them.
const STEP: Duration = Duration::from_millis(1);
const STEPS_MAX: u32 = 50;

impl ProcessTable {
    /// What the table of tasks will call it, as far as that is known while it runs.
    pub(crate) fn task_name(&self, thread: u32) -> Option<String> {
        let mut at = self.by_thread.read().get(&thread).cloned()?;
        let (mut words, mut steps) = (Vec::new(), 0);
        for _ in 0..DEEPEST {
            words.push(at.program.lock().argv.clone());
            let parent = self.wait_for_parent(&at, &mut steps);
            if at.stranger.load(Relaxed) {
                return Some(OTHERS.to_owned());
            }
            let Some(parent) = parent else { break };
            let Some(next) = self.by_id.read().get(parent.0 as usize).cloned() else { break };
            at = next;
        }
        words.reverse();
        live_task_name(&words, self.root.get().is_some_and(|root| root.id == at.id))
    }

    fn wait_for_parent(&self, known: &Arc<KnownProcess>, steps: &mut u32) -> Option<ProcessId> {
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

#[cfg(test)]
mod tests {
    //! If these fail, programs wait again and again for what is known not to be there, or somebody who
    //! was gone too soon counts as a task.
    use super::*;
    use crate::recorder::Recorder;
    use forebay_os::clock::SystemClock;

    #[test]
    fn a_stranger_is_known_before_its_request_is_answered() {
        let recorder = Arc::new(Recorder::new_silent(Arc::new(SystemClock::start())));
        let processes = ProcessTable::new(recorder, 0, u32::MAX, Vec::new());
        // No thread looks later: by then it may have ended.
        let id = processes.identify_thread(std::process::id()).expect("it lives");
        let known = processes.by_id.read().get(id.0 as usize).cloned().expect("met");
        assert!(known.stranger.load(Relaxed), "nothing of the run started it");
        assert_eq!(known.parent.get(), Some(&None));
    }

    #[test]
    fn who_has_no_parent_in_the_run_is_waited_for_once() {
        let recorder = Arc::new(Recorder::new_silent(Arc::new(SystemClock::start())));
        // No process has this number, so nobody descends from it.
        let processes = Arc::new(ProcessTable::new(recorder, 0, u32::MAX, Vec::new()));
        processes.start_threads().expect("a thread");
        let me = std::process::id();
        let id = processes.identify_thread(me).expect("it lives");
        let known = processes.by_id.read().get(id.0 as usize).cloned().expect("met");
        for step in 0.. {
            if known.parent.get().is_some() {
                break;
            }
            assert!(step < 20_000, "nobody looked for a parent");
            std::thread::sleep(STEP);
        }
        let mut steps = 0;
        assert_eq!(processes.wait_for_parent(&known, &mut steps), None);
        assert_eq!(steps, 0, "it is known that there is none");
    }
}

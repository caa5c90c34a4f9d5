//! A simulated run as facts: what a run file holds, so that every view of a measured run works.
//!
//! What it is not: it writes nothing. The roof hands the facts to a run file whose header says that
//! the run was simulated.

use crate::{Choice, Outcome, PreparedProblem};
use forebay_model::rules::FileLocation;
use forebay_model::{
    ByteCount, ClassId, CommandExit, DirectoryTree, Fact, FileId, FileRecord, IoCount, Micros, Op,
    OpenSession, ProcessId, ReportedTask, RunEnd, Seconds, TierId, TreeId,
};
use std::collections::BTreeSet;

/// What stands for the type of a file system that was not there.
const FS_TYPE: &str = "simulated";

/// The facts of a run. Bytes and calls are those that tasks ask for where files live by the rules;
/// what came from copies is not told apart.
pub fn facts_from_outcome(
    scene: &PreparedProblem<'_>,
    choice: &Choice,
    outcome: &Outcome,
) -> Vec<Fact> {
    let work = scene.workload;
    let tiers: Vec<&TierId> = outcome.tiers.keys().collect();
    let tree = |tier: &TierId| {
        TreeId(tiers.iter().position(|known| *known == tier).unwrap_or_default() as u16)
    };
    let mut facts = Vec::new();
    for tier in &tiers {
        let path = scene.site.tier(tier).and_then(|tier| tier.path.clone());
        let path = path.map(|path| path.into_os_string().into_encoded_bytes());
        facts.push(Fact::Tree(DirectoryTree {
            id: tree(tier),
            path: path.unwrap_or_else(|| format!("/{tier}").into_bytes()),
            fs_type: FS_TYPE.to_owned(),
            passthrough: false,
            device: None,
            tier: (**tier != choice.project).then(|| tier.as_str().to_owned()),
        }));
    }
    for (number, class) in work.classes.iter().enumerate() {
        let pattern = class.pattern.clone();
        facts.push(Fact::Class { id: ClassId(number as u32), pattern });
    }
    let mut named = BTreeSet::new();
    for (number, task) in outcome.tasks.iter().enumerate() {
        let id = ProcessId(number as u32 + 1);
        let what = &work.tasks[task.task.index()];
        let (started, ended) = (Micros::from(task.started), Micros::from(task.ended));
        let of = (choice.pipelines > 1).then(|| format!("pipeline {}", task.pipeline + 1));
        let key: Vec<String> = of.into_iter().chain(what.key.clone()).collect();
        let busy = Seconds((task.ended - task.started - task.waited).get().max(0.0));
        facts.push(Fact::Task(ReportedTask {
            process: id,
            name: work.kinds[what.kind.index()].name.clone(),
            engine: FS_TYPE.to_owned(),
            key: (!key.is_empty()).then(|| key.join(" ")),
            after: Vec::new(),
            started: Some(started),
            ended: Some(ended),
            // Nobody saw how a task ended whose node was taken away.
            exit_status: (!task.lost).then_some(0),
            cpu_user: Some(Micros::from(busy)),
            waited: Some(Micros::from(task.waited)),
            cores: Some(work.kinds[what.kind.index()].cores),
            ..ReportedTask::default()
        }));
        for access in what.steps.iter().flat_map(|step| &step.accesses) {
            let set = access.files.index();
            if work.files[set].count == 0 {
                continue;
            }
            let made = scene.made[set];
            let pipeline = if made { task.pipeline } else { 0 };
            let file = FileId((pipeline as usize * work.files.len() + set) as u32);
            let class = work.files[set].class.index();
            if named.insert(file) {
                let home = match &choice.placements[class].home {
                    FileLocation::Tier(tier) if made => Some(tree(tier)),
                    _ => None,
                };
                let path =
                    format!("{}.{}", String::from_utf8_lossy(&work.classes[class].example), file.0);
                facts.push(Fact::File(FileRecord {
                    id: file,
                    tree: tree(&choice.project),
                    path: path.into_bytes(),
                    class: ClassId(class as u32),
                    home,
                }));
            }
            let calls = |op: Op| {
                let of = access.ops.iter().filter(|(key, _)| key.op() == op);
                of.map(|(_, count)| *count).sum::<f64>() as u64
            };
            let io = |bytes, op| Some(IoCount { bytes, calls: calls(op) });
            facts.push(Fact::Open(OpenSession {
                process: id,
                file,
                write: access.written > ByteCount::ZERO,
                created: access.written > ByteCount::ZERO,
                opened: started,
                closed: Some(ended),
                read: io(access.read, Op::Read),
                wrote: io(access.written, Op::Write),
                size_at_open: None,
                size_at_close: None,
                hidden: false,
                copy: None,
            }));
        }
    }
    // The command ends with its last task; files come home after it.
    let at = Micros::from(outcome.makespan - outcome.homecoming);
    facts.push(Fact::Ended(RunEnd {
        at,
        exit: Some(CommandExit::Code(0)),
        cpu_user: None,
        cpu_system: None,
        complete: true,
    }));
    facts
}

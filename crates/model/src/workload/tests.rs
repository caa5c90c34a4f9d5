//! If these fail, a simulation runs on nonsense, or panics on it.
use super::*;
use crate::event::Op;

fn pair() -> Workload {
    let access = FileSetAccess {
        files: FileSetId(0),
        ops: vec![(OpKey::without_bytes(Op::Open), 1.0)],
        read: ByteCount(7),
        written: ByteCount::ZERO,
    };
    let step = TaskStep { name: "cat".to_owned(), compute: Seconds(1.0), accesses: vec![access] };
    let task = Task { kind: TaskKindId(0), key: None, after: vec![], steps: vec![step] };
    let class = FileClass::new("a".to_owned(), b"a".to_vec());
    let set =
        FileSet { class: FileClassId(0), count: 1, bytes: ByteCount(7), until: DeletionPoint::End };
    let then = Task { key: Some("b".to_owned()), after: vec![TaskId(0)], ..task.clone() };
    Workload {
        name: "two".to_owned(),
        classes: vec![class],
        files: vec![set],
        kinds: vec![TaskKind { name: "cat".to_owned(), cores: 1, memory: None }],
        tasks: vec![task, then],
        ordered: false,
        doubts: vec![],
    }
}

#[test]
fn a_workload_without_flaws_passes() {
    assert_eq!(pair().ensure_valid(), Ok(()));
}

#[test]
fn each_flaw_is_named_with_its_place() {
    type Break = fn(&mut Workload);
    let flaws: [(Break, &str); 8] = [
        (|w| w.tasks.clear(), "workload \"two\" has no task"),
        (|w| w.tasks[0].after = vec![TaskId(1)], "task 0 (cat): it waits for task 1"),
        (|w| w.tasks[1].after = vec![TaskId(9)], "task 1 (cat b): it waits for task 9"),
        (|w| w.tasks[1].kind = TaskKindId(3), "task 1 (of no kind b): its kind is not there"),
        (|w| w.kinds[0].cores = 0, "task 0 (cat): it takes no core"),
        (|w| w.tasks[0].steps[0].compute = Seconds(f64::NAN), "step \"cat\" computes for NaN"),
        (|w| w.tasks[1].steps[0].accesses[0].files = FileSetId(4), "access 0 of step \"cat\""),
        (|w| w.files[0].until = DeletionPoint::Task(TaskId(2)), "file set 0 has no class"),
    ];
    for (damage, words) in flaws {
        let mut workload = pair();
        damage(&mut workload);
        let flaw = workload.ensure_valid().expect_err(words).to_string();
        assert!(flaw.contains(words), "{flaw}");
    }
}

//! What recording itself takes is no part of the work.

use super::*;

#[test]
fn the_way_to_forebay_is_neither_computing_nor_waiting_elsewhere() {
    let write = OpKey::with_bytes(Op::Write, 512, AccessPattern::Sequential);
    let mut story = Story::new(vec![task(1, "sort", 0.0, 10.0)]);
    story.wrote(1, "a.tmp", 0.1, 50).ops(1, "a.tmp", write, 100_000, 1.0);
    let sort = ProcessId(7);
    story.rows.processes = vec![ProcessRow {
        id: sort,
        task: Some(1),
        started: Some(secs(0.0)),
        ended: Some(secs(10.0)),
        ..ProcessRow::default()
    }];
    let waited = IoWait { nanos: 1_000_000_000, requests: 100_000 };
    story.rows.waited = [(sort, waited)].into();
    let step = |story: &mut Story| story.learnt().tasks[0].steps[0].clone();
    assert!((step(&mut story).compute.get() - 9.0).abs() < 1e-6);
    // 20 us each: two more seconds that are not there without the record.
    story.rows.way = 2e-5;
    let step = step(&mut story);
    assert!((step.compute.get() - 7.0).abs() < 1e-6, "{step:?}");
    let (_, count) = step.accesses[0].ops.iter().find(|(key, _)| *key == write).expect("written");
    assert!((count - 100_000.0).abs() < 1e-6, "all of them are asked for elsewhere: {count}");
}

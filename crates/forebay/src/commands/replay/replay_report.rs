//! What a replay did, for people and as data.

use std::sync::atomic::Ordering::Relaxed;

use forebay_model::ByteCount;
use forebay_plan::replay::ReplayScript;
use serde_json::json;

use super::Args;
use super::lane_threads::ScriptPlayer;
use crate::console;

pub(super) fn print_replay(
    args: &Args,
    name: &str,
    script: &ReplayScript,
    play: &ScriptPlayer<'_>,
    seconds: f64,
) {
    let (missed, past) = (play.missed.load(Relaxed), play.skipped_waits());
    let doer = play.doer;
    let [operations, read, written] =
        [&doer.operations, &doer.read, &doer.written].map(|count| count.load(Relaxed));
    let mut notes = script.notes.clone();
    if missed > 0 {
        notes.push(format!("{missed} operations found no file, or one where none should be"));
    }
    if past > 0 {
        notes.push(format!("{past} operations went before what they waited for in the run"));
    }
    if args.json {
        let told = json!({
            "seconds": seconds,
            "command": name,
            "speed": (!args.no_think).then_some(args.speed),
            "tasks": script.turns.len().saturating_sub(2),
            "slots": script.slots,
            "operations": operations,
            "read_bytes": read,
            "written_bytes": written,
            "missed": missed,
            "out_of_order": past,
            "notes": notes,
        });
        println!("{told}");
        return;
    }
    notes.iter().for_each(|note| console::note(note));
    let think = match (args.no_think, args.speed) {
        (true, _) => "no time between operations: this is I/O alone".to_owned(),
        (false, 1.0) => "time between operations as it was".to_owned(),
        (false, speed) => format!("time between operations divided by {speed}"),
    };
    println!(
        "replayed {name}: {} tasks, {} open files, {} written, {} read; {think}",
        script.turns.len().saturating_sub(2),
        script.sessions,
        ByteCount(written),
        ByteCount(read),
    );
    println!("replayed in {seconds:.3} s");
}

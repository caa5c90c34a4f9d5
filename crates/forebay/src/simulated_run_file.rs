//! Writes a run that never was as a run file: for all that reads runs.

use crate::exit::CommandError;
use crate::output::OutputTarget;
use forebay_model::run::note_key;
use forebay_model::{ByteCount, Header, Reach, RunOrigin, RunWriter};
use forebay_plan::{Choice, Cost, Outcome, PreparedProblem, simulated_facts};
/// `command` is the subcommand that simulated it.
pub(crate) fn write_simulated_run(
    place: &OutputTarget,
    scene: &PreparedProblem<'_>,
    choice: &Choice,
    (outcome, cost): (&Outcome, Option<&Cost>),
    (seed, command): (u64, &str),
) -> Result<(), CommandError> {
    let told = [
        ("workload", scene.workload.name.clone()),
        ("seed", seed.to_string()),
        ("pipelines", choice.pipelines.to_string()),
        ("policy", choice.policy.0.to_owned()),
        ("stagger_s", choice.stagger.get().to_string()),
    ];
    let mut more: Vec<(String, String)> = told.map(|(key, value)| (key.to_owned(), value)).into();
    more.push(note_key::WRITTEN_BACK_FOR.to_note(&outcome.homecoming));
    more.extend(capacity_limits(scene, choice));
    if let Some(cost) = cost {
        more.push(note_key::COST_USD.to_note(&cost.total.get()));
        let cost = serde_json::to_string(cost).expect("a cost is plain data");
        more.push(note_key::COST.to_note(&cost));
    }
    let nodes = scene.site.nodes();
    let header = Header {
        forebay: env!("CARGO_PKG_VERSION").to_owned(),
        origin: RunOrigin::Simulated,
        // Of a run that never was, the start is nothing that a clock could tell: the same
        // simulation makes the same file.
        started_unix: forebay_model::Micros::ZERO,
        command: [command.to_owned(), scene.workload.name.clone()].map(String::into_bytes).into(),
        directory: b"/".to_vec(),
        cpus: nodes.map(|nodes| nodes.cores.saturating_mul(choice.nodes)),
        memory: nodes.and_then(|nodes| nodes.memory),
        more,
        ..Header::default()
    };
    let stop = |error: forebay_model::Error| {
        CommandError::new(1, error.to_string(), "choose another place for it")
    };
    // Made beside it and copied, as a run that is measured: what stands there is whole, or not
    // there.
    let mut writer = RunWriter::create(&place.part_path(), header).map_err(stop)?;
    let facts = simulated_facts::facts_from_outcome(scene, choice, outcome);
    let kept = facts.chunks(10_000).try_for_each(|facts| writer.write_facts(facts));
    let kept = kept.and_then(|()| writer.finish_run()).and_then(|()| place.commit_run(&writer));
    writer.remove().map_err(stop)?;
    kept.map_err(stop)
}

/// How much each tier may take, on all nodes together.
fn capacity_limits(scene: &PreparedProblem<'_>, choice: &Choice) -> Vec<(String, String)> {
    let limits = scene.site.tiers().filter_map(|tier| {
        let nodes = if tier.reach == Reach::Node { u64::from(choice.nodes) } else { 1 };
        let bytes = tier.capacity?.get().saturating_mul(nodes);
        Some(note_key::capacity_note(&tier.id.to_string(), ByteCount(bytes)))
    });
    limits.collect()
}

//! Writes a run that never was as a run file: for all that reads runs.

use crate::exit::Stop;
use forebay_model::{Header, Origin, RunWriter};
use forebay_plan::{Choice, Outcome, Scene, record};
use std::path::Path;

/// `usd` is what it costs, if known; `command` is the subcommand that simulated it; `option` the one to name another place with.
pub(crate) fn keep(
    path: &Path,
    scene: &Scene<'_>,
    choice: &Choice,
    outcome: &Outcome,
    usd: Option<f64>,
    (seed, command, option): (u64, &str, &str),
) -> Result<(), Stop> {
    let more = [
        ("workload", scene.workload.name.clone()),
        ("seed", seed.to_string()),
        ("pipelines", choice.pipelines.to_string()),
        ("policy", choice.policy.0.to_owned()),
        ("stagger_s", choice.stagger.get().to_string()),
        ("homecoming_s", outcome.homecoming.get().to_string()),
    ];
    let more = more.into_iter().map(|(key, value)| (key.to_owned(), value));
    let more = more.chain(usd.map(|usd| ("cost_usd".to_owned(), usd.to_string())));
    let nodes = scene.site.nodes();
    let header = Header {
        forebay: env!("CARGO_PKG_VERSION").to_owned(),
        origin: Origin::Simulated,
        // Of a run that never was, the start is nothing that a clock could tell: the same
        // simulation makes the same file.
        started_unix: forebay_model::Micros::ZERO,
        command: [command.to_owned(), scene.workload.name.clone()].map(String::into_bytes).into(),
        directory: b"/".to_vec(),
        cpus: nodes.map(|nodes| nodes.cores.saturating_mul(choice.nodes)),
        memory: nodes.and_then(|nodes| nodes.memory),
        more: more.collect(),
        ..Header::default()
    };
    let stop = |error: forebay_model::Error| {
        Stop::new(1, error.to_string(), format!("choose another place with {option}"))
    };
    // Made beside it and copied, as a run that is measured: what stands there is whole, or not
    // there.
    let mut state = path.as_os_str().to_owned();
    state.push(format!(".{}.part", std::process::id()));
    let state = Path::new(&state);
    let mut writer = RunWriter::create(state, header).map_err(stop)?;
    let facts = record::facts(scene, choice, outcome);
    let kept = facts.chunks(10_000).try_for_each(|facts| writer.write(facts));
    let kept = kept.and_then(|()| writer.finish()).and_then(|()| writer.copy_to(path));
    writer.remove().map_err(stop)?;
    kept.map_err(stop)
}

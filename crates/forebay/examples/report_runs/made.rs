//! Runs that never were, for tests of what shows runs. Each is made of the same facts that a
//! recorder writes, by a fixed recipe.

mod hostile;
mod pipeline;

use std::path::{Path, PathBuf};

use forebay_model::{CommandExit, Fact, Header, Micros, Result, RunEnd, RunOrigin, RunWriter};

/// Makes a run.
type Make = fn() -> (Header, Vec<Fact>);

/// All of them, by name.
pub(crate) const ALL: &[(&str, Make)] = &[
    ("measured", || pipeline::measured(240)),
    ("simulated", || pipeline::simulated(240)),
    ("hostile", hostile::run),
    ("one-task", || pipeline::measured(1)),
    ("empty", empty),
    ("filer", pipeline::filer),
    ("big-25k", || pipeline::measured(25_000)),
    ("big-100k", || pipeline::measured(100_000)),
];

/// Makes the run of this name, if there is one, and writes it to `FOLDER/NAME.run`.
///
/// # Errors
/// Those of the run file.
pub(crate) fn named(folder: &Path, name: &str) -> Option<Result<PathBuf>> {
    let (_, make) = ALL.iter().find(|(known, _)| *known == name)?;
    let (path, (header, facts)) = (folder.join(format!("{name}.run")), make());
    Some(write(&path, header, &facts).map(|()| path))
}

/// Writes a run file, in place of what is there.
///
/// # Errors
/// Those of the run file.
fn write(path: &Path, header: Header, facts: &[Fact]) -> Result<()> {
    let mut state = path.as_os_str().to_owned();
    state.push(".part");
    let mut writer = RunWriter::create(Path::new(&state), header)?;
    facts.chunks(10_000).try_for_each(|facts| writer.write_facts(facts))?;
    writer.finish_run()?;
    writer.copy_to(path)?;
    writer.remove()
}

fn header(origin: RunOrigin, command: &[&str]) -> Header {
    Header {
        forebay: env!("CARGO_PKG_VERSION").to_owned(),
        origin,
        started_unix: Micros(1_795_430_400_000_000),
        command: command.iter().map(|word| word.as_bytes().to_vec()).collect(),
        directory: b"/data/project".to_vec(),
        host: Some("n17".to_owned()),
        cpus: Some(8),
        ..Header::default()
    }
}

fn ended(at: Micros) -> Fact {
    let exit = Some(CommandExit::Code(0));
    Fact::Ended(RunEnd { at, exit, cpu_user: None, cpu_system: None, complete: true })
}

/// A command that did nothing at all.
fn empty() -> (Header, Vec<Fact>) {
    (header(RunOrigin::Measured, &["true"]), vec![ended(Micros(1_200))])
}

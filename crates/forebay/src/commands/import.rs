//! `forebay import`: records of other tools become a run file.

use std::fs;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use forebay_model::RunWriter;
use forebay_plan::import::{IMPORTERS, ImportSource, Importer};

use crate::console;
use crate::exit::CommandError;
use crate::output::{Force, OutputKind, OutputTarget};

/// Options of `forebay import`.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help())]
pub(crate) struct Args {
    /// Whose records they are
    #[arg(value_parser = PossibleValuesParser::new(IMPORTERS.iter().map(|i| i.name)))]
    engine: String,
    /// The records, or a directory in which they are
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where the run goes
    #[arg(short, long, value_name = "RUN")]
    output: PathBuf,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    force: Force,
}

fn after_help() -> String {
    let mut text = String::from("Engines and their records:\n");
    for importer in IMPORTERS {
        text.push_str(&format!("  {:10} {}\n", importer.name, importer.reads));
    }
    text + "\nWhat records do not tell is \"not seen\" in the run: `forebay summary RUN` shows what \
            they do.\n\nExample: forebay import nextflow trace.txt -o rnaseq.run"
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let importer = Importer::find_by_name(&args.engine).expect("the parser knows the names");
    let place = OutputTarget::claim(&args.output, OutputKind::Run, args.force)?;
    let mut sources = Vec::new();
    for file in &args.files {
        gather_sources(importer, file, &mut sources)?;
    }
    let bases: Vec<PathBuf> = args.files.iter().map(|file| project_directory(file)).collect();
    let size = |path: &str| {
        let found = bases.iter().find_map(|base| fs::metadata(base.join(path)).ok());
        found.filter(fs::Metadata::is_file).map(|found| found.len())
    };
    let (mut header, facts) = importer.import_run(&sources, &size).map_err(|flaw| {
        let next = format!("`forebay import {}` reads {}", importer.name, importer.reads);
        CommandError::new(1, flaw.to_string(), next)
    })?;
    header.forebay = env!("CARGO_PKG_VERSION").to_owned();
    let stop = |error: forebay_model::Error| {
        CommandError::new(1, error.to_string(), "name another file after -o; nothing was written")
    };
    let notes: Vec<String> = header.more.iter().map(|(_, note)| note.clone()).collect();
    // A half-written run must not have the name: it is written beside, and copied whole.
    let mut writer = RunWriter::create(&place.part_path(), header).map_err(stop)?;
    let written = writer.write_facts(&facts).and_then(|()| writer.finish_run());
    let copied = written.and_then(|()| place.commit_run(&writer));
    // It is Forebay's own, whatever came of it.
    let _ = writer.remove();
    copied.map_err(stop)?;
    let is_task = |fact: &&forebay_model::Fact| matches!(fact, forebay_model::Fact::Task(_));
    let tasks = facts.iter().filter(is_task).count();
    if args.json {
        let run = args.output.to_string_lossy();
        println!("{}", serde_json::json!({ "run": run, "tasks": tasks, "notes": notes }));
        return Ok(0);
    }
    for note in notes {
        console::note(&note);
    }
    let noun = if tasks == 1 { "task" } else { "tasks" };
    console::note(&format!("{tasks} {noun} imported; the run is in {}", args.output.display()));
    Ok(0)
}

/// Reads a file, or those of a directory that the importer wants, in the order of their names.
fn gather_sources(
    importer: &Importer,
    path: &Path,
    into: &mut Vec<ImportSource>,
) -> Result<(), CommandError> {
    let stop = |path: &Path, error: std::io::Error| {
        let message = format!("{} can't be read: {error}", path.display());
        CommandError::new(
            1,
            message,
            format!("`forebay import {}` reads {}", importer.name, importer.reads),
        )
    };
    let before = into.len();
    let mut left = vec![path.to_owned()];
    while let Some(next) = left.pop() {
        let found = fs::metadata(&next).map_err(|error| stop(&next, error))?;
        if found.is_dir() {
            let entries = fs::read_dir(&next).map_err(|error| stop(&next, error))?;
            let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            // Links are not followed: they may lead round in a circle.
            entries.retain(|path| path.symlink_metadata().is_ok_and(|at| !at.is_symlink()));
            entries.sort();
            left.extend(entries.into_iter().rev());
            continue;
        }
        let inside = next.strip_prefix(path).unwrap_or(&next).to_string_lossy().into_owned();
        if next != path && !(importer.wanted)(inside.as_bytes()) {
            continue;
        }
        // A pipe is welcome: `forebay import slurm <(sacct -P ...)`.
        let content = fs::read(&next).map_err(|error| stop(&next, error))?;
        into.push(ImportSource { path: next.to_string_lossy().into_owned(), content });
    }
    if into.len() == before {
        let message = format!("{} has none of the records", path.display());
        let next = format!("`forebay import {}` reads {}", importer.name, importer.reads);
        return Err(CommandError::new(1, message, next));
    }
    Ok(())
}

/// The directory that paths in records count from: the one given, or the one that has `.snakemake`.
fn project_directory(path: &Path) -> PathBuf {
    if path.is_dir() {
        return path.to_owned();
    }
    let above = path.ancestors().find(|above| above.ends_with(".snakemake"));
    above.or(Some(path)).and_then(Path::parent).unwrap_or(Path::new(".")).to_owned()
}

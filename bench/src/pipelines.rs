//! Whole pipelines, bare and covered, in shuffled blocks: wall time and CPU time.
//!
//! A pipeline is one script in `bench/pipelines/`; it knows five words: `ready` (status 0, or why
//! not), `prepare`, `run`, `verify`, each in its directory, and `rules`, which prints rules for its
//! temporary files on the tier `fast`.

use crate::error::{Error, ErrorContext, Kind, Result};
use crate::forebay_command::{ForebayBinary, rule_options};
use crate::launch::{CommandOutcome, MeasuredCommand};
use crate::micro::{check_no_failures, open_session};
use crate::run_directories::{Backing, RunDirectories};
use crate::saved_results::{Arm, RunLabel, RunRecord, RunUser, SavedResults, save_record};
use crate::shuffle::SeededRng;
use crate::{host_info, interrupt, request_counts};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What to measure.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The binary under test.
    #[arg(long, default_value = "target/release/forebay")]
    pub forebay: PathBuf,
    /// Where results are saved, and the loop image while the bench runs.
    #[arg(long, default_value = "target/bench")]
    pub results: PathBuf,
    /// Where the scripts are.
    #[arg(long, default_value = "bench/pipelines")]
    pub scripts: PathBuf,
    /// Pairs of bare and covered runs of each pipeline.
    #[arg(long, default_value_t = 15)]
    pub pairs: u32,
    /// Seed of the order.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// As whom; the default is root for root.
    #[arg(long)]
    pub who: Option<RunUser>,
    /// Only these pipelines.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// Add a run with `--trace every-read` to each block.
    #[arg(long)]
    pub every_read: bool,
    /// Add a run with the rules that the pipeline's script has for its temporary files.
    #[arg(long)]
    pub rules: bool,
    /// Add runs under the recorders without a mount.
    #[arg(long)]
    pub recorders: bool,
    /// The file system below.
    #[arg(long, value_enum, default_value_t = Backing::Ext4)]
    pub backing: Backing,
    /// Size of the loop image.
    #[arg(long, default_value_t = 20)]
    pub image_gib: u64,
    /// User id of the ordinary user, when the bench runs as root.
    #[arg(long, default_value_t = 1000)]
    pub user: u32,
    /// Begin no new block that would end after this many minutes.
    #[arg(long)]
    pub budget_minutes: Option<f64>,
    /// One run may take this many seconds.
    #[arg(long, default_value_t = 3600)]
    pub limit_s: u64,
    /// Go on with the last session instead of beginning a new one.
    #[arg(long)]
    pub resume: bool,
    /// The binary is a stand-in that covers nothing.
    #[arg(long)]
    pub shim: bool,
}

/// File of the pipeline results.
pub const FILE: &str = "pipelines.jsonl";

#[derive(Debug)]
struct Pipeline {
    name: String,
    script: PathBuf,
}

#[derive(Debug)]
struct PipelineBench<'a> {
    options: &'a Options,
    ground: RunDirectories,
    forebay: ForebayBinary,
    who: RunUser,
    session: String,
    file: PathBuf,
    variables: Vec<(&'static str, OsString)>,
}

/// Runs what is missing, block by block through all pipelines, and saves each run.
pub fn run_pipelines(options: &Options) -> Result<()> {
    let started = Instant::now();
    let found = find_pipelines(&options.scripts, &options.only)?;
    let (bench, ready) = PipelineBench::begin_session(options, found)?;
    let arms = bench.choose_arms();
    let saved = SavedResults::load(&bench.file)?;
    let mut took: BTreeMap<String, f64> = BTreeMap::new();
    for pipeline in &ready {
        eprintln!("{}: one run that is not recorded", pipeline.name);
        let begun = Instant::now();
        bench.warm_up(pipeline)?;
        let block_s = begun.elapsed().as_secs_f64() * arms.len() as f64;
        took.insert(pipeline.name.clone(), block_s);
    }
    let mut failed = 0;
    for block in 0..options.pairs {
        let mut order: Vec<&Pipeline> = ready.iter().collect();
        SeededRng::new(options.seed, &format!("pipelines/{block}")).shuffle(&mut order);
        for pipeline in order {
            if saved.complete_blocks(&bench.session, &pipeline.name, &arms).contains(&block) {
                continue;
            }
            let end_s = started.elapsed().as_secs_f64() + took[&pipeline.name];
            if options.budget_minutes.is_some_and(|budget| end_s > budget * 60.0) {
                eprintln!("the budget leaves no time for {} #{block}", pipeline.name);
                continue;
            }
            let begun = Instant::now();
            failed += bench.run_block(pipeline, block, &arms)?;
            took.insert(pipeline.name.clone(), begun.elapsed().as_secs_f64());
        }
    }
    check_no_failures(failed)
}

fn find_pipelines(scripts: &Path, only: &[String]) -> Result<Vec<Pipeline>> {
    let scripts = scripts.canonicalize().with_context("find", scripts)?;
    let mut found: Vec<Pipeline> = std::fs::read_dir(&scripts)
        .with_context("list", &scripts)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "sh"))
        .filter_map(|script| {
            let name = script.file_stem()?.to_string_lossy().into_owned();
            Some(Pipeline { name, script })
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(unknown) = only.iter().find(|name| !found.iter().any(|have| have.name == **name)) {
        let names: Vec<_> = found.iter().map(|have| have.name.as_str()).collect();
        let names = names.join(", ");
        return Err(Error::new(Kind::Usage, format!("no pipeline {unknown}; there are {names}")));
    }
    found.retain(|have| only.is_empty() || only.contains(&have.name));
    Ok(found)
}

impl<'a> PipelineBench<'a> {
    fn begin_session(options: &'a Options, found: Vec<Pipeline>) -> Result<(Self, Vec<Pipeline>)> {
        let who = match (host_info::is_root(), options.who) {
            (true, Some(who)) => who,
            (true, None) => RunUser::Root,
            (false, _) => RunUser::User,
        };
        let ground = RunDirectories::prepare(
            &options.results,
            options.backing,
            options.image_gib,
            options.user,
        )?;
        let forebay = ForebayBinary::pin_binary(&options.forebay, &ground, options.shim)?;
        let mut variables = ground.environment_for(who)?;
        let root = std::env::current_dir()?.into_os_string();
        variables.push(("FOREBAY_ROOT", root));
        let mut bench = Self {
            options,
            ground,
            forebay,
            who,
            session: String::new(),
            file: options.results.join(FILE),
            variables,
        };
        let mut conditions = host_info::describe_machine();
        conditions.extend(bench.ground.conditions.clone());
        let mut ready = Vec::new();
        for pipeline in found {
            let probe = bench.prepare_launch(&pipeline, "ready", &bench.ground.scratch, &[]);
            match probe.run_expecting_success() {
                Ok(_) => ready.push(pipeline),
                Err(cause) if cause.kind == Kind::Interrupted => return Err(cause),
                Err(_) => {
                    conditions.push(format!(
                        "left out: {}: {}",
                        pipeline.name,
                        probe.output_tail()
                    ));
                    eprintln!("left out: {}: {}", pipeline.name, probe.output_tail());
                }
            }
        }
        if options.shim {
            conditions.push("a stand-in that covers nothing".to_owned());
        }
        let build = bench.forebay.build.clone();
        let (seed, resume) = (options.seed, options.resume);
        bench.session = open_session(&bench.file, resume, "pipelines", &build, seed, conditions)?;
        Ok((bench, ready))
    }

    fn choose_arms(&self) -> Vec<(RunUser, Arm)> {
        let mut arms = vec![(self.who, Arm::Bare), (self.who, Arm::Covered)];
        if self.options.every_read {
            arms.push((self.who, Arm::EveryRead));
        }
        if self.options.rules {
            arms.push((self.who, Arm::Rules));
        }
        if self.options.recorders {
            arms.push((self.who, Arm::Notify));
            // The kernel lets nobody else look.
            if self.who == RunUser::Root {
                arms.push((self.who, Arm::Bpf));
            }
        }
        arms
    }

    fn prepare_launch(
        &self,
        pipeline: &Pipeline,
        word: &str,
        dir: &Path,
        prefix: &[OsString],
    ) -> MeasuredCommand {
        let mut words = prefix.to_vec();
        words.extend(["bash".into(), pipeline.script.clone().into(), word.into()]);
        MeasuredCommand {
            words,
            dir: dir.to_owned(),
            uid: self.ground.launch_uid(self.who),
            variables: self.variables.clone(),
            log: self.ground.scratch.join(format!("log-{}-{word}", pipeline.name)),
            limit_s: self.options.limit_s,
        }
    }

    /// Brings programs and libraries into the page cache, before the first block.
    fn warm_up(&self, pipeline: &Pipeline) -> Result<()> {
        let dir = self.ground.create_run_directory(self.who)?;
        for word in ["prepare", "run", "verify"] {
            self.prepare_launch(pipeline, word, &dir, &[]).run_expecting_success()?;
        }
        self.ground.remove_and_sync(&dir)
    }

    fn run_block(&self, pipeline: &Pipeline, block: u32, arms: &[(RunUser, Arm)]) -> Result<u32> {
        let mut failed = 0;
        let mut order = arms.to_vec();
        SeededRng::new(self.options.seed, &format!("{}/{block}", pipeline.name))
            .shuffle(&mut order);
        for (place, (who, arm)) in order.into_iter().enumerate() {
            let label = RunLabel {
                session: self.session.clone(),
                name: pipeline.name.clone(),
                who,
                arm,
                block,
                order: place as u32,
            };
            let record = self.run_and_record(pipeline, label)?;
            save_record(&self.file, &record)?;
            let (wall_s, cpu_s) = (record.ended.wall_s, record.ended.cpu_s);
            failed += u32::from(record.failure.is_some());
            let word = record.failure.as_deref().unwrap_or("done");
            eprintln!("{} #{block} {arm}: {wall_s:.2} s, {cpu_s:.2} CPU s, {word}", pipeline.name);
        }
        Ok(failed)
    }

    fn run_and_record(&self, pipeline: &Pipeline, label: RunLabel) -> Result<RunRecord> {
        let at_unix = host_info::unix_now();
        let dir = self.ground.create_run_directory(self.who)?;
        let run_file = self.ground.scratch.join("pipeline.run");
        let tier = match label.arm {
            Arm::Rules => Some(self.ground.create_run_directory(self.who)?),
            _ => None,
        };
        let outcome = self.attempt_run(pipeline, label.arm, &dir, tier.as_deref(), &run_file);
        interrupt::check_interrupt()?;
        for dir in [Some(&dir), tier.as_ref()].into_iter().flatten() {
            self.ground.remove_and_sync(dir)?;
        }
        let requests = request_counts::count_requests(&run_file);
        let _ = std::fs::remove_file(&run_file);
        let mut record = RunRecord {
            label,
            at_unix,
            ended: CommandOutcome::default(),
            measured: None,
            requests: BTreeMap::new(),
            failure: None,
        };
        match outcome {
            Ok(ended) => {
                record.ended = ended;
                record.requests = requests?;
            }
            Err(cause) if cause.kind == Kind::Interrupted => return Err(cause),
            Err(cause) => record.failure = Some(cause.message),
        }
        if record.label.arm != Arm::Bare && !self.forebay.shim && record.requests.is_empty() {
            record.failure.get_or_insert_with(|| "the run file counts no operations".to_owned());
        }
        Ok(record)
    }

    fn attempt_run(
        &self,
        pipeline: &Pipeline,
        arm: Arm,
        dir: &Path,
        tier: Option<&Path>,
        run_file: &Path,
    ) -> Result<CommandOutcome> {
        self.prepare_launch(pipeline, "prepare", dir, &[]).run_expecting_success()?;
        let options = match tier {
            Some(tier) => {
                let asked = self.prepare_launch(pipeline, "rules", dir, &[]);
                asked.run_expecting_success()?;
                let rules = std::fs::read_to_string(&asked.log).with_context("read", &asked.log)?;
                rule_options(tier, &rules, &self.ground.scratch)?
            }
            None => Vec::new(),
        };
        host_info::sync_file_system(dir)?;
        let prefix = self.forebay.command_prefix(arm, &options, run_file);
        let ended = self.prepare_launch(pipeline, "run", dir, &prefix).run_expecting_success()?;
        self.prepare_launch(pipeline, "verify", dir, &[]).run_expecting_success()?;
        Ok(ended)
    }
}

//! The micro benchmarks: each workload bare and covered, in shuffled blocks.

use crate::error::{Error, ErrorContext, Kind, Result};
use crate::forebay_command::{self, ForebayBinary};
use crate::launch::{CommandOutcome, MeasuredCommand};
use crate::measure::Measurement;
use crate::run_directories::{Backing, RunDirectories};
use crate::saved_results::{
    Arm, RunLabel, RunRecord, RunUser, SavedResults, Session, save_record, save_session,
};
use crate::shuffle::SeededRng;
use crate::workloads::{self, FileLayout, TierMedium, Workload};
use crate::{host_info, interrupt, request_counts};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What to measure.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The binary under test.
    #[arg(long, default_value = "target/release/forebay")]
    pub forebay: PathBuf,
    /// Where results are saved, and the loop image while the bench runs.
    #[arg(long, default_value = "target/bench")]
    pub results: PathBuf,
    /// Repeats of each workload: one block of bare and covered runs each.
    #[arg(long, default_value_t = 7)]
    pub repeats: u32,
    /// Seed of the order.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Share of the full work; below 1 only for trying out.
    #[arg(long, default_value_t = 1.0)]
    pub scale: f64,
    /// As whom covered runs run; as root the default is both.
    #[arg(long)]
    pub who: Vec<RunUser>,
    /// Only these workloads (`forebay-bench list` names them).
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// The file system below.
    #[arg(long, value_enum, default_value_t = Backing::Ext4)]
    pub backing: Backing,
    /// User id of the ordinary user, when the bench runs as root.
    #[arg(long, default_value_t = 1000)]
    pub user: u32,
    /// Begin no new block after this many minutes.
    #[arg(long)]
    pub budget_minutes: Option<f64>,
    /// Go on with the last session instead of beginning a new one.
    #[arg(long)]
    pub resume: bool,
    /// The binary is a stand-in that covers nothing: do not insist on FUSE.
    #[arg(long)]
    pub shim: bool,
}

/// File of the micro results.
pub const FILE: &str = "micro.jsonl";

#[derive(Debug)]
struct MicroBench<'a> {
    options: &'a Options,
    ground: RunDirectories,
    forebay: ForebayBinary,
    own: PathBuf,
    session: String,
    file: PathBuf,
}

/// Runs everything that is missing and saves each run.
pub fn run_micro(options: &Options) -> Result<()> {
    let started = std::time::Instant::now();
    let chosen = choose_workloads(&options.only)?;
    let bench = MicroBench::begin_session(options, "micro")?;
    let all_arms = choose_arms(&options.who);
    let saved = SavedResults::load(&bench.file)?;
    let blocks = u64::from(options.repeats) * chosen.len() as u64;
    let mut done = 0;
    let mut failed = 0;
    for block in 0..options.repeats {
        let mut order: Vec<&Workload> = chosen.clone();
        SeededRng::new(options.seed, &format!("workloads/{block}")).shuffle(&mut order);
        for workload in order {
            let spent = started.elapsed().as_secs_f64() / 60.0;
            if options.budget_minutes.is_some_and(|budget| spent >= budget) {
                eprintln!("budget of {spent:.0} min is spent; --resume goes on from here");
                return check_no_failures(failed);
            }
            done += 1;
            let mut arms = all_arms.clone();
            if workload.layout == FileLayout::Unmounted {
                arms.retain(|(who, _)| *who == RunUser::Root);
            }
            if saved.complete_blocks(&bench.session, workload.name, &arms).contains(&block) {
                continue;
            }
            eprintln!("[{done}/{blocks}, {spent:.1} min] {} #{block}", workload.name);
            failed += bench.run_block(workload, block, &arms)?;
        }
    }
    check_no_failures(failed)
}

/// An error when some runs failed; they are saved with their reasons.
pub fn check_no_failures(failed: u32) -> Result<()> {
    match failed {
        0 => Ok(()),
        some => Err(Error::check_failed(format!("{some} runs failed; the table counts them"))),
    }
}

fn choose_workloads(only: &[String]) -> Result<Vec<&'static Workload>> {
    let mut chosen: Vec<&'static Workload> = if only.is_empty() {
        workloads::all_workloads().collect()
    } else {
        only.iter().map(|name| workloads::find_workload(name)).collect::<Result<_>>()?
    };
    if !host_info::is_root() {
        chosen.retain(|workload| !workload.cold && workload.layout != FileLayout::Unmounted);
    }
    Ok(chosen)
}

/// One bare arm, and a covered one as each of `who`.
fn choose_arms(who: &[RunUser]) -> Vec<(RunUser, Arm)> {
    let root = host_info::is_root();
    let all: &[RunUser] = match (root, who.is_empty()) {
        (true, true) => &[RunUser::Root, RunUser::User],
        (true, false) => who,
        (false, _) => &[RunUser::User],
    };
    let bare = if root { RunUser::Root } else { RunUser::User };
    let mut arms = vec![(bare, Arm::Bare)];
    arms.extend(all.iter().map(|who| (*who, Arm::Covered)));
    arms
}

/// The session to go on with, or a new one, saved.
pub fn open_session(
    file: &Path,
    resume: bool,
    mode: &str,
    build: &str,
    seed: u64,
    conditions: Vec<String>,
) -> Result<String> {
    if resume {
        let saved = SavedResults::load(file)?;
        let same = saved.sessions.iter().rev().find(|old| old.build == build && old.seed == seed);
        if let Some(old) = same {
            return Ok(old.session.clone());
        }
        eprintln!("no session of this build and seed in {}: a new one", file.display());
    }
    let session = format!("{}-{}", host_info::unix_now(), std::process::id());
    let new = Session {
        session: session.clone(),
        mode: mode.to_owned(),
        build: build.to_owned(),
        seed,
        conditions,
    };
    save_session(file, &new)?;
    Ok(session)
}

impl<'a> MicroBench<'a> {
    fn begin_session(options: &'a Options, mode: &str) -> Result<Self> {
        let ground = RunDirectories::prepare(&options.results, options.backing, 6, options.user)?;
        let forebay = ForebayBinary::pin_binary(&options.forebay, &ground, options.shim)?;
        let own = ground.copy_program(&std::env::current_exe()?, "forebay-bench")?;
        let mut conditions = host_info::describe_machine();
        conditions.extend(ground.conditions.clone());
        if options.scale != 1.0 {
            conditions.push(format!("scaled to {} of the work: for trying out", options.scale));
        }
        if options.shim {
            conditions.push("a stand-in that covers nothing".to_owned());
        }
        let file = options.results.join(FILE);
        let session =
            open_session(&file, options.resume, mode, &forebay.build, options.seed, conditions)?;
        Ok(Self { options, ground, forebay, own, session, file })
    }

    /// All arms of one workload, shuffled; each is saved at once. Returns how many failed.
    fn run_block(&self, workload: &Workload, block: u32, arms: &[(RunUser, Arm)]) -> Result<u32> {
        let mut failed = 0;
        let mut order = arms.to_vec();
        SeededRng::new(self.options.seed, &format!("{}/{block}", workload.name))
            .shuffle(&mut order);
        for (place, (who, arm)) in order.into_iter().enumerate() {
            let label = RunLabel {
                session: self.session.clone(),
                name: workload.name.to_owned(),
                who,
                arm,
                block,
                order: place as u32,
            };
            let record = self.run_and_record(workload, label)?;
            save_record(&self.file, &record)?;
            if let Some(failure) = &record.failure {
                failed += 1;
                eprintln!("  {} as {who}: {failure}", record.label.arm);
            }
        }
        Ok(failed)
    }

    /// One run in a fresh directory. A workload that fails becomes a record with the reason.
    fn run_and_record(&self, workload: &Workload, label: RunLabel) -> Result<RunRecord> {
        let (who, at_unix) = (label.who, host_info::unix_now());
        let dir = self.ground.create_run_directory(who)?;
        let tier = self.create_tier(workload, &label)?;
        let run_file = self.ground.scratch.join("micro-{}.run");
        let outcome = self.attempt_run(workload, &label, &dir, tier.as_deref(), &run_file);
        interrupt::check_interrupt()?;
        for dir in [Some(&dir), tier.as_ref()].into_iter().flatten() {
            self.ground.remove_and_sync(dir)?;
        }
        let requests = self.collect_requests();
        let mut record = RunRecord {
            label,
            at_unix,
            ended: CommandOutcome::default(),
            measured: None,
            requests: BTreeMap::new(),
            failure: None,
        };
        match outcome {
            Ok((ended, measured)) => {
                record.ended = ended;
                record.measured = Some(measured);
                record.requests = requests?;
            }
            Err(cause) if cause.kind == Kind::Interrupted => return Err(cause),
            Err(cause) => record.failure = Some(cause.message),
        }
        Ok(record)
    }

    /// The tier of a covered run whose rules need one.
    fn create_tier(&self, workload: &Workload, label: &RunLabel) -> Result<Option<PathBuf>> {
        let made = match (label.arm, workload.layout) {
            (Arm::Bare, _)
            | (_, FileLayout::Plain | FileLayout::Unmounted | FileLayout::Watched) => {
                return Ok(None);
            }
            (_, FileLayout::WholeFolder(TierMedium::Memory)) => {
                self.ground.create_memory_directory(label.who)
            }
            (_, FileLayout::Packed | FileLayout::WholeFolder(TierMedium::SameFileSystem)) => {
                self.ground.create_run_directory(label.who)
            }
        };
        made.map(Some)
    }

    fn attempt_run(
        &self,
        workload: &Workload,
        label: &RunLabel,
        dir: &Path,
        tier: Option<&Path>,
        run_file: &Path,
    ) -> Result<(CommandOutcome, Measurement)> {
        let (who, arm) = (label.who, label.arm);
        let scratch = &self.ground.scratch;
        let folder = workload.layout.work_directory();
        let is_whole = matches!(workload.layout, FileLayout::WholeFolder(_));
        let recorder = match workload.layout {
            FileLayout::Unmounted => Some("bpf"),
            FileLayout::Watched => Some("notify"),
            _ => None,
        };
        let options = match tier {
            None => recorder.map_or_else(Vec::new, |name| vec!["--recorder".into(), name.into()]),
            Some(tier) if is_whole => forebay_command::whole_folder_options(folder, tier, scratch)?,
            Some(tier) => forebay_command::packed_options(tier, scratch)?,
        };
        let way = if workload.over_uring { "uring" } else { "device" };
        let options = match self.forebay.shim || recorder.is_some() {
            true => options,
            false => [options, vec!["--transport".into(), way.into()]].concat(),
        };
        if is_whole {
            let folder = dir.join(folder);
            std::fs::create_dir(&folder).with_context("create", &folder)?;
            self.ground.hand_over(&folder, who)?;
        }
        // Who is to see packed files needs a run, here one that is not measured.
        let unmeasured = scratch.join("unmeasured.run");
        let beside = if tier.is_some() { arm } else { Arm::Bare };
        let beside = self.forebay.command_prefix(beside, &options, &unmeasured);
        let step = |stage| {
            let words = [beside.clone(), self.work_command(workload, stage, &[], &[])].concat();
            let ended = self.prepare_launch(who, dir, words)?.run_expecting_success();
            let _ = std::fs::remove_file(&unmeasured);
            ended
        };
        if !is_whole {
            step("setup")?;
        }
        host_info::sync_file_system(dir)?;
        if workload.cold {
            host_info::drop_caches()?;
        }
        let result = self.ground.scratch.join("result.json");
        let _ = std::fs::remove_file(&result);
        let prefix = self.forebay.command_prefix(arm, &options, run_file);
        let to: [OsString; 2] = ["--result".into(), result.clone().into()];
        let words = if workload.starts_runs {
            self.work_command(workload, "run", &to, &prefix)
        } else {
            let stage = if is_whole { "all" } else { "run" };
            [fill_run_number(&prefix), self.work_command(workload, stage, &to, &[])].concat()
        };
        let ended = self.prepare_launch(who, dir, words)?.run_expecting_success()?;
        let text = std::fs::read_to_string(&result)?;
        let measured: Measurement = serde_json::from_str(&text).map_err(std::io::Error::from)?;
        let hides = !workload.starts_runs && !self.forebay.shim && !is_whole && recorder.is_none();
        let expects_cover = arm != Arm::Bare && hides;
        if measured.on_fuse != expects_cover {
            let seen = if measured.on_fuse { "covered" } else { "not covered" };
            return Err(Error::check_failed(format!(
                "the {arm} run saw a directory that is {seen}"
            )));
        }
        if is_whole {
            return Ok((ended, measured));
        }
        step("verify")?;
        if tier.is_some() && !self.forebay.shim && has_files(dir)? {
            return Err(Error::check_failed(
                "files that were to be packed are in place".to_owned(),
            ));
        }
        Ok((ended, measured))
    }

    fn work_command(
        &self,
        workload: &Workload,
        stage: &str,
        more: &[OsString],
        prefix: &[OsString],
    ) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![self.own.clone().into(), "work".into()];
        let place = workload.layout.work_directory();
        words.extend([workload.name.into(), place.into(), "--stage".into(), stage.into()]);
        words.extend(["--scale".into(), self.options.scale.to_string().into()]);
        words.extend_from_slice(more);
        if !prefix.is_empty() {
            words.push("--".into());
            words.extend_from_slice(prefix);
        }
        words
    }

    fn prepare_launch(
        &self,
        who: RunUser,
        dir: &Path,
        words: Vec<OsString>,
    ) -> Result<MeasuredCommand> {
        Ok(MeasuredCommand {
            words,
            dir: dir.to_owned(),
            uid: self.ground.launch_uid(who),
            variables: self.ground.environment_for(who)?,
            log: self.ground.scratch.join("log"),
            limit_s: 300,
        })
    }

    /// Sums the requests of all run files of this run, and removes them.
    fn collect_requests(&self) -> Result<BTreeMap<String, u64>> {
        let mut sum = BTreeMap::new();
        for entry in std::fs::read_dir(&self.ground.scratch)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with("micro-") {
                let path = entry.path();
                if path.extension().is_some_and(|ending| ending == "run") {
                    for (kind, count) in request_counts::count_requests(&path)? {
                        *sum.entry(kind).or_default() += count;
                    }
                }
                let _ = std::fs::remove_file(&path);
            }
        }
        Ok(sum)
    }
}

/// True when a file is in place, in the directory itself or one below.
fn has_files(dir: &Path) -> Result<bool> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        // Forebay's own directory is none of the workload's.
        if entry.file_name() == ".forebay" {
            continue;
        }
        if !entry.file_type()?.is_dir() || has_files(&entry.path())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The prefix of a single run: its number is 0.
fn fill_run_number(prefix: &[OsString]) -> Vec<OsString> {
    prefix.iter().map(|word| word.to_string_lossy().replace("{}", "0").into()).collect()
}

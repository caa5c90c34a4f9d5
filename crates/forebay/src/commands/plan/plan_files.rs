//! Writes what a plan comes to: rules, what `forebay explain` tells, settings for engines.

use std::path::{Path, PathBuf};

use forebay_plan::emit::{ENGINES, EmitContext, EmitTarget, render_rules};
use forebay_plan::report::Plan;
use forebay_plan::whole_folders::ProposedFolder;
use forebay_plan::{Choice, Outcome};

use super::plan_inputs::PlanInputs;
use super::{Args, NO_PLAN};
use crate::exit::CommandError;
use crate::output::{OutputKind, OutputTarget, UNSEALED, seal_text};
use crate::placement::check_rules;

/// Where they go. Of rules that go into a pipe nothing stands beside.
pub(super) struct PlanFiles<'a> {
    path: &'a Path,
    rules: OutputTarget,
    told: Option<OutputTarget>,
    engines: Vec<(&'static EmitTarget, OutputTarget)>,
}

impl<'a> PlanFiles<'a> {
    /// All of them, before anything is planned.
    pub(super) fn claim_all(path: &'a Path, args: &Args) -> Result<PlanFiles<'a>, CommandError> {
        let claim = |path: &Path| OutputTarget::claim(path, OutputKind::Text, args.force);
        let rules = claim(path)?;
        let is_stream = matches!(rules, OutputTarget::Stream(_));
        if is_stream && !args.emit.is_empty() {
            let why = format!("{}: --emit writes beside a file, and this is none", path.display());
            return Err(CommandError::new(NO_PLAN, why, "name a file after -o"));
        }
        let told = (!is_stream).then(|| claim(&path_beside(path, ".plan.json"))).transpose()?;
        let wanted =
            ENGINES.iter().filter(|engine| args.emit.iter().any(|name| name == engine.name));
        let engines = wanted.map(|engine| {
            let file = path_beside(path, engine.suffix);
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder).map_err(|error| write_error(folder, &error))?;
            }
            Ok((engine, claim(&file)?))
        });
        let engines = engines.collect::<Result<_, CommandError>>()?;
        Ok(PlanFiles { path, rules, told, engines })
    }

    /// Writes all; a line about each. Of the outcomes the second is that of one pipeline alone.
    pub(super) fn write_all(
        &self,
        args: &Args,
        ground: &PlanInputs,
        (choice, whole_folders): (&Choice, &[ProposedFolder]),
        (outcome, alone): (&Outcome, &Outcome),
        plan: &Plan,
    ) -> Result<Vec<String>, CommandError> {
        let header = header_lines(self.path, plan);
        let emission = EmitContext {
            site: &ground.site,
            workload: &ground.workload,
            choice,
            whole_folders,
            outcome,
            alone,
            samples: args.samples,
            header: &header,
        };
        let text = render_rules(&emission).map_err(|why| {
            let next = "this is a limit of rules: they go by names; --json has the plan itself";
            CommandError::new(NO_PLAN, format!("the plan can't be said in rules: {why}"), next)
        })?;
        // What is written can be run: whoever obeys a plan learns of its flaws now, not then.
        let missing = check_rules(&args.site, self.path, &text).map_err(|why| {
            let next = "mend the site file (a tier that files live on needs a path), or leave -o \
                        out: the plan is told without rules";
            let why = format!("`forebay run` would refuse the rules of this plan: {why}");
            CommandError::new(NO_PLAN, why, next)
        })?;
        self.rules.write(seal_text(text).as_bytes())?;
        let Some(place) = &self.told else { return Ok(Vec::new()) };
        let json = serde_json::to_string_pretty(plan).expect("a plan is plain data");
        let by = format!("{{\n  \"made_by\": \"forebay plan; {UNSEALED}\",");
        place.write(seal_text(json.replacen('{', &by, 1) + "\n").as_bytes())?;
        let (path, told) = (self.path.display(), path_beside(self.path, ".plan.json"));
        let mut lines = vec![format!("Rules: {path}. Reasons: forebay explain {}", told.display())];
        lines.extend(missing.iter().map(|tier| {
            format!("Not on this machine: {tier}. `forebay run` needs it where it runs.")
        }));
        for (engine, place) in &self.engines {
            place.write(seal_text(engine.render_text(&emission)).as_bytes())?;
            let file = path_beside(self.path, engine.suffix);
            lines.push(format!("For {}: {} ({})", engine.name, file.display(), engine.usage));
        }
        Ok(lines)
    }
}

/// What stands on top of each file.
fn header_lines(path: &Path, plan: &Plan) -> Vec<String> {
    let mut header = vec![
        format!(
            "Made by `forebay plan` {} ({UNSEALED}) from {}",
            env!("CARGO_PKG_VERSION"),
            plan.runs.join(", ")
        ),
        format!("for {}, goal {}, samples {}.", plan.site, plan.goal, plan.samples),
        format!("Use: forebay run --site {} --rules {} -- COMMAND", plan.site, path.display()),
        format!("Reasons: forebay explain {}", path_beside(path, ".plan.json").display()),
    ];
    let figures = &plan.chosen;
    let usd = figures.per_sample_usd.map(|usd| format!(", {usd} a sample")).unwrap_or_default();
    header.push(format!(
        "Predicted: {} for {} at a time{usd}; the model may be wrong by {:.0} %.",
        figures.makespan_s,
        plan.setting.pipelines,
        figures.error.max(plan.error) * 100.0
    ));
    for (pool, bytes) in &plan.setting.pools {
        header.push(format!("The site file must give {} bytes to pool {pool}.", bytes.get()));
    }
    // A name may hold anything; a comment is one line.
    header.into_iter().map(|line| line.replace(char::is_control, "?")).collect()
}

/// `rules.toml` and `.plan.json` is `rules.plan.json`.
pub(in crate::commands) fn path_beside(path: &Path, suffix: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_owned();
    let mut name = stem;
    name.push(suffix);
    path.with_file_name(name)
}

fn write_error(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::new(
        NO_PLAN,
        format!("{}: {error}", path.display()),
        "write to a directory that is there and yours",
    )
}

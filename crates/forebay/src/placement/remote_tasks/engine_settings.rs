//! What an engine will do, asked of itself: `nextflow config -flat` knows of includes, profiles and
//! the user's own configuration. Snakemake has no such command: its profiles are looked up where it
//! looks, and the variables that both obey are read.

use std::env::var_os;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// An engine that takes longer to tell of its configuration is not waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks whether it has told.
const LOOK: Duration = Duration::from_millis(20);

/// The configuration of an engine that is started as `program` with these words.
pub(super) fn engine_configuration(engine: &str, program: &[u8], words: &[Vec<u8>]) -> String {
    let words: Vec<&OsStr> = words.iter().map(|word| OsStr::from_bytes(word)).collect();
    match engine {
        "nextflow" => {
            let asked = ask_nextflow(OsStr::from_bytes(program), &words);
            let mut text = asked.unwrap_or_else(|| join_file_texts(&nextflow_config_files(&words)));
            // It is for processes that nothing else is said of.
            let executor = var_os("NXF_EXECUTOR").unwrap_or_default();
            text.push_str(&format!("\nexecutor.name = '{}'\n", executor.to_string_lossy()));
            text
        }
        "snakemake" => join_file_texts(&snakemake_profile_files(&words)),
        _ => String::new(),
    }
}

/// `None`: it can't tell, or it takes too long.
fn ask_nextflow(program: &OsStr, words: &[&OsStr]) -> Option<String> {
    // Else the question would take the place of the log of the last run.
    let logs = std::env::temp_dir().join(format!("forebay-asks-{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).create(&logs).ok()?;
    let told = config_of_nextflow(program, words, &logs);
    // A log that is left over harms nobody.
    let _ = std::fs::remove_dir_all(&logs);
    told
}

fn config_of_nextflow(program: &OsStr, words: &[&OsStr], logs: &Path) -> Option<String> {
    let after = |names: &[&str]| {
        let pairs = words.windows(2).filter(|pair| names.iter().any(|name| pair[0] == *name));
        pairs.map(|pair| (pair[0], pair[1])).collect::<Vec<_>>()
    };
    let mut command = Command::new(program);
    command.arg("-log").arg(logs.join("nextflow.log"));
    for (name, file) in after(&["-c", "-config", "-C"]) {
        command.args([if name == "-config" { OsStr::new("-c") } else { name }, file]);
    }
    command.args(["config", "-flat"]);
    for (_, profile) in after(&["-profile"]) {
        command.args([OsStr::new("-profile"), profile]);
    }
    command.args(after(&["run"]).iter().map(|(_, project)| project).filter(|p| !is_option(p)));
    // To a file: a pipe would take a thread to read it in time, and who starts a run forks.
    let told = logs.join("told");
    let output = std::fs::File::create_new(&told).ok()?;
    command.stdin(Stdio::null()).stdout(output).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let began = Instant::now();
    let ended = loop {
        if let Some(ended) = child.try_wait().ok()? {
            break ended;
        }
        if began.elapsed() > PATIENCE {
            // It may have ended by itself just now.
            let _ = child.kill();
            break child.wait().ok()?;
        }
        std::thread::sleep(LOOK);
    };
    let text = std::fs::read(told).ok().filter(|_| ended.success())?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

fn is_option(word: &OsStr) -> bool {
    word.as_bytes().starts_with(b"-")
}

/// Files that Nextflow would read, with those that they include.
fn nextflow_config_files(words: &[&OsStr]) -> Vec<PathBuf> {
    let named =
        words.windows(2).filter(|pair| ["-c", "-C", "-config"].iter().any(|c| pair[0] == *c));
    let home =
        var_os("NXF_HOME").map(PathBuf::from).or_else(|| Some(home_directory()?.join(".nextflow")));
    let mut files: Vec<PathBuf> = named.map(|pair| PathBuf::from(pair[1])).collect();
    files.push(PathBuf::from("nextflow.config"));
    files.extend(home.map(|home| home.join("config")));
    let mut at = 0;
    while let Some(file) = files.get(at).cloned() {
        at += 1;
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        for line in text.lines() {
            let Some(rest) = line.trim().strip_prefix("includeConfig") else { continue };
            let name = rest.trim_matches(|c: char| c.is_whitespace() || "'\"()".contains(c));
            let included = file.parent().unwrap_or(Path::new("")).join(name);
            if !files.contains(&included) {
                files.push(included);
            }
        }
    }
    files
}

/// Files of the profiles that Snakemake would take.
fn snakemake_profile_files(words: &[&OsStr]) -> Vec<PathBuf> {
    let option = |name: &str| {
        let pair = words.windows(2).find(|pair| pair[0] == name).map(|pair| PathBuf::from(pair[1]));
        pair.or_else(|| {
            let told = |word: &&OsStr| {
                word.as_bytes()
                    .strip_prefix(format!("{name}=").as_bytes())
                    .map(OsStr::from_bytes)
                    .map(PathBuf::from)
            };
            words.iter().find_map(told)
        })
    };
    let profile = option("--profile").or_else(|| var_os("SNAKEMAKE_PROFILE").map(PathBuf::from));
    let mut folders: Vec<PathBuf> = Vec::new();
    if let Some(profile) = profile {
        let own = var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        let own = own.or_else(|| Some(home_directory()?.join(".config")));
        let shared = var_os("XDG_CONFIG_DIRS").unwrap_or_else(|| "/etc/xdg".into());
        let bases = own.into_iter().chain(std::env::split_paths(&shared));
        folders.extend(bases.map(|base| base.join("snakemake").join(&profile)));
        folders.push(profile);
    }
    match option("--workflow-profile") {
        Some(profile) => folders.push(profile),
        None => {
            folders.extend(["profiles/default", "workflow/profiles/default"].map(PathBuf::from))
        }
    }
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok());
    let files = entries.flat_map(|entries| entries.flatten().map(|entry| entry.path()));
    // `config.yaml`, or `config.v8+.yaml` for later versions.
    files
        .filter(|file| {
            let name = file.file_name().unwrap_or_default().as_bytes();
            name.starts_with(b"config") && (name.ends_with(b".yaml") || name.ends_with(b".yml"))
        })
        .collect()
}

fn join_file_texts(files: &[PathBuf]) -> String {
    let texts = files.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    texts.collect::<Vec<_>>().join("\n")
}

fn home_directory() -> Option<PathBuf> {
    var_os("HOME").map(PathBuf::from)
}

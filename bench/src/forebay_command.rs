//! How the product is started: the one place that knows the command line of `forebay run`.

use crate::error::{Error, ErrorContext, Kind, Result};
use crate::run_directories::RunDirectories;
use crate::saved_results::Arm;
use crate::shuffle::fnv64;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The binary under test, pinned for the session.
#[derive(Debug)]
pub struct ForebayBinary {
    program: PathBuf,
    /// Names the binary by its bytes.
    pub build: String,
    /// It is a stand-in that covers nothing; its figures say so.
    pub shim: bool,
}

impl ForebayBinary {
    /// Copies `program` to the scratch directory.
    pub fn pin_binary(program: &Path, ground: &RunDirectories, shim: bool) -> Result<Self> {
        if !program.is_file() {
            let where_ = program.display();
            let next = "cargo build --release -p forebay, or --forebay PATH";
            return Err(Error::new(Kind::Usage, format!("no binary at {where_}; next: {next}")));
        }
        let bytes = std::fs::read(program).with_context("read", program)?;
        let build = format!("{:016x}", fnv64(&bytes));
        Ok(Self { program: ground.copy_program(program, "forebay")?, build, shim })
    }

    /// The words that go before a command, with more options of the run; none for a bare run.
    pub fn command_prefix(&self, arm: Arm, options: &[OsString], run_file: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        if arm == Arm::Bare {
            return words;
        }
        words.push(self.program.clone().into());
        words.push("run".into());
        let of_arm: &[&str] = match arm {
            Arm::EveryRead => &["--trace", "every-read"],
            Arm::Bpf => &["--recorder", "bpf"],
            Arm::Notify => &["--recorder", "notify"],
            Arm::Bare | Arm::Covered | Arm::Rules => &[],
        };
        words.extend(of_arm.iter().map(OsString::from));
        words.extend_from_slice(options);
        words.extend(["-o".into(), run_file.into(), "--".into()]);
        words
    }
}

/// Options under which all files are packed in `tier`; what they name is written to `scratch`.
/// Packed files stay for the next run: bringing them home is not what is measured.
pub fn packed_options(tier: &Path, scratch: &Path) -> Result<Vec<OsString>> {
    let rule = "[[rule]]\nmatch = \"**\"\nhome = \"fast\"\nlayout = \"packed\"\nafter = \"keep\"\n";
    rule_options(tier, rule, scratch)
}

/// The same for a folder that is on `tier` as a whole. Nothing of it is kept.
pub fn whole_folder_options(folder: &str, tier: &Path, scratch: &Path) -> Result<Vec<OsString>> {
    let rule = format!(
        "[[rule]]\nmatch = \"{folder}/**\"\nhome = \"fast\"\nafter = \"discard\"\n\
         whole_folder = true\n"
    );
    rule_options(tier, &rule, scratch)
}

/// Options under which files go to `tier`, called `fast`, as `rule` says.
pub fn rule_options(tier: &Path, rule: &str, scratch: &Path) -> Result<Vec<OsString>> {
    let (site, rules) = (scratch.join("site.toml"), scratch.join("rules.toml"));
    let tiers = format!("[tier.fast]\npath = \"{}\"\nreach = \"node\"\n", tier.display());
    std::fs::write(&site, tiers).with_context("write", &site)?;
    std::fs::write(&rules, rule).with_context("write", &rules)?;
    Ok(vec!["--site".into(), site.into(), "--rules".into(), rules.into()])
}

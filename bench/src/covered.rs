//! How the product is started: the one place that knows the command line of `forebay run`.

use crate::error::{During, Error, Kind, Result};
use crate::ground::Ground;
use crate::record::Arm;
use crate::shuffle::fnv64;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The binary under test, pinned for the session.
#[derive(Debug)]
pub struct Forebay {
    program: PathBuf,
    /// Names the binary by its bytes.
    pub build: String,
    /// It is a stand-in that covers nothing; its figures say so.
    pub shim: bool,
}

impl Forebay {
    /// Copies `program` to the scratch directory.
    pub fn pin(program: &Path, ground: &Ground, shim: bool) -> Result<Self> {
        if !program.is_file() {
            let where_ = program.display();
            let next = "cargo build --release -p forebay, or --forebay PATH";
            return Err(Error::new(Kind::Usage, format!("no binary at {where_}; next: {next}")));
        }
        let bytes = std::fs::read(program).during("read", program)?;
        let build = format!("{:016x}", fnv64(&bytes));
        Ok(Self { program: ground.pin(program, "forebay")?, build, shim })
    }

    /// The words that go before a command; none for a bare run.
    pub fn prefix(&self, arm: Arm, run_file: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        if arm == Arm::Bare {
            return words;
        }
        words.push(self.program.clone().into());
        words.push("run".into());
        if arm == Arm::EveryRead {
            words.extend(["--trace".into(), "every-read".into()]);
        }
        words.extend(["-o".into(), run_file.into(), "--".into()]);
        words
    }
}

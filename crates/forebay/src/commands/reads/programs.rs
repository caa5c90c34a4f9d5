//! Programs of others, which read and write what Forebay does not: samtools and sra-tools, kept by
//! those who keep the formats. They are found in PATH and talk through pipes.

use std::ffi::OsString;
use std::io::{Read, Result as IoResult, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use crate::exit::CommandError;

/// Bytes of what a program says that are kept, and lines that are told.
const SAID: usize = 4096;
const LINES: usize = 3;

/// A program that has to be installed.
pub(super) struct ExternalProgram {
    name: &'static str,
    what_for: &'static str,
    install: &'static str,
}

pub(super) const SAMTOOLS: ExternalProgram = ExternalProgram {
    name: "samtools",
    what_for: "CRAM is read and written by it, and BAM in the order of a reference is collated",
    install: "`apt install samtools`, or `conda install -c bioconda samtools`",
};
pub(super) const FASTQ_DUMP: ExternalProgram = ExternalProgram {
    name: "fastq-dump",
    what_for: "archives of SRA are read by it",
    install: "`apt install sra-toolkit`, or `conda install -c bioconda sra-tools`",
};

/// A program that runs, and what it says.
#[derive(Debug)]
struct Running {
    name: &'static str,
    child: Child,
    words: Option<JoinHandle<String>>,
}

/// What a program writes. Its end is an error if the program failed.
#[derive(Debug)]
pub(super) struct ProgramOutput {
    running: Running,
    out: ChildStdout,
}

/// What a program is given to read.
#[derive(Debug)]
pub(super) struct ProgramInput {
    running: Running,
    to: Option<ChildStdin>,
}

impl ExternalProgram {
    pub(super) fn spawn_for_output(
        &self,
        args: &[OsString],
    ) -> Result<ProgramOutput, CommandError> {
        let mut running = self.spawn_program(args, Stdio::null(), Stdio::piped())?;
        let out = running.child.stdout.take().expect("it was piped");
        Ok(ProgramOutput { running, out })
    }

    pub(super) fn spawn_for_input(&self, args: &[OsString]) -> Result<ProgramInput, CommandError> {
        let mut running = self.spawn_program(args, Stdio::piped(), Stdio::null())?;
        let to = running.child.stdin.take();
        Ok(ProgramInput { running, to })
    }

    fn spawn_program(
        &self,
        args: &[OsString],
        stdin: Stdio,
        stdout: Stdio,
    ) -> Result<Running, CommandError> {
        let mut command = Command::new(self.name);
        command.args(args).stdin(stdin).stdout(stdout).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            let ExternalProgram { name, what_for, install } = self;
            match error.kind() {
                std::io::ErrorKind::NotFound => {
                    CommandError::new(1, format!("{name} is not in PATH: {what_for}"), *install)
                }
                _ => {
                    CommandError::new(1, format!("{name}: {error}"), "see that it can be executed")
                }
            }
        })?;
        let mut says = child.stderr.take().expect("it was piped");
        let words = std::thread::spawn(move || {
            let (mut said, mut piece) = (Vec::new(), [0; 1024]);
            while let Ok(got @ 1..) = says.read(&mut piece) {
                said.extend_from_slice(&piece[..got]);
                said.drain(..said.len().saturating_sub(SAID));
            }
            String::from_utf8_lossy(&said).into_owned()
        });
        Ok(Running { name: self.name, child, words: Some(words) })
    }
}

impl Running {
    /// Waits for its end, which is an error if it failed.
    fn wait_for_success(&mut self) -> IoResult<()> {
        let status = self.child.wait()?;
        if status.success() {
            return Ok(());
        }
        let said = self.words.take().and_then(|words| words.join().ok()).unwrap_or_default();
        let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        let said = crate::name_escaping::escape_name(
            lines[lines.len().saturating_sub(LINES)..].join("; ").as_bytes(),
        );
        Err(std::io::Error::other(format!("{} ended with {status}: {said}", self.name)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Read for ProgramOutput {
    fn read(&mut self, out: &mut [u8]) -> IoResult<usize> {
        let got = self.out.read(out)?;
        if got == 0 && !out.is_empty() {
            self.running.wait_for_success()?;
        }
        Ok(got)
    }
}

impl Write for ProgramInput {
    fn write(&mut self, bytes: &[u8]) -> IoResult<usize> {
        self.to.as_mut().map_or(Ok(0), |to| to.write(bytes))
    }

    fn flush(&mut self) -> IoResult<()> {
        self.to.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl ProgramInput {
    /// There is no more: waits until the program has done its work.
    pub(super) fn finish_input(mut self) -> IoResult<()> {
        self.to = None;
        self.running.wait_for_success()
    }
}

/// Words of a command line.
pub(super) fn argument_words<const N: usize>(words: [&str; N]) -> Vec<OsString> {
    words.into_iter().map(OsString::from).collect()
}

/// A path that no program takes for an option or for something else than a file.
pub(super) fn absolute_path(path: &Path) -> OsString {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).into_os_string()
}

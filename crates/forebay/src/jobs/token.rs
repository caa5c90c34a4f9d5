//! What a job is sent as, and by which program. Pure.

use std::ffi::OsStr;
use std::path::Path;

/// Slurm's programs that hand work over: Forebay stands in front of them.
pub(super) const STAND_INS: [&str; 2] = ["sbatch", "srun"];

/// Names the folder of the run in the environment of its command.
pub(super) const FOLDER_VARIABLE: &str = "FOREBAY_JOBS";

/// The program of Slurm's in whose place this one was started.
pub(crate) fn find_stand_in(called: &OsStr) -> Option<&'static str> {
    let name = Path::new(called).file_name()?;
    STAND_INS.into_iter().find(|known| name == *known)
}

/// Which program sent the job of this token.
pub(super) fn program_of_token(token: &str) -> Option<&'static str> {
    let name = token.split('-').next()?;
    let plain = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    STAND_INS.into_iter().find(|known| plain && name == *known)
}

#[cfg(test)]
mod tests {
    //! If these fail, the stand-in is taken for something else, or something else for it.
    use super::*;

    #[test]
    fn only_names_of_slurms_programs_are_stood_in_for() {
        assert_eq!(find_stand_in(OsStr::new("/x/bin/sbatch")), Some("sbatch"));
        assert_eq!(find_stand_in(OsStr::new("srun")), Some("srun"));
        assert_eq!(find_stand_in(OsStr::new("/usr/bin/forebay")), None);
        assert_eq!(program_of_token("sbatch-18a-7"), Some("sbatch"));
        assert_eq!(program_of_token("srun-18a-7"), Some("srun"));
        for token in ["", "x-1", "sbatch/../x-1", "forebay"] {
            assert_eq!(program_of_token(token), None, "{token}");
        }
    }
}

//! Requests that fail by no fault of who asked: each is counted and told, for programs say of them
//! what they like, or nothing.

use forebay_model::name_escaping::escape_name;
use rustix::io::Errno;

use super::abi::InHeader;
use super::opcodes::Opcode;
use super::session::Session;

/// Such errors. Others are answers: no such file, no permission, a lock that somebody has, no data
/// behind this place.
const FAILURES: [(Errno, &str); 10] = [
    (Errno::IO, "EIO"),
    (Errno::NOSPC, "ENOSPC"),
    (Errno::DQUOT, "EDQUOT"),
    (Errno::STALE, "ESTALE"),
    (Errno::NOMEM, "ENOMEM"),
    (Errno::MFILE, "EMFILE"),
    (Errno::NFILE, "ENFILE"),
    (Errno::TIMEDOUT, "ETIMEDOUT"),
    (Errno::REMOTEIO, "EREMOTEIO"),
    (Errno::NOBUFS, "ENOBUFS"),
];

/// The name of an error that is a failure.
pub(super) fn failure_name(error: Errno) -> Option<&'static str> {
    FAILURES.iter().find(|(known, _)| *known == error).map(|(_, name)| *name)
}

impl Session {
    /// A request was refused with such an error. No lock of its node is held any more.
    pub(super) fn report_failed_request(&self, header: &InHeader, error: Errno) {
        let Some(name) = failure_name(error) else { return };
        // What is stale was taken away by others, which happens where all is well.
        let is_stale = error == Errno::STALE;
        let at = (!is_stale).then(|| self.recorder.clock().now());
        self.recorder.live_counters().count_failure(name, at);
        let what = match Opcode::from_code(header.opcode).map_or("", |opcode| opcode.words) {
            "" => format!("request {} of", header.opcode),
            words => words.to_owned(),
        };
        let path = self.tree.native.node(header.nodeid);
        let path = path.map(|node| self.tree.native.path_of(&node)).unwrap_or_default();
        let path = if path.is_empty() { ".".to_owned() } else { escape_name(&path) };
        match is_stale {
            true => tracing::info!("{what} {path} failed for process {}: {error}", header.pid),
            false => tracing::warn!("{what} {path} failed for process {}: {error}", header.pid),
        }
    }
}

#[cfg(test)]
mod tests {
    //! If this fails, a full disk looks well, or each missing file like a broken one.
    use super::*;

    #[test]
    fn failures_are_told_from_answers() {
        assert_eq!(failure_name(Errno::IO), Some("EIO"));
        assert_eq!(failure_name(Errno::NOSPC), Some("ENOSPC"));
        for answer in [Errno::NOENT, Errno::ACCESS, Errno::EXIST, Errno::NOTEMPTY, Errno::NXIO] {
            assert_eq!(failure_name(answer), None);
        }
    }
}

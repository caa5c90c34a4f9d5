//! The gate of a mount: who serves a request is inside, and when it is shut nobody comes in.

use std::sync::Arc;

use super::session::Session;

impl Session {
    /// Ends mounts together, if nobody uses one of them: what is asked from now on is refused. No
    /// request is under way then, and none was refused if it is false.
    pub(crate) fn end_if_unused(sessions: &[Arc<Session>]) -> bool {
        let gates: Option<Vec<_>> = sessions.iter().map(|one| one.gate.try_write()).collect();
        let Some(mut gates) = gates else { return false };
        if sessions.iter().any(|one| one.native().has_open_handles()) {
            return false;
        }
        gates.iter_mut().for_each(|gate| **gate = true);
        true
    }
}

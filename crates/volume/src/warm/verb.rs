//! The verb `warm`: a peer wants files of a bucket to be here, and hears how far that is.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};

use super::WarmTrees;
use super::bringing::Bringing;
use forebay_peers::{AnswerStream, PeerAnswer, PeerRequest, PeerVerb, Refusal, RefusalKind};

/// Its name.
pub(crate) const WARM: &str = "warm";
/// Between two words on how far it is: so often that nobody takes this node for dead.
const EVERY: Duration = Duration::from_millis(500);

/// The question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WarmQuestion {
    /// Whose files.
    pub(super) url: String,
    /// Paths below it.
    pub(super) paths: Vec<Vec<u8>>,
}

/// Answers it, a line of JSON ([`super::WarmNode`]) each time, the last of which is over.
#[derive(Debug)]
pub(crate) struct WarmVerb {
    pub(crate) trees: Arc<WarmTrees>,
}

/// Ends with who listened.
struct Listened {
    bringing: Arc<Bringing>,
    ended: Arc<(Mutex<bool>, Condvar)>,
}

impl Drop for Listened {
    fn drop(&mut self) {
        self.bringing.cancel();
    }
}

impl PeerVerb for WarmVerb {
    fn answer(&self, question: PeerRequest) -> Result<PeerAnswer, Refusal> {
        let bad = |_| Refusal::new(RefusalKind::BadQuestion, "this is no question for files");
        let question: WarmQuestion = serde_json::from_slice(&question.body).map_err(bad)?;
        let found = self.trees.find(|tree| tree.url.as_ref() == Some(&question.url));
        let Some(tree) = found else {
            let why = format!("{} is not mounted there", question.url);
            return Err(Refusal::new(RefusalKind::NotServed, why));
        };
        let bringing = Arc::new(Bringing::new(""));
        let ended = Arc::<(Mutex<bool>, Condvar)>::default();
        let work = {
            let (bringing, ended) = (Arc::clone(&bringing), Arc::clone(&ended));
            move || {
                bringing.bring_paths(&tree, &question.paths);
                *ended.0.lock() = true;
                ended.1.notify_all();
            }
        };
        let began = std::thread::Builder::new().name("forebay-warm".into()).spawn(work);
        began.map_err(|error| Refusal::new(RefusalKind::Busy, error.to_string()))?;
        let listened = Listened { bringing, ended };
        let mut is_over = false;
        Ok(PeerAnswer::Stream(AnswerStream::new(None, move || {
            if is_over {
                return Ok(None);
            }
            let Listened { bringing, ended } = &listened;
            let mut has_ended = ended.0.lock();
            if !*has_ended {
                ended.1.wait_for(&mut has_ended, EVERY);
            }
            drop(has_ended);
            let state = bringing.state();
            is_over = state.is_over;
            let mut line = serde_json::to_vec(&state)?;
            line.push(b'\n');
            Ok(Some(Bytes::from(line)))
        })))
    }
}

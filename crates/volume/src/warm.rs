//! Bringing files of buckets to this machine, and to all peers, before programs ask for them.
//!
//! A daemon knows its trees ([`WarmTrees`]). Somebody on this machine asks at a door
//! (`warm::door`), and peers ask by a verb (`warm::verb`): both walk a tree (`warm::tree_walk`) and
//! have its backend bring the bytes (`warm::bringing`).

mod bringing;
mod door;
mod native_source;
mod source;
mod tree_walk;
mod verb;

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

pub(crate) use door::open_warm_socket;
pub use door::warm_files;
pub(crate) use source::{BytesHere, FoundFile, WarmSource};
pub(crate) use verb::{WARM, WarmVerb};

/// A tree that this daemon serves.
#[derive(Debug)]
pub(crate) struct WarmTree {
    /// Where it is seen.
    pub(crate) point: PathBuf,
    /// `s3://BUCKET/PREFIX` of what it shows, or the name of a shared volume, by which peers know it.
    pub(crate) url: Option<String>,
    pub(crate) source: Weak<dyn WarmSource>,
}

/// All of them, as soon as they are served.
#[derive(Debug, Default)]
pub(crate) struct WarmTrees(RwLock<Vec<Arc<WarmTree>>>);

impl WarmTrees {
    pub(crate) fn serve(&self, trees: impl IntoIterator<Item = WarmTree>) {
        self.0.write().extend(trees.into_iter().map(Arc::new));
    }

    fn find(&self, is_it: impl Fn(&WarmTree) -> bool) -> Option<Arc<WarmTree>> {
        self.0.read().iter().find(|tree| is_it(tree)).map(Arc::clone)
    }
}

/// How far a node is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmNode {
    /// Its name among the peers; empty: this node, which has none.
    pub name: String,
    /// Files that are here, of how many.
    pub files: (u64, u64),
    /// Bytes that are here, of how many.
    pub bytes: (u64, u64),
    /// Files that could not be brought.
    pub failed: u64,
    /// Why, of the first of them; or of all of this node.
    pub why: Vec<String>,
    /// It has done what it can.
    pub is_over: bool,
}

impl WarmNode {
    /// Nothing of it came, for this reason.
    fn failed_whole(name: &str, why: String) -> WarmNode {
        WarmNode {
            name: name.to_owned(),
            failed: 1,
            why: vec![why],
            is_over: true,
            ..WarmNode::default()
        }
    }
}

/// What is to be brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmRequest {
    /// The mount.
    pub point: PathBuf,
    /// Paths below it, without links; files or directories. An empty one is all.
    pub paths: Vec<Vec<u8>>,
    /// To this node alone.
    pub here: bool,
}

#[cfg(test)]
mod tests;

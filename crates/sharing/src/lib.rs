//! One volume that several nodes write. A [`SharedNode`] is one of them: it keeps in memory the names
//! of the folders that it holds, changes them at local speed, publishes them in the [book]
//! (forebay_book::Book), and asks other nodes for what they hold.
//!
//! It knows nothing of kernels, of TLS or of buckets: nodes speak by [`Messages`], time comes from
//! [`Time`], and whoever serves programs is told what they must not believe any longer
//! ([`KernelCaches`]). So all of it runs in one process, and a test decides what happens when.
//!
//! - Who makes a folder holds it. There names change without a message.
//! - Who looks into a folder that another node holds asks that node, which publishes first and answers
//!   then. Who wants to change it has it given up first.
//! - A publication is all that changed on a node since its last one, as one transaction.
//! - A node takes no changes and gives no answers once its lease may be over.

mod bodies;
mod environment;
mod locks;
mod messages;
mod node;
mod wire;

pub use bodies::BodyDirectory;
pub use environment::{
    KernelCaches, MachineTime, Messages, Neighbour, NoKernelCaches, ObjectStore, Time, Unanswered,
};
pub use locks::{Lock, LockFamily, LockKind, Unlocked};
pub use messages::{Answer, BYTES_MOST, Question};
pub use node::{
    AttributeChange, BytesPlace, IN_MEMORY_MOST, ListedName, NewFile, NodeCounts, NodeSetup,
    NodeStanding, RenameRule, Seen, SharedNode, TRUST,
};
pub use wire::{decode_answer, decode_question, encode_answer, encode_question};

/// What a request of a program can fail with.
pub type Result<T> = std::result::Result<T, rustix::io::Errno>;

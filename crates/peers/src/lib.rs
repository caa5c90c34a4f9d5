//! Nodes that ask each other for something: a list of them, what proves that one belongs to it, which
//! of them a thing is to be asked of, and one transport (HTTP/1.1 over TLS 1.3). What they ask for is
//! a verb ([`PeerVerb`]), of which nothing is known here. Callers wait; the runtime stays inside.
//!
//! - [`PeerToken`]: the secret that the nodes of a team share. Both sides of each connection prove by
//!   TLS that they know it; it is never sent.
//! - [`PeerList`], [`FixedPeers`], [`find_own_name`]: who there is, and which of them is this node.
//! - [`rank_peers`]: whom all nodes ask for the same thing.
//! - [`PeerHealth`]: who is away, why, and when it is asked again.
//! - [`PeerServer`] answers, [`PeerClient`] asks; each of its waits ends, and names who was waited for.

mod client;
mod health;
mod identity;
mod list;
mod ranking;
mod server;
mod token;
mod wire;

pub use client::{PeerClient, PeerError, PeerErrorKind, PeerReply, PeerWaits};
pub use health::{Attempt, AwayPeer, PeerHealth};
pub use list::{
    DEFAULT_PORT, FixedPeers, ListError, PeerList, PeerName, find_own_name, parse_peers,
};
pub use ranking::rank_peers;
pub use server::{AnswerStream, PeerAnswer, PeerRequest, PeerServer, PeerVerb, VerbTable};
pub use token::{PeerToken, TokenError};
pub use wire::{Refusal, RefusalKind};

#[cfg(test)]
mod tests;

//! What a run file tells about its owner, and what it keeps to itself: secrets in command lines are
//! always masked; command lines can be left out; names can be hashed.

mod name_hashing;
mod secrets;
mod siphash;

pub(crate) use name_hashing::NameHasher;
pub use secrets::mask_words;

/// What to keep of the words of command lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandPrivacy {
    /// Keep them, with secrets masked (passwords, tokens, keys, signatures).
    #[default]
    Masked,
    /// Leave them out (`--no-commands`).
    LeftOut,
}

/// A random value that keys the hashes of one anonymised run. It is never stored: who has the run
/// cannot test a guessed name against it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Salt(pub [u8; 16]);

impl std::fmt::Debug for Salt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Salt(not shown)")
    }
}

/// How private a run file is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Privacy {
    /// What to keep of command lines.
    pub commands: CommandPrivacy,
    /// Hash names of directories, files, samples, users and hosts (`--anonymise`).
    pub anonymise: Option<Salt>,
}

//! The secret that nodes share, from which both sides of a connection derive the same key.

use std::fmt;
use std::io::Read;
use std::num::NonZeroU32;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ring::pbkdf2;

/// Whoever connects sees the public key that comes of the token, and may try tokens at home. 24
/// characters that were drawn by lot are too many to try; a word is not.
const SHORTEST: usize = 24;
/// More is no token, but some other file.
const LONGEST: usize = 1024;
/// What one try costs (PBKDF2, RFC 8018): a node pays it when it starts.
const ROUNDS: NonZeroU32 = NonZeroU32::new(100_000).expect("it is not zero");
/// Tells these keys from all others that might be derived from the same secret.
const SALT: &[u8] = b"forebay peers, transport 1";

/// A secret of all nodes of a team. It is never shown, sent or written.
#[derive(Clone, PartialEq, Eq)]
pub struct PeerToken(String);

/// Why a token can't be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It can be guessed.
    #[error(
        "the peers' token has {0} characters, {SHORTEST} are the fewest (`openssl rand -hex 32` makes \
         one)"
    )]
    Short(usize),
    /// It is something else.
    #[error("the peers' token is no token: it has more than {LONGEST} characters, or spaces")]
    NoToken,
    /// Others can read it.
    #[error("{} can be read by others than its owner; `chmod 600` it", .0.display())]
    Open(PathBuf),
    /// It is somebody else's.
    #[error("{} belongs to another user", .0.display())]
    Foreign(PathBuf),
    /// It can't be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// Where it is.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
}

impl PeerToken {
    /// The token that a text is; space around it is none of it.
    ///
    /// # Errors
    /// When it is too short, or no token.
    pub fn parse(text: &str) -> Result<PeerToken, TokenError> {
        let token = text.trim();
        if token.len() > LONGEST || token.contains(char::is_whitespace) {
            return Err(TokenError::NoToken);
        }
        match token.chars().count() {
            short if short < SHORTEST => Err(TokenError::Short(short)),
            _ => Ok(PeerToken(token.to_owned())),
        }
    }

    /// That of a file which nobody else may read.
    ///
    /// # Errors
    /// When it can't be read, others can read it, or it is no token.
    pub fn read_file(path: &Path) -> Result<PeerToken, TokenError> {
        let failed = |error| TokenError::Unreadable { path: path.to_owned(), error };
        let file = std::fs::File::open(path).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(TokenError::Foreign(path.to_owned()));
        }
        if meta.mode() & 0o077 != 0 {
            return Err(TokenError::Open(path.to_owned()));
        }
        let mut text = String::new();
        file.take(2 * LONGEST as u64).read_to_string(&mut text).map_err(failed)?;
        PeerToken::parse(&text)
    }

    /// The seed of a signing key that who has the token has, too.
    pub(crate) fn derive_seed(&self) -> [u8; 32] {
        let mut seed = [0; 32];
        let secret = self.0.as_bytes();
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, ROUNDS, SALT, secret, &mut seed);
        seed
    }
}

impl fmt::Debug for PeerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PeerToken")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const GOOD: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn a_token_can_neither_be_guessed_nor_seen() {
        assert!(matches!(PeerToken::parse("secret"), Err(TokenError::Short(6))));
        assert!(matches!(PeerToken::parse(" \n"), Err(TokenError::Short(0))));
        assert!(matches!(PeerToken::parse(&"a ".repeat(40)), Err(TokenError::NoToken)));
        assert!(matches!(PeerToken::parse(&"a".repeat(2000)), Err(TokenError::NoToken)));
        let token = PeerToken::parse(&format!("{GOOD}\n")).expect("it is long enough");
        assert_eq!(token, PeerToken::parse(GOOD).expect("it is"));
        assert_eq!(format!("{token:?}"), "PeerToken");
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("token");
        assert!(matches!(PeerToken::read_file(&path), Err(TokenError::Unreadable { .. })));
        std::fs::write(&path, GOOD).expect("it is written");
        for (mode, is_good) in [(0o644, false), (0o640, false), (0o600, true), (0o400, true)] {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, permissions).expect("its mode is set");
            let read = PeerToken::read_file(&path);
            assert_eq!(read.is_ok(), is_good, "{mode:o}: {read:?}");
        }
    }

    #[test]
    fn each_token_has_a_key_of_its_own_the_same_each_time() {
        let seed = |text: &str| PeerToken::parse(text).expect("a token").derive_seed();
        assert_eq!(seed(GOOD), seed(GOOD));
        assert_ne!(seed(GOOD), seed("0123456789abcdef0123456789abcdee"));
    }
}

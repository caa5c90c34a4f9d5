//! What Forebay itself costs where it puts files: programs wait for it at each operation on a name,
//! and it asks the storage in place more than they do. A choice that leaves all files in place
//! needs no Forebay, and is simulated without; so are published studies, where something else moved
//! the files.

use super::ResolvedChoice;
use forebay_model::{Op, Seconds};

/// What Forebay costs beside what storage does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForebayOverhead {
    /// What one request takes on its way to Forebay and back.
    pub request: Seconds,
}

/// What Forebay asks of the storage in place when a program makes a file that a rule sends to a tier
/// as a plain one, beside the link that it makes there: whether the name is free, whether the
/// directory has an access control list, the new link and where it leads. Counted on an emulated
/// storage, at its server: 2 look-ups, 2 getattr, 1 getxattr, 1 symlink and 1 readlink a file, of
/// which programs ask for a look-up and a getattr, and the symlink takes the place of their create.
pub(super) const OF_TIERED: &[(Op, f64)] =
    &[(Op::Lookup, 1.0), (Op::Getattr, 1.0), (Op::Xattr, 1.0), (Op::Readlink, 1.0)];

/// What Forebay asks of the storage in place when a program makes a file that stays there, beside
/// the program's own create: the kernel opens what Forebay lends to it, the attributes of the new
/// file are asked for, and half of the names are looked up again before they are made. Counted at an
/// emulated server: 3,003 creates of one pipeline and 461 of another one brought 3,603 and 821 opens,
/// 2,460 and 454 getattr, 1,791 and 24 look-ups of names that are not there.
pub(super) const OF_IN_PLACE: &[(Op, f64)] =
    &[(Op::Open, 1.2), (Op::Getattr, 0.9), (Op::LookupFailed, 0.5)];

impl ResolvedChoice {
    /// Whether Forebay is needed for it.
    pub(crate) fn needs_forebay(&self) -> bool {
        self.of_class.iter().any(|home| home.row != self.project || home.cache.is_some())
    }
}

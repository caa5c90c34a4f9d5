//! Where the bytes of files can live, other than in a directory.

mod failed;
mod object;

pub use failed::Failed;
pub use object::Objects;

//! What native needs of the kernel's end of a mount, whichever way leads there.

use std::ffi::OsStr;
use std::fmt::Debug;
use std::io;
use std::os::fd::BorrowedFd;

/// The kernel's end of a mount: what it is told to forget, and files that it is lent.
pub(crate) trait Kernel: Debug + Send + Sync {
    /// Lends a file, which the kernel then reads and writes without asking; it is taken back on drop.
    ///
    /// # Errors
    /// EPERM without CAP_SYS_ADMIN, ELOOP when the file's own file system is stacked too deep,
    /// EOPNOTSUPP where the kernel has no passthrough.
    fn register_backing(&self, file: BorrowedFd<'_>) -> io::Result<Box<dyn Backing>>;

    /// Tells the kernel to drop attributes and, where `data`, cached pages of a node.
    fn invalidate_node(&self, node: u64, data: bool);

    /// Tells the kernel to forget what it knows of `name` in directory `parent`.
    ///
    /// This waits for the directory's lock in the kernel, so it must not run on the only thread
    /// that could answer a request holding that lock.
    fn invalidate_entry(&self, parent: u64, name: &OsStr);

    /// Tells the kernel to ask for `name` again before it believes it. It goes on knowing the file,
    /// by its number. Kernels before 6.2 can't do that: they believe it as long as they were told.
    ///
    /// This waits as [`Kernel::invalidate_entry`] does.
    fn expire_entry(&self, parent: u64, name: &OsStr);
}

/// A file that the kernel reads and writes without asking us.
pub(crate) trait Backing: Debug + Send + Sync {
    /// The number that an OPEN reply carries.
    fn id(&self) -> i32;
}

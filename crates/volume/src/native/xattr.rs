//! Extended attributes, symbolic links' targets, and the few ioctls that concern a file.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::{OFlags, XattrFlags, readlinkat, removexattr, setxattr};
use rustix::io::Errno;

use super::{Native, NodeDescriptor, Result};
use forebay_os::file_identity::{proc_fd_path, reopen_with_flags};

/// `FS_IOC_GETFLAGS` and its kin: what lsattr(1) and chattr(1) use. Each with the size it moves.
const FILE_FLAG_IOCTLS: [(u32, usize); 4] =
    [(0x8008_6601, 4), (0x4008_6602, 4), (0x801c_581f, 28), (0x401c_5820, 28)];

/// What the kernel asks for before the first write to a file, to have it taken away.
const CAPABILITIES: &CStr = c"security.capability";

impl NodeDescriptor {
    /// Whether the file was made a moment ago and can't have capabilities; believed once. The file
    /// system below takes those away itself that somebody outside gave it since.
    fn takes_lack_of_capabilities(&self) -> bool {
        match self {
            NodeDescriptor::Open(handle) => handle.lacks_capabilities.swap(false, Relaxed),
            NodeDescriptor::Pin(_) | NodeDescriptor::Fresh(_) => false,
        }
    }
}

impl Native {
    /// The value of an attribute, at most `size` bytes, or its length when `size` is 0.
    ///
    /// # Errors
    /// ENODATA, ERANGE, EOPNOTSUPP as getxattr(2) says.
    pub fn getxattr(
        &self,
        id: u64,
        name: &CStr,
        buffer: &mut Vec<u8>,
        size: usize,
    ) -> Result<usize> {
        if self.backend.hides_attribute(name.to_bytes()) {
            return Err(Errno::NODATA);
        }
        let held = self.in_place_descriptor(id, Errno::NODATA)?;
        if size == 0 && name == CAPABILITIES && held.takes_lack_of_capabilities() {
            return Err(Errno::NODATA);
        }
        buffer.clear();
        buffer.resize(size, 0);
        if let Some(open) = held.open_file() {
            // SAFETY: as below.
            return length_or_errno(unsafe {
                let value = buffer.as_mut_ptr().cast();
                libc::fgetxattr(open.as_raw_fd(), name.as_ptr(), value, size)
            });
        }
        let path = proc_fd_path(held.as_fd());
        // SAFETY: two strings and a buffer with its own length, all alive across the call.
        length_or_errno(unsafe {
            libc::getxattr(path.as_ptr(), name.as_ptr(), buffer.as_mut_ptr().cast(), size)
        })
    }

    /// A descriptor of a node that is in place; packed files have none of what it is for.
    fn in_place_descriptor(&self, id: u64, packed: Errno) -> Result<NodeDescriptor> {
        let node = self.node(id)?;
        match node.packed.get() {
            Some(_) => Err(packed),
            None => self.node_descriptor(&node),
        }
    }

    /// The names of all attributes, like [`Native::getxattr`].
    ///
    /// # Errors
    /// ERANGE as listxattr(2) says.
    pub fn listxattr(&self, id: u64, buffer: &mut Vec<u8>, size: usize) -> Result<usize> {
        if self.node(id)?.packed.get().is_some() {
            return Ok(0);
        }
        let held = self.node_descriptor(&self.node(id)?)?;
        buffer.clear();
        buffer.resize(size, 0);
        let path = proc_fd_path(held.as_fd());
        // SAFETY: as above.
        let length = length_or_errno(unsafe {
            libc::listxattr(path.as_ptr(), buffer.as_mut_ptr().cast(), size)
        })?;
        if self.knows_all_users() && self.backend.is_in_place() || size == 0 {
            return Ok(length);
        }
        // In a user namespace the kernel refuses to show access control lists (they may name users
        // that it can't); what can't be read is not listed either.
        let names = buffer[..length].split_inclusive(|byte| *byte == 0);
        let kept: Vec<u8> = names
            .filter(|name| self.knows_all_users() || !name.starts_with(b"system.posix_acl_"))
            .filter(|name| !self.backend.hides_attribute(name))
            .flatten()
            .copied()
            .collect();
        buffer[..kept.len()].copy_from_slice(&kept);
        Ok(kept.len())
    }

    /// Sets an attribute.
    ///
    /// # Errors
    /// EEXIST, ENODATA, ENOSPC, EOPNOTSUPP as setxattr(2) says.
    pub fn setxattr(&self, id: u64, name: &CStr, value: &[u8], flags: u32) -> Result<()> {
        if self.backend.hides_attribute(name.to_bytes()) {
            return Err(Errno::PERM);
        }
        let held = self.in_place_descriptor(id, Errno::OPNOTSUPP)?;
        let node = self.node(id)?;
        let _change = self.begin_change(&node, None);
        self.cancel_migration(&node);
        node.open
            .lock()
            .handles
            .iter()
            .for_each(|open| open.lacks_capabilities.store(false, Relaxed));
        setxattr(proc_fd_path(held.as_fd()), name, value, XattrFlags::from_bits_retain(flags))
    }

    /// Removes an attribute.
    ///
    /// # Errors
    /// ENODATA as removexattr(2) says.
    pub fn removexattr(&self, id: u64, name: &CStr) -> Result<()> {
        let held = self.in_place_descriptor(id, Errno::NODATA)?;
        let node = self.node(id)?;
        let _change = self.begin_change(&node, None);
        self.cancel_migration(&node);
        removexattr(proc_fd_path(held.as_fd()), name)
    }

    /// Where a symbolic link leads.
    ///
    /// # Errors
    /// EINVAL when it is none.
    pub fn readlink(&self, id: u64) -> Result<std::ffi::CString> {
        let held = self.in_place_descriptor(id, Errno::INVAL)?;
        readlinkat(held.as_fd(), c"", Vec::with_capacity(256))
    }

    /// File flags as chattr(1) sets them; other ioctls are refused.
    ///
    /// # Errors
    /// ENOTTY for an ioctl that does not concern files.
    pub fn ioctl(&self, id: u64, command: u32, input: &[u8], output: &mut [u8]) -> Result<()> {
        let Some((_, size)) = FILE_FLAG_IOCTLS.iter().find(|(known, _)| *known == command) else {
            return Err(Errno::NOTTY);
        };
        let held = self.in_place_descriptor(id, Errno::NOTTY)?;
        let file = reopen_with_flags(held.as_fd(), OFlags::RDONLY | OFlags::NONBLOCK)?;
        let mut argument = [0u8; 32];
        let given = input.len().min(*size);
        argument[..given].copy_from_slice(&input[..given]);
        // SAFETY: the four known commands move at most 28 bytes through a pointer to 32 of ours.
        let done = unsafe { libc::ioctl(file.as_raw_fd(), command as _, argument.as_mut_ptr()) };
        if done < 0 {
            return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO));
        }
        let returned = output.len().min(*size);
        output[..returned].copy_from_slice(&argument[..returned]);
        Ok(())
    }
}

/// A length, or the reason why not. (rustix asks for no length when the buffer is empty.)
fn length_or_errno(length: isize) -> Result<usize> {
    usize::try_from(length)
        .map_err(|_| Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}

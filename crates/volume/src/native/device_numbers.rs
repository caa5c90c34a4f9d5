//! Device numbers as the kernel sends and takes them.

/// The kernel's packed 32-bit device number (`new_encode_dev`) as makedev(3) has it.
pub(super) fn unpack_device(packed: u32) -> u64 {
    let major = (packed >> 8) & 0xfff;
    let minor = (packed & 0xff) | ((packed >> 12) & 0xfff00);
    rustix::fs::makedev(major, minor)
}

/// The inverse of [`unpack_device`], for replies.
pub(crate) fn pack_device(major: u32, minor: u32) -> u32 {
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_survive() {
        for (major, minor) in [(8, 1), (229, 0), (259, 70_000), (1, 3)] {
            let device = unpack_device(pack_device(major, minor));
            assert_eq!((rustix::fs::major(device), rustix::fs::minor(device)), (major, minor));
        }
    }
}

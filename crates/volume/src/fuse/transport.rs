//! The ways on which requests may come.

/// The way on which requests come. FORGET, INTERRUPT and notifications go through the device in any
/// case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Transport {
    /// Through io_uring where the kernel allows it and answers are quick, else through the device.
    #[default]
    Automatic,
    /// Through `/dev/fuse`.
    Device,
}

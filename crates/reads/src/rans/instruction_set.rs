//! By what means rANS is decoded; all give the same bytes.

/// By what means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstructionSet {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl InstructionSet {
    /// All that this machine can, the fastest last.
    pub(crate) fn all_supported() -> Vec<InstructionSet> {
        let mut ways = vec![InstructionSet::Scalar];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("popcnt") {
            ways.extend(is_x86_feature_detected!("avx2").then_some(InstructionSet::Avx2));
            ways.extend(is_x86_feature_detected!("avx512bw").then_some(InstructionSet::Avx512));
        }
        ways
    }
}

//! Processes that are met while they start.

/// A process that is seen with these words will soon have others: they are still its parent's, or
/// none, as in the middle of execve(2), where it has a new name already.
pub(super) fn is_starting(argv: &[Vec<u8>], above: Option<&[Vec<u8>]>) -> bool {
    argv.is_empty() || above == Some(argv)
}

#[cfg(test)]
mod tests {
    //! If this fails, a program that is met while it starts has no name for as long as it runs.
    use super::is_starting;

    #[test]
    fn a_process_that_is_met_in_the_middle_of_execve_is_looked_at_again() {
        let words = |text: &str| -> Vec<Vec<u8>> { text.split(' ').map(|w| w.into()).collect() };
        assert!(is_starting(&[], Some(&words("sh -c x"))), "no words yet");
        assert!(is_starting(&[], None));
        assert!(is_starting(&words("sh -c x"), Some(&words("sh -c x"))), "forked");
        assert!(!is_starting(&words("tail -f x"), Some(&words("sh -c x"))));
        assert!(!is_starting(&words("sh -c x"), None), "the first of all");
    }
}

//! Whether a store looks at conditions: without them two machines would write one history, each of
//! which is told that all is well.

use std::io::ErrorKind;

use bytes::Bytes;

use super::super::request::Bucket;
use super::BucketError;

/// Where it is tried; what is left of that is swept by a check, as what a file has lost.
const TRIED: &str = ".forebay/probe";

/// Writes an object twice on the condition that there is none, and removes it.
///
/// # Errors
/// `NoConditions`, or what the bucket says.
pub(super) fn probe_conditional_put(bucket: &dyn Bucket, me: &str) -> Result<(), BucketError> {
    let name = format!("{TRIED}/{me}");
    let create = |turn: u32| {
        let tag = format!("{me} {turn} 0.000000000 0.000000000");
        bucket.put_if_absent(&name, Bytes::from_static(b"is If-None-Match looked at?"), &tag)
    };
    let done = create(1).and_then(|()| create(2));
    let removed = bucket.delete_object(&name);
    match done {
        Ok(()) => Err(BucketError::NoConditions),
        Err(failed) if failed.kind == ErrorKind::AlreadyExists => Ok(removed?),
        Err(failed) if failed.why.contains("NotImplemented") => Err(BucketError::NoConditions),
        Err(failed) => Err(failed.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::memory::Memory;
    use super::*;

    #[test]
    fn a_store_is_tried_and_nothing_is_left_of_that() {
        let bucket = Memory::new();
        probe_conditional_put(&*bucket, "me").expect("it looks at conditions");
        // What one left that was killed.
        bucket.put_if_absent(".forebay/probe/me", Bytes::new(), "me 1").expect("made");
        probe_conditional_put(&*bucket, "me").expect("it looks at conditions");
        assert!(bucket.objects.lock().is_empty());
        bucket.ignores_conditions();
        let refused = probe_conditional_put(&*bucket, "me").expect_err("it does not");
        assert!(matches!(refused, BucketError::NoConditions), "{refused}");
        assert!(bucket.objects.lock().is_empty());
    }
}

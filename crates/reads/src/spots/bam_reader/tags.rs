//! Tags of a line of BAM (SAM specification, section 4.2.4), of which one is ours.

/// The tag in which [`crate::view`] keeps what of a name BAM has no place for.
pub(crate) const REST: &[u8; 3] = b"fcZ";

/// What our tag has, among those of a line.
pub(super) fn rest_of_name(mut tags: &[u8]) -> Option<&[u8]> {
    let text = |bytes: &[u8]| bytes.iter().position(|byte| *byte == 0);
    loop {
        let (head, rest) = tags.split_first_chunk::<3>()?;
        if head == REST {
            return rest.get(..text(rest)?);
        }
        let len = match head[2] {
            b'A' | b'c' | b'C' => 1,
            b's' | b'S' => 2,
            b'i' | b'I' | b'f' => 4,
            b'Z' | b'H' => text(rest)? + 1,
            b'B' => {
                let (&[sort, a, b, c, d], _) = rest.split_first_chunk::<5>()?;
                let each = match sort {
                    b'c' | b'C' => 1,
                    b's' | b'S' => 2,
                    _ => 4,
                };
                (u32::from_le_bytes([a, b, c, d]) as usize).checked_mul(each)?.checked_add(5)?
            }
            _ => return None,
        };
        tags = rest.get(len..)?;
    }
}

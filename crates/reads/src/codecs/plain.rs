//! The bytes as they are, where nothing makes them fewer.

use super::Codec;

pub(super) const CODEC: Codec = Codec {
    id: 0,
    name: "plain",
    encode: |raw, _| Some(raw.to_vec()),
    decode: |bytes, _| Ok(bytes.to_vec()),
};

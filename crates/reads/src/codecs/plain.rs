//! The bytes as they are, where nothing makes them fewer.

use super::{Codec, OpenColumn};

pub(super) const CODEC: Codec = Codec {
    id: 0,
    since: 1,
    name: "plain",
    encode: |raw, _| Some(raw.to_vec()),
    open: |bytes, _| Ok(OpenColumn::whole(bytes.to_vec())),
};

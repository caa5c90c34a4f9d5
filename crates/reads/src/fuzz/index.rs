//! A page of the index, as it is.

use super::{FuzzTarget, sample};
use crate::manifest::Stripe;
use crate::stripe_index::{append_group, parse_page};

pub(super) const TARGET: FuzzTarget = FuzzTarget { name: "index", feed, seeds };

fn feed(bytes: &[u8]) {
    for mates in [1, 2] {
        let _ = parse_page(bytes, &Stripe::default(), mates, usize::MAX >> 1);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let (spots, mates) = sample::encode_sample_pair();
    let mut page = Vec::new();
    append_group(&mut page, spots, &mates);
    append_group(&mut page, spots, &mates);
    vec![page]
}

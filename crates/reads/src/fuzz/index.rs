//! A page of the index, as it is.

use super::{Target, sample};
use crate::index::{groups, put_group};
use crate::manifest::Stripe;

pub(super) const TARGET: Target = Target { name: "index", feed, seeds };

fn feed(bytes: &[u8]) {
    for mates in [1, 2] {
        let _ = groups(bytes, &Stripe::default(), mates, usize::MAX >> 1);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let (spots, mates) = sample::pair();
    let mut page = Vec::new();
    put_group(&mut page, spots, &mates);
    put_group(&mut page, spots, &mates);
    vec![page]
}

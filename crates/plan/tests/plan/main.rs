//! Tests of learning, simulating and choosing, from outside: one program, so that it is linked once.

mod common;
mod copies;
mod drain;
mod engines;
mod genomon;
mod interruptions;
mod joined_removals;
mod laws;
mod limits;
mod simulate;

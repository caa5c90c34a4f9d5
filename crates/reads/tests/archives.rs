//! Archives from outside, as a program that uses this crate makes and reads them.

#[path = "archives/before.rs"]
mod before;
#[path = "archives/blank.rs"]
mod blank;
#[path = "archives/common.rs"]
mod common;
#[path = "archives/damage.rs"]
mod damage;
#[path = "archives/existing.rs"]
mod existing;
#[path = "archives/hostile.rs"]
mod hostile;
#[path = "archives/inputs.rs"]
mod inputs;
#[path = "archives/learned.rs"]
mod learned;
#[path = "archives/round_trip.rs"]
mod round_trip;
#[path = "archives/spots.rs"]
mod spots;

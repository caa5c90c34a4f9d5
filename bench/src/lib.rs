//! What Forebay costs, measured against the bare file system.
//!
//! It is a judge: it knows the command line and the run file of the product, and nothing of its
//! insides. `bench/README.md` says how to run it and how to read the tables.
//!
//! From the ground up: [`stats`], [`shuffle`], [`machine`]; [`measure`] and [`workloads`] do the
//! work; [`launch`] and [`ground`] start it somewhere; [`micro`] and [`pipelines`] order it about
//! and save [`record`]s; [`table`] judges them by [`targets`].

pub mod covered;
pub mod error;
pub mod ground;
pub mod interrupt;
pub mod launch;
pub mod machine;
pub mod measure;
pub mod micro;
pub mod pipelines;
pub mod record;
pub mod requests;
pub mod shuffle;
pub mod stats;
pub mod table;
pub mod targets;
pub mod workloads;

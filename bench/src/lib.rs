//! What Forebay costs, measured against the bare file system.
//!
//! It is a judge: it knows the command line and the run file of the product, and nothing of its
//! insides. `bench/README.md` says how to run it and how to read the tables.
//!
//! From the ground up: [`stats`], [`shuffle`], [`host_info`]; [`measure`] and [`workloads`] do the
//! work; [`launch`] and [`run_directories`] start it somewhere; [`micro`] and [`pipelines`] order
//! it about and save [`saved_results`]; [`markdown_tables`] judges them by [`targets`].

pub mod error;
pub mod forebay_command;
pub mod host_info;
pub mod interrupt;
pub mod launch;
pub mod markdown_tables;
pub mod measure;
pub mod micro;
pub mod pipelines;
pub mod request_counts;
pub mod run_directories;
pub mod saved_results;
pub mod shuffle;
pub mod stats;
pub mod targets;
pub mod workloads;

//! A volume in a bucket: its tree as a log of segments beside its plain objects, so that another
//! machine sees all that was made durable there. FORMATS.md draws each byte.

mod fetch;
mod local;
mod log;
#[cfg(test)]
mod memory;
mod record;
mod request;
mod scan;
mod segment;
mod ship;
mod tree;

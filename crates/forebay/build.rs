//! What `forebay --version` says: the commit and its day too, where who builds it names them, and for
//! which machine it was built, with a C library in it or beside it.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-env-changed=FOREBAY_COMMIT");
    let version = var("CARGO_PKG_VERSION").expect("cargo sets it");
    let commit = var("FOREBAY_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
    println!("cargo::rustc-env=FOREBAY_VERSION={version}{commit}");
    let target = var("TARGET").expect("cargo sets it");
    // Rust links musl statically unless it is told otherwise.
    let library = match var("CARGO_CFG_TARGET_ENV").as_deref() {
        Ok("musl") => "static",
        _ => "needs the C library of the system",
    };
    println!("cargo::rustc-env=FOREBAY_BUILT_FOR={target}, {library}");
}

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
    let features = var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    let library = match features.split(',').any(|feature| feature == "crt-static") {
        true => "static",
        false => "needs the C library of the system",
    };
    println!("cargo::rustc-env=FOREBAY_BUILT_FOR={target}, {library}");
}

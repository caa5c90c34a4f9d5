//! What `forebay --version` says: the commit and its day too, where who builds it names them.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-env-changed=FOREBAY_COMMIT");
    let version = var("CARGO_PKG_VERSION").expect("cargo sets it");
    let commit = var("FOREBAY_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
    println!("cargo::rustc-env=FOREBAY_VERSION={version}{commit}");
}

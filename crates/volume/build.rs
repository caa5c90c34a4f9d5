//! Compiles what the kernel executes for the recorder. Without clang the rest is built, and the
//! recorder says that it is missing.

// Cargo tells by the environment, and is told by lines.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "bpf/recorder.bpf.c";

fn main() {
    for file in [SOURCE, "bpf/kernel_types.h"] {
        println!("cargo:rerun-if-changed={file}");
    }
    println!("cargo:rerun-if-env-changed=FOREBAY_CLANG");
    let object =
        PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("recorder.bpf.o");
    if let Err(why) = compile(&object) {
        println!("cargo:warning=built without the eBPF recorder: {why}");
        // What is not there counts as changed: the next build looks for clang again.
        println!("cargo:rerun-if-changed=bpf/built-without-clang");
        // An empty object says so at run time.
        fs::write(&object, []).expect("OUT_DIR can be written");
    }
}

fn compile(object: &Path) -> Result<(), String> {
    let target = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => "-D__TARGET_ARCH_x86",
        Ok("aarch64") => "-D__TARGET_ARCH_arm64",
        other => return Err(format!("not for this processor: {other:?}")),
    };
    let named = env::var("FOREBAY_CLANG").ok();
    let usual = ["clang", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14"];
    let mut names: Vec<&str> = named.as_deref().into_iter().collect();
    if names.is_empty() {
        names.extend(usual);
    }
    for name in names {
        let flags = ["-O2", "-g", "-mcpu=v3", "-target", "bpf", "-Wall", "-Werror", target];
        let made = Command::new(name).args(flags).args(["-c", SOURCE, "-o"]).arg(object).output();
        match made {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => {
                return Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
            }
            Err(_) => {}
        }
    }
    Err("no clang was found (apt-get install clang)".to_owned())
}

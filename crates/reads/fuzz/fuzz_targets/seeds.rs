//! Writes what is worth changing: `seeds DIR` makes a folder in DIR for each target.

use std::fs;
use std::path::PathBuf;

fn main() {
    let dir = PathBuf::from(std::env::args_os().nth(1).expect("a directory"));
    for target in forebay_reads::fuzz::TARGETS {
        let folder = dir.join(target.name);
        fs::create_dir_all(&folder).expect("a folder");
        for (nth, seed) in (target.seeds)().iter().enumerate() {
            fs::write(folder.join(format!("seed-{nth}")), seed).expect("a seed");
        }
    }
}

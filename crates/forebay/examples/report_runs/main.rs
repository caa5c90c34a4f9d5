//! Writes the run files that tests of the report look at, into a directory: `cargo run -p forebay
//! --example report_runs DIR [NAME...]`. Without names all are written. They are made up, and the
//! same each time.

// Tests take it by its path, too: its own modules lie beside it.
#[path = "made.rs"]
mod made;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(folder) = words.next() else {
        eprintln!("usage: report_runs DIR [NAME...]");
        return ExitCode::from(2);
    };
    let mut wanted: Vec<String> = words.collect();
    if wanted.is_empty() {
        wanted = made::ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    }
    for name in wanted {
        match made::named(Path::new(&folder), &name) {
            Some(Ok(path)) => println!("{}", path.display()),
            Some(Err(error)) => {
                eprintln!("{name}: {error}");
                return ExitCode::FAILURE;
            }
            None => {
                eprintln!("there is no run called {name}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}

//! Writes the run files that tests of the report look at, into a directory: `cargo run -p forebay
//! --example report_runs DIR [NAME...]`. Without names all are written. They are made up, and the
//! same each time.

mod made;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(folder) = words.next() else {
        eprintln!("usage: report_runs DIR [NAME...]");
        return ExitCode::from(2);
    };
    let wanted: Vec<String> = words.collect();
    for (name, make) in made::ALL {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        let (header, facts) = make();
        let path = Path::new(&folder).join(format!("{name}.run"));
        if let Err(error) = made::write(&path, header, &facts) {
            eprintln!("{}: {error}", path.display());
            return ExitCode::FAILURE;
        }
        println!("{}", path.display());
    }
    ExitCode::SUCCESS
}

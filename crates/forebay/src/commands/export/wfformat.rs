//! WfFormat of WfCommons.

use std::path::PathBuf;

use forebay_plan::import::write_wfformat;

use super::{Args, Format, written};
use crate::exit::Stop;
use crate::{say, scenario};

pub(super) const FORMAT: Format = Format { name: "wfformat", write };

fn write(args: &Args) -> Result<(), Stop> {
    let [what] = args.what.as_slice() else {
        return Err(Stop::new(
            1,
            "WfFormat tells one workflow",
            "name one run, or another --format",
        ));
    };
    let work = scenario::workload(what)?;
    let text = write_wfformat(&work) + "\n";
    let Some(path) = &args.output else {
        say::print(&text);
        return Ok(());
    };
    let same = |path: &PathBuf| path.canonicalize().ok();
    if same(path).is_some() && same(path) == same(what) {
        let message = format!("{} would take its own place", path.display());
        return Err(Stop::new(1, message, "name another file after -o"));
    }
    written(path, &text)?;
    let (tasks, path) = (work.tasks.len(), path.display());
    say::note(&format!("{tasks} tasks as {} are in {path}", args.format));
    Ok(())
}

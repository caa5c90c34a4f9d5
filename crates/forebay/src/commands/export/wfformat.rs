//! WfFormat of WfCommons.

use forebay_plan::import::to_wfformat_json;

use super::{Args, Format, claim_output};
use crate::exit::CommandError;
use crate::output::{UNSEALED, seal_text};
use crate::{console, scenario};

pub(super) const FORMAT: Format = Format { name: "wfformat", write: export_wfformat };

fn export_wfformat(args: &Args) -> Result<(), CommandError> {
    let [what] = args.what.as_slice() else {
        return Err(CommandError::new(
            1,
            "WfFormat tells one workflow",
            "name one run, or another --format",
        ));
    };
    let place = args.output.as_ref().map(|path| claim_output(path, args)?.apart_from(&args.what));
    let place = place.transpose()?;
    let work = scenario::read_workload(what)?;
    let text = seal_text(to_wfformat_json(&work, UNSEALED) + "\n");
    let (Some(path), Some(place)) = (&args.output, place) else {
        console::print(&text);
        return Ok(());
    };
    place.write(text.as_bytes())?;
    let (tasks, path) = (work.tasks.len(), path.display());
    console::note(&format!("{tasks} tasks as {} are in {path}", args.format));
    Ok(())
}

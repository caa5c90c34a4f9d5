//! A trace for OpenTelemetry: OTLP in JSON, one span for the run and one for each task. It sends
//! nothing: a collector takes each line of the file as the body of one request.
//!
//! Sources of the form: opentelemetry-proto (`ExportTraceServiceRequest`), OTLP's specification
//! ("JSON Protobuf Encoding", "File Exporter"), and the semantic conventions for processes and for
//! spans of command-line programs.

mod attributes;
mod message;
mod parents;
mod request_lines;
mod spans;

use std::path::Path;

use forebay_model::Run;

use super::{Args, Format, claim_output};
use crate::console;
use crate::exit::CommandError;
use crate::output::seal_text;
use request_lines::RequestLines;
use spans::RunTrace;

pub(super) const FORMAT: Format = Format { name: "otlp", write: export_otlp };

fn export_otlp(args: &Args) -> Result<(), CommandError> {
    let place = args.output.as_ref().map(|path| claim_output(path, args)?.apart_from(&args.what));
    let place = place.transpose()?;
    let mut lines = RequestLines::default();
    for path in &args.what {
        read_trace(path)?.write_spans(&mut lines);
    }
    let (spans, requests) = (lines.spans(), lines.requests());
    let text = seal_text(lines.into_text());
    let (Some(path), Some(place)) = (&args.output, place) else {
        console::print(&text);
        return Ok(());
    };
    place.write(text.as_bytes())?;
    let path = path.display();
    console::note(&match requests {
        1 => format!("{spans} spans are in {path}, as one request"),
        _ => format!(
            "{spans} spans are in {path}, as {requests} requests, each a line: send them one by one"
        ),
    });
    Ok(())
}

fn read_trace(path: &Path) -> Result<RunTrace, CommandError> {
    let trace = Run::open(path).and_then(|run| RunTrace::read(&run));
    trace.map_err(|error| {
        let next = "`forebay run -o FILE -- COMMAND` makes a run file";
        CommandError::new(1, error.to_string(), next)
    })
}

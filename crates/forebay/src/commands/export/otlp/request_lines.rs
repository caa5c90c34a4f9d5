//! Requests of spans, one a line. A collector takes no request without bound, so a long trace is
//! several: they hold the same trace, and may come in any order.

use super::message::{AnyValue, KeyValue, Resource, Scope, Span};
use crate::output::UNSEALED;

/// More than this is another request: what gRPC takes by default, over which collectors pass on what
/// they got by HTTP.
const LINE_BYTES: usize = 4 << 20;

/// Lines while they are written: spans go into the text one by one.
#[derive(Debug)]
pub(super) struct RequestLines {
    text: String,
    line_bytes: usize,
    line_start: usize,
    /// The resource that spans are added to, as JSON; `None`: the line is not begun.
    resource: Option<String>,
    spans: u64,
    requests: u64,
}

impl Default for RequestLines {
    fn default() -> Self {
        Self::with_line_bytes(LINE_BYTES)
    }
}

impl RequestLines {
    fn with_line_bytes(line_bytes: usize) -> Self {
        Self {
            text: String::new(),
            line_bytes,
            line_start: 0,
            resource: None,
            spans: 0,
            requests: 0,
        }
    }

    pub(super) fn spans(&self) -> u64 {
        self.spans
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests + u64::from(self.resource.is_some())
    }

    /// Adds a span that comes from a resource.
    pub(super) fn push(&mut self, resource: &Resource, span: &Span) {
        let resource = serde_json::to_string(resource).expect("plain data");
        let span = serde_json::to_string(span).expect("plain data");
        let line = self.text.len() - self.line_start;
        if self.resource.is_some() && line + resource.len() + span.len() > self.line_bytes {
            self.end_line();
        }
        match &self.resource {
            Some(last) if *last == resource => self.text.push(','),
            last => {
                let before = if last.is_some() { "]}]}," } else { "{\"resourceSpans\":[" };
                let scope = self.scope();
                let begin = format!(
                    "{before}{{\"resource\":{resource},\"scopeSpans\":[{{\"scope\":{scope},\"spans\":["
                );
                self.text.push_str(&begin);
                self.resource = Some(resource);
            }
        }
        self.text.push_str(&span);
        self.spans += 1;
    }

    /// All of it.
    pub(super) fn into_text(mut self) -> String {
        if self.resource.is_some() {
            self.end_line();
        }
        self.text
    }

    /// What wrote the spans; the first has the seal of the file.
    fn scope(&self) -> String {
        let seal =
            || KeyValue { key: "forebay.file".into(), value: AnyValue::Text(UNSEALED.to_owned()) };
        let scope = Scope {
            name: "forebay",
            version: env!("CARGO_PKG_VERSION"),
            attributes: if self.spans == 0 { vec![seal()] } else { Vec::new() },
        };
        serde_json::to_string(&scope).expect("plain data")
    }

    fn end_line(&mut self) {
        self.text.push_str("]}]}]}\n");
        self.line_start = self.text.len();
        self.resource = None;
        self.requests += 1;
    }
}

#[cfg(test)]
mod tests {
    //! If this fails, a long trace is refused as a whole, or a part of it is lost.
    use super::*;
    use crate::commands::export::otlp::message::KIND_INTERNAL;
    use serde_json::Value;

    fn resource(host: &str) -> Resource {
        let value = AnyValue::Text(host.to_owned());
        Resource { attributes: vec![KeyValue { key: "host.name".into(), value }] }
    }

    fn span(name: String) -> Span {
        Span {
            trace_id: "0af7651916cd43dd8448eb211c80319c".into(),
            span_id: "b7ad6b7169203331".into(),
            parent_span_id: None,
            name,
            kind: KIND_INTERNAL,
            start_time_unix_nano: "1".into(),
            end_time_unix_nano: "2".into(),
            attributes: Vec::new(),
            status: None,
        }
    }

    /// By host, the names of its spans; one list for each resource of each line.
    fn names(text: &str) -> Vec<Vec<(String, Vec<String>)>> {
        let list = |value: &Value| value.as_array().expect("a list").clone();
        let word = |value: &Value| value.as_str().expect("a word").to_owned();
        text.lines()
            .map(|line| {
                let request: Value = serde_json::from_str(line).expect("JSON");
                list(&request["resourceSpans"])
                    .iter()
                    .map(|part| {
                        let host = word(&part["resource"]["attributes"][0]["value"]["stringValue"]);
                        let spans = list(&part["scopeSpans"][0]["spans"]);
                        (host, spans.iter().map(|span| word(&span["name"])).collect())
                    })
                    .collect()
            })
            .collect()
    }

    #[test]
    fn a_short_trace_is_one_request_with_a_part_for_each_machine() {
        let mut lines = RequestLines::default();
        for (host, name) in [("n1", "a"), ("n1", "b"), ("n2", "c")] {
            lines.push(&resource(host), &span(name.to_owned()));
        }
        let text = lines.into_text();
        let part = |host: &str, names: &[&str]| {
            (host.to_owned(), names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(names(&text), [[part("n1", &["a", "b"]), part("n2", &["c"])]]);
        assert_eq!(text.matches(UNSEALED).count(), 1, "one seal: {text}");
    }

    #[test]
    fn a_long_trace_is_several_requests_each_within_the_bound() {
        let bound = 2000;
        let mut lines = RequestLines::with_line_bytes(bound);
        for number in 0..100 {
            lines.push(&resource("n1"), &span(format!("span {number}")));
        }
        let counted = (lines.spans(), lines.requests());
        let text = lines.into_text();
        let all: Vec<String> =
            names(&text).into_iter().flatten().flat_map(|(_, spans)| spans).collect();
        assert_eq!(all, (0..100).map(|number| format!("span {number}")).collect::<Vec<_>>());
        assert_eq!(counted, (100, text.lines().count() as u64));
        assert!(counted.1 > 5, "{text}");
        // The end of a line, and what the scope says, come on top.
        assert!(text.lines().all(|line| line.len() < bound + 200), "{text}");
        // One span that is longer than a line is in one all the same.
        let mut lines = RequestLines::with_line_bytes(10);
        lines.push(&resource("n1"), &span("x".repeat(50)));
        assert_eq!(names(&lines.into_text()).len(), 1);
    }
}

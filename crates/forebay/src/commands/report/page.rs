//! The page: a template with the program that draws, and the data in it.
//!
//! The program is built from `web/` and kept in `bundle/`, so that this crate needs no Node. The
//! data stand in the page as base64 of gzip of JSON: no byte of a name can end a script, and 25,000
//! tasks stay small.

use std::io::Write;

use base64::Engine;
use flate2::{Compression, GzBuilder};

use super::indexed_run::IndexedRun;
use super::page_text::escape_html;
use super::panels::overview;
use crate::output::{UNSEALED, seal_text};

const TEMPLATE: &str = include_str!("bundle/page.html");
const SCRIPT: &str = include_str!("bundle/page.js");
const STYLE: &str = include_str!("bundle/page.css");

/// The page of these runs with this JSON.
pub(super) fn render_page(runs: &[IndexedRun], data: &str) -> String {
    let labels: Vec<&str> = runs.iter().map(|run| &*run.label).collect();
    let title = escape_html(&format!("Forebay: {}", labels.join(", ")));
    let told =
        runs.iter().map(|run| format!("{}: {}\n", run.label, overview::verdict_sentence(run)));
    let told = escape_html(&told.collect::<String>());
    let page = fill_template(&[
        ("{{title}}", &title),
        ("{{css}}", STYLE),
        ("{{noscript}}", &told),
        ("{{data}}", &compress_data(data)),
        ("{{js}}", SCRIPT),
    ]);
    seal_text(format!("{page}<!-- {UNSEALED} -->\n"))
}

/// Puts texts into the template; none is looked into for the places of others.
fn fill_template(texts: &[(&str, &str)]) -> String {
    let mut page = String::new();
    let mut rest = TEMPLATE;
    while let Some(((at, mark), text)) = texts
        .iter()
        .filter_map(|(mark, text)| Some(((rest.find(mark)?, *mark), *text)))
        .min_by_key(|((at, _), _)| *at)
    {
        page.push_str(&rest[..at]);
        page.push_str(text);
        rest = &rest[at + mark.len()..];
    }
    page + rest
}

fn compress_data(data: &str) -> String {
    let into = Vec::with_capacity(data.len() / 4);
    // Without a name and a time: the same runs give the same page.
    let mut gzip = GzBuilder::new().write(into, Compression::best());
    let packed = gzip.write_all(data.as_bytes()).and_then(|()| gzip.finish());
    base64::engine::general_purpose::STANDARD.encode(packed.expect("memory takes all"))
}

#[cfg(test)]
mod tests {
    //! If these fail, a page is empty, or its own program ends it.
    use super::*;

    #[test]
    fn the_bundle_fits_its_template() {
        for mark in ["{{title}}", "{{css}}", "{{noscript}}", "{{data}}", "{{js}}"] {
            assert_eq!(TEMPLATE.matches(mark).count(), 1, "{mark}");
        }
        // Their hashes are in the page's policy: not a space more may stand with them.
        for exact in ["<style>{{css}}</style>", "<script>{{js}}</script>"] {
            assert!(TEMPLATE.contains(exact), "{exact}");
        }
        assert!(TEMPLATE.contains("id=\"forebay-data\">{{data}}</script>"));
        assert!(!SCRIPT.contains("</script") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.contains("</style"));
        for remote in ["src=\"http", "href=\"http", "@import", "url(http", "//cdn"] {
            assert!(![TEMPLATE, STYLE].iter().any(|text| text.contains(remote)), "{remote}");
        }
    }

    #[test]
    fn what_is_filled_in_is_not_filled_in_again() {
        let page = fill_template(&[("{{title}}", "{{data}}"), ("{{data}}", "DATA")]);
        assert!(page.contains("<title>{{data}}</title>"), "{page}");
        assert_eq!(page.matches("DATA").count(), 1);
    }
}

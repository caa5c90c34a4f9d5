//! Listings that would never end. A bucket tells a listing page by page, each with a token for the
//! next one, and whoever listens has to believe that there is a last one. Here it is looked whether
//! each page leads further: one that was there before, or many with nothing on them, end the
//! listing with an error.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashSet, FxHasher};

use crate::failed::ENDLESS;

/// Pages in a row that may have nothing on them: a store tells such where much was deleted.
const EMPTY_MAX: u32 = 1000;
/// Listings of which the next page has not been asked for yet; those that were given up among them.
const OPEN_MAX: usize = 256;

/// Listings that are under way, by what asks for their next page.
#[derive(Debug, Default)]
pub(super) struct PendingListings(VecDeque<(String, Listing)>);

/// What one listing has told so far.
#[derive(Debug, Default)]
struct Listing {
    /// By what pages are known: hashes of their first keys.
    firsts: FxHashSet<u64>,
    empty: u32,
}

impl PendingListings {
    /// A page has come: `query` asked for it, and this is the text of it.
    ///
    /// # Errors
    /// In words: it leads nowhere.
    pub(super) fn check_page(&mut self, query: &str, page: &str) -> Result<(), String> {
        let mut listing = self.take_listing(query).unwrap_or_default();
        let next = element_text(page, "NextContinuationToken").or(element_text(page, "NextMarker"));
        let Some(next) = next.filter(|next| !next.is_empty()) else { return Ok(()) };
        match first_key(page) {
            Some(key) if !listing.firsts.insert(hash_key(key)) => {
                return Err(format!("{ENDLESS}: the page that begins with {key:?} comes again"));
            }
            Some(_) => listing.empty = 0,
            None if listing.empty >= EMPTY_MAX => {
                return Err(format!("{ENDLESS}: {EMPTY_MAX} pages in a row have no key"));
            }
            None => listing.empty += 1,
        }
        self.0.push_back((listing_key(query, next), listing));
        if self.0.len() > OPEN_MAX {
            self.0.pop_front();
        }
        Ok(())
    }

    /// What is known of the listing of which this asks for a page; `None`: it asks for the first.
    fn take_listing(&mut self, query: &str) -> Option<Listing> {
        let token = query_value(query, "continuation-token").or(query_value(query, "marker"));
        let asked = listing_key(query, &percent_decode(token?));
        let at = self.0.iter().rposition(|(of, _)| *of == asked)?;
        self.0.remove(at).map(|(_, listing)| listing)
    }
}

/// What tells a page from those of other listings.
fn listing_key(query: &str, token: &str) -> String {
    let of = |name| query_value(query, name).unwrap_or_default();
    [of("prefix"), of("delimiter"), token].join("&")
}

fn query_value<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// A part of a query as it is meant.
fn percent_decode(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.as_bytes().iter();
    while let Some(&byte) = bytes.next() {
        let code = match byte {
            b'%' => bytes.as_slice().get(..2).and_then(|two| std::str::from_utf8(two).ok()),
            _ => None,
        };
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(meant) => {
                out.push(meant);
                bytes.nth(1);
            }
            None => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The first key of a page.
fn first_key(page: &str) -> Option<&str> {
    let entry = |entry: &str, name: &str| element_text(&page[page.find(entry)?..], name);
    let s3 = entry("<Contents>", "Key").or_else(|| entry("<CommonPrefixes>", "Prefix"));
    s3.or_else(|| entry("<Blob>", "Name")).or_else(|| entry("<BlobPrefix>", "Name"))
}

fn element_text<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(text, _)| text)
}

fn hash_key(key: &str) -> u64 {
    let mut hasher = FxHasher::default();
    key.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    //! If these fail, a server keeps whoever attaches its bucket waiting for ever.
    use super::*;

    const FIRST: &str = "list-type=2&prefix=p%2F";

    fn page(keys: &[&str], next: &str) -> String {
        let all = keys.iter().map(|key| format!("<Contents><Key>{key}</Key></Contents>"));
        let next = format!("<NextContinuationToken>{next}</NextContinuationToken>");
        format!("<R><Prefix>p/</Prefix>{next}{}</R>", all.collect::<String>())
    }

    fn after(token: &str) -> String {
        format!("list-type=2&continuation-token={token}&prefix=p%2F")
    }

    #[test]
    fn a_page_that_comes_again_ends_a_listing_whatever_its_token_is() {
        let mut pages = PendingListings::default();
        assert_eq!(pages.check_page(FIRST, &page(&["p/a"], "1/")), Ok(()));
        let again = pages.check_page(&after("1%2F"), &page(&["p/a"], "2"));
        assert!(again.is_err_and(|why| why.contains("p/a")), "the token is another");

        assert_eq!(pages.check_page(FIRST, &page(&["p/a"], "1")), Ok(()));
        for (asked, key, next) in [("1", "p/b", "2"), ("2", "p/c", "3")] {
            assert_eq!(pages.check_page(&after(asked), &page(&[key], next)), Ok(()));
        }
        assert!(pages.check_page(&after("3"), &page(&["p/b"], "4")).is_err(), "a circle of two");
    }

    #[test]
    fn so_it_does_in_azures_words() {
        let page = |key: &str, next: &str| {
            format!(
                "<R><Blobs><Blob><Name>{key}</Name></Blob></Blobs><NextMarker>{next}</NextMarker></R>"
            )
        };
        let mut pages = PendingListings::default();
        assert_eq!(pages.check_page("comp=list&prefix=p%2F", &page("p/a", "1")), Ok(()));
        let after = |marker: &str| format!("comp=list&marker={marker}&prefix=p%2F");
        assert_eq!(pages.check_page(&after("1"), &page("p/b", "2")), Ok(()));
        assert!(pages.check_page(&after("2"), &page("p/a", "3")).is_err(), "it begins again");
        assert_eq!(pages.check_page("comp=list", "<R><NextMarker /></R>"), Ok(()));
    }

    #[test]
    fn listings_that_end_are_told_from_each_other() {
        let mut pages = PendingListings::default();
        for _ in 0..3 {
            // Begun again and again, and at the same time as another with the same tokens.
            assert_eq!(pages.check_page(FIRST, &page(&["p/a"], "1")), Ok(()));
            assert_eq!(pages.check_page("prefix=q&list-type=2", &page(&["p/b"], "1")), Ok(()));
            assert_eq!(pages.check_page(&after("1"), &page(&["p/b"], "2")), Ok(()));
            assert_eq!(pages.check_page(&after("2"), "<R><Key>p/b</Key></R>"), Ok(()));
        }
        for number in 0..3 * OPEN_MAX {
            let token = format!("t{number}");
            assert_eq!(pages.check_page(FIRST, &page(&["p/a"], &token)), Ok(()));
        }
        assert!(pages.0.len() <= OPEN_MAX, "those that were given up are forgotten");
    }

    #[test]
    fn pages_without_keys_end_sometime() {
        let mut pages = PendingListings::default();
        let mut token = String::from("0");
        assert_eq!(pages.check_page(FIRST, &page(&[], &token)), Ok(()));
        let more = (1..=EMPTY_MAX + 1).take_while(|number| {
            let next = number.to_string();
            let turned = pages.check_page(
                &after(&std::mem::replace(&mut token, next.clone())),
                &page(&[], &next),
            );
            turned.is_ok()
        });
        assert_eq!(more.count() as u32, EMPTY_MAX - 1);
    }
}

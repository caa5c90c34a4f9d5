//! Amounts, counts and lists as parts of a sentence.

use forebay_model::summary::ByteBounds;
pub(super) use forebay_model::summary::format_percent;

/// An amount in a sentence.
pub(super) fn describe_amount(amount: &ByteBounds) -> String {
    match (amount.seen, amount.at_least, amount.at_most) {
        (Some(seen), _, _) => seen.to_string(),
        (None, least, _) if least.get() > 0 => format!("at least {least}"),
        (None, _, Some(most)) => format!("at most {most}"),
        (None, _, None) => "an unknown amount".to_owned(),
    }
}

/// `1 file`, `2 files`.
pub(super) fn count_with_noun(number: u64, what: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {what}{ending}", crate::console::group_thousands(number))
}

/// Several things as one, for a sentence; the first few.
pub(super) fn list_first_names(names: &[String]) -> String {
    const SHOWN: usize = 3;
    match names.len() {
        0 => "nobody that was seen".to_owned(),
        1..=SHOWN => names.join(", "),
        many => format!("{} and {} more", names[..SHOWN].join(", "), many - SHOWN),
    }
}

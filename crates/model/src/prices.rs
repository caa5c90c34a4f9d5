//! A price sheet: what machines and storage cost, each price with its source and how sure it is.
//!
//! Sheets are data that people write (docs/reference/prices.md); the project's own are in `prices/`. What it is
//! not: it adds nothing up, and knows no provider.

mod sheet_parser;

use crate::units::{Seconds, Usd};
use std::collections::BTreeMap;

/// The prices of one provider and region at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    /// Its name, with its date: every result that uses it says it.
    pub sheet: String,
    /// When it was put together.
    pub compiled: String,
    /// How long a month is.
    pub month: Seconds,
    /// What machines cost that may be taken away; `None`: there are none.
    pub spot: Option<SpotPricing>,
    items: BTreeMap<String, Price>,
}

/// One price.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// How much for one unit.
    pub usd: Usd,
    /// What one unit is.
    pub per: BillingUnit,
    /// So many units cost nothing.
    pub included: f64,
    /// How sure it is.
    pub status: PriceConfidence,
    /// Where it stood, and when that was written.
    pub source: String,
}

/// What is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BillingUnit {
    /// A machine for an hour, counted by the second.
    Hour,
    /// 10⁹ bytes of capacity for a month, used or not.
    GbMonthReserved,
    /// 10⁹ bytes that lie there for a month.
    GbMonthUsed,
    /// 10⁹ bytes read.
    GbRead,
    /// 10⁹ bytes written.
    GbWritten,
    /// 10⁹ bytes that leave the site.
    GbOut,
    /// A thousand requests that read bytes or attributes.
    ThousandReads,
    /// A thousand requests that write, copy or list.
    ThousandWrites,
    /// A thousand requests that delete.
    ThousandDeletes,
    /// One operation a second that the storage can do, for a month.
    IopsMonth,
    /// 2²⁰ bytes a second that the storage can move, for a month.
    MibsMonth,
}

impl BillingUnit {
    /// All of them, with their words.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("hour", Self::Hour),
        ("GB-month reserved", Self::GbMonthReserved),
        ("GB-month used", Self::GbMonthUsed),
        ("GB read", Self::GbRead),
        ("GB written", Self::GbWritten),
        ("GB out", Self::GbOut),
        ("1000 reads", Self::ThousandReads),
        ("1000 writes", Self::ThousandWrites),
        ("1000 deletes", Self::ThousandDeletes),
        ("IOPS-month", Self::IopsMonth),
        ("MiB/s-month", Self::MibsMonth),
    ];

    /// Its words in a sheet.
    pub fn in_words(self) -> &'static str {
        Self::ALL.iter().find(|(_, per)| *per == self).map_or("", |(words, _)| words)
    }
}

/// How sure a price is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PriceConfidence {
    /// On a page of the provider's.
    Seen,
    /// On somebody else's page.
    SecondHand,
    /// On none.
    Unverified,
}

/// Machines that cost less and may be taken away.
#[derive(Clone, Debug, PartialEq)]
pub struct SpotPricing {
    /// By how much less, 0 to 1.
    pub discount: f64,
    /// The share of machines that is taken away in a month, 0 to 1.
    pub interrupted_per_month: f64,
    /// How sure that is.
    pub status: PriceConfidence,
    /// Where it stood, and when that was written.
    pub source: String,
}

impl Prices {
    /// The price of this name.
    pub fn get(&self, item: &str) -> Option<&Price> {
        self.items.get(item)
    }

    /// All prices, by name.
    pub fn items(&self) -> impl Iterator<Item = (&str, &Price)> {
        self.items.iter().map(|(item, price)| (item.as_str(), price))
    }

    /// All that is charged for a storage: the entries whose names go on from `storage` by one word.
    pub fn charges_for_storage<'s>(
        &'s self,
        storage: &'s str,
    ) -> impl Iterator<Item = (&'s str, &'s Price)> {
        let word = move |item: &str| {
            let rest = item.strip_prefix(storage)?.strip_prefix('.')?;
            (!rest.contains('.')).then_some(())
        };
        self.items().filter(move |(item, _)| word(item).is_some())
    }
}

#[cfg(test)]
mod tests;

//! A price sheet as people write it (docs/reference/prices.md).

use super::{BillingUnit, Price, PriceConfidence, Prices, SpotPricing};
use crate::toml::{ConfigError, TomlDocument, TomlTable};
use crate::units::{Seconds, Usd};
use std::collections::BTreeMap;

/// The only one there has been.
const SCHEMA: u32 = 1;
const STATUSES: [(&str, PriceConfidence); 3] = [
    ("seen", PriceConfidence::Seen),
    ("seen-2nd", PriceConfidence::SecondHand),
    ("unverified", PriceConfidence::Unverified),
];

impl Prices {
    /// Reads the text of a sheet; `source` is its name in flaws.
    pub fn parse(text: &str, source: &str) -> Result<Self, ConfigError> {
        let document = TomlDocument { source, text };
        let entries = document.parse()?;
        let root = document.root_table(&entries);
        root.refuse_unknown_keys(&[
            "schema",
            "sheet",
            "compiled",
            "hours_per_month",
            "spot",
            "price",
        ])?;
        root.get_required("schema")?.as_integer(SCHEMA, SCHEMA)?;
        let mut items = BTreeMap::new();
        for entry in root.get_required("price")?.as_table()?.entries() {
            items.insert(entry.key.to_owned(), parse_price(entry.as_table()?)?);
        }
        Ok(Self {
            sheet: root.get_required("sheet")?.as_text()?.to_owned(),
            compiled: root.get_required("compiled")?.as_text()?.to_owned(),
            month: Seconds(root.get_required("hours_per_month")?.as_number(672.0, 744.0)? * 3600.0),
            spot: root.get("spot").map(|entry| parse_spot(entry.as_table()?)).transpose()?,
            items,
        })
    }
}

fn parse_price(table: TomlTable<'_>) -> Result<Price, ConfigError> {
    table.refuse_unknown_keys(&["usd", "per", "included", "status", "date", "source"])?;
    let (status, source) = parse_status_and_source(table)?;
    Ok(Price {
        usd: Usd(table.get_required("usd")?.as_number(0.0, 1e6)?),
        per: table.get_required("per")?.as_one_of(BillingUnit::ALL)?,
        included: table.get("included").map_or(Ok(0.0), |entry| entry.as_number(0.0, 1e9))?,
        status,
        source,
    })
}

fn parse_spot(table: TomlTable<'_>) -> Result<SpotPricing, ConfigError> {
    table.refuse_unknown_keys(&[
        "discount",
        "interrupted_per_month",
        "status",
        "date",
        "source",
    ])?;
    let (status, source) = parse_status_and_source(table)?;
    Ok(SpotPricing {
        discount: table.get_required("discount")?.as_number(0.0, 1.0)?,
        interrupted_per_month: table.get_required("interrupted_per_month")?.as_number(0.0, 1.0)?,
        status,
        source,
    })
}

/// A price that stood somewhere says where and when.
fn parse_status_and_source(table: TomlTable<'_>) -> Result<(PriceConfidence, String), ConfigError> {
    let status = table.get_required("status")?.as_one_of(&STATUSES)?;
    if status == PriceConfidence::Unverified {
        if let Some(source) = table.get("source") {
            return Err(source.key_error("a price with a source is \"seen\" or \"seen-2nd\""));
        }
        return Ok((status, "nowhere".to_owned()));
    }
    let (source, date) =
        (table.get_required("source")?.as_text()?, table.get_required("date")?.as_text()?);
    Ok((status, format!("{source}, {date}")))
}

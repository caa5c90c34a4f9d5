//! A price sheet as people write it (docs/reference/prices.md).

use super::{Per, Price, Prices, Spot, Status};
use crate::toml::{Document, Flaw, Table};
use crate::units::{Seconds, Usd};
use std::collections::BTreeMap;

/// The only one there has been.
const SCHEMA: u32 = 1;
const STATUSES: [(&str, Status); 3] =
    [("seen", Status::Seen), ("seen-2nd", Status::SecondHand), ("unverified", Status::Unverified)];

impl Prices {
    /// Reads the text of a sheet; `source` is its name in flaws.
    pub fn parse(text: &str, source: &str) -> Result<Self, Flaw> {
        let document = Document { source, text };
        let entries = document.parse()?;
        let root = document.root(&entries);
        root.only(&["schema", "sheet", "compiled", "hours_per_month", "spot", "price"])?;
        root.need("schema")?.whole(SCHEMA, SCHEMA)?;
        let mut items = BTreeMap::new();
        for entry in root.need("price")?.table()?.entries() {
            items.insert(entry.key.to_owned(), price(entry.table()?)?);
        }
        Ok(Self {
            sheet: root.need("sheet")?.text()?.to_owned(),
            compiled: root.need("compiled")?.text()?.to_owned(),
            month: Seconds(root.need("hours_per_month")?.number(672.0, 744.0)? * 3600.0),
            spot: root.get("spot").map(|entry| spot(entry.table()?)).transpose()?,
            items,
        })
    }
}

fn price(table: Table<'_>) -> Result<Price, Flaw> {
    table.only(&["usd", "per", "included", "status", "date", "source"])?;
    let (status, source) = sureness(table)?;
    Ok(Price {
        usd: Usd(table.need("usd")?.number(0.0, 1e6)?),
        per: table.need("per")?.word(Per::ALL)?,
        included: table.get("included").map_or(Ok(0.0), |entry| entry.number(0.0, 1e9))?,
        status,
        source,
    })
}

fn spot(table: Table<'_>) -> Result<Spot, Flaw> {
    table.only(&["discount", "interrupted_per_month", "status", "date", "source"])?;
    let (status, source) = sureness(table)?;
    Ok(Spot {
        discount: table.need("discount")?.number(0.0, 1.0)?,
        interrupted_per_month: table.need("interrupted_per_month")?.number(0.0, 1.0)?,
        status,
        source,
    })
}

/// A price that stood somewhere says where and when.
fn sureness(table: Table<'_>) -> Result<(Status, String), Flaw> {
    let status = table.need("status")?.word(&STATUSES)?;
    if status == Status::Unverified {
        if let Some(source) = table.get("source") {
            return Err(source.key_flaw("a price with a source is \"seen\" or \"seen-2nd\""));
        }
        return Ok((status, "nowhere".to_owned()));
    }
    let (source, date) = (table.need("source")?.text()?, table.need("date")?.text()?);
    Ok((status, format!("{source}, {date}")))
}

//! A cost, line by line.

use forebay_model::prices::{Price, PriceConfidence, Prices, SpotPricing};
use forebay_model::{Seconds, Usd};
use serde::{Deserialize, Serialize};

/// What a run costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The price sheet and when it was put together.
    pub sheet: String,
    /// The day of the sheet.
    pub compiled: String,
    /// What is paid for what; nothing that costs nothing.
    pub lines: Vec<CostLine>,
    /// All lines.
    #[serde(rename = "total_usd")]
    pub total: Usd,
    /// The same for one pipeline.
    #[serde(rename = "per_sample_usd")]
    pub per_sample: Usd,
    /// How long machines are paid after the last task, while results come home.
    #[serde(rename = "homecoming_s")]
    pub homecoming: Seconds,
    /// How many machines are expected to be taken away while it lasts; `None`: none can be.
    pub interruptions: Option<f64>,
    /// How much of the time is expected to be for what is then done again.
    #[serde(rename = "again_s", default)]
    pub again: Seconds,
    /// Prices in it that nobody could verify.
    pub unverified: Vec<String>,
    /// Prices in it that stood on somebody else's page only.
    pub second_hand: Vec<String>,
    /// Tiers that were used and have no price: they are counted as free.
    pub unpriced: Vec<String>,
    /// Between how many pipelines it is divided.
    pub pipelines: u32,
}

/// One thing that is paid for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostLine {
    /// What, in words.
    pub what: String,
    /// The entry of the sheet.
    pub item: String,
    /// How many units of it.
    pub units: f64,
    /// Dollars.
    pub usd: Usd,
}

impl Cost {
    pub(super) fn new(prices: &Prices, pipelines: u32, homecoming: Seconds) -> Self {
        Self {
            sheet: prices.sheet.clone(),
            compiled: prices.compiled.clone(),
            lines: Vec::new(),
            total: Usd::ZERO,
            per_sample: Usd::ZERO,
            homecoming,
            interruptions: None,
            again: Seconds::ZERO,
            unverified: Vec::new(),
            second_hand: Vec::new(),
            unpriced: Vec::new(),
            pipelines: pipelines.max(1),
        }
    }

    pub(super) fn add_line(&mut self, what: String, item: &str, price: &Price, units: f64) {
        if units <= 0.0 {
            return;
        }
        self.note_price_status(item, price.status);
        let usd = price.usd * units;
        // A free item matters where nobody knows that it is free; it needs no line.
        if usd > Usd::ZERO {
            self.push(CostLine { what, item: item.to_owned(), units, usd });
        }
    }

    /// Machines at the price of those that may be taken away.
    pub(super) fn add_spot_discount(&mut self, machine: &str, spot: &SpotPricing, full: Usd) {
        self.note_price_status("spot", spot.status);
        let what = format!("{machine} may be taken away");
        let usd = full * -spot.discount;
        self.push(CostLine { what, item: "spot".to_owned(), units: spot.discount, usd });
    }

    fn push(&mut self, line: CostLine) {
        self.total += line.usd;
        self.per_sample = self.total * (1.0 / f64::from(self.pipelines));
        self.lines.push(line);
    }

    fn note_price_status(&mut self, item: &str, status: PriceConfidence) {
        let list = match status {
            PriceConfidence::Unverified => &mut self.unverified,
            PriceConfidence::SecondHand => &mut self.second_hand,
            PriceConfidence::Seen => return,
        };
        if !list.iter().any(|known| known == item) {
            list.push(item.to_owned());
        }
    }
}

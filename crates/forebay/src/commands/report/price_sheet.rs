//! What is paid for, if anybody says so.

use std::path::PathBuf;

use forebay_model::{Prices, Seconds};
use forebay_plan::cost::{self, Cost, PricingError, RecordedUsage};

use crate::exit::CommandError;
use crate::storages::load_prices;

/// Prices: without an item there are none.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Options {
    /// What machines and storages cost (`forebay manual formats price`); default: list prices of
    /// AWS's us-east-1
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// What a tier of a recorded run costs, by its name in the price sheet, such as
    /// scratch=ebs.gp3; `here` is where the project is
    #[arg(long, value_name = "TIER=ITEM")]
    price: Vec<String>,
    /// The machine that a recorded run was on, by its name there, such as ec2.m6i.large
    #[arg(long, value_name = "ITEM")]
    instance: Option<String>,
}

/// Prices, and whose they are.
#[derive(Debug)]
pub(super) struct ReportPrices {
    prices: Prices,
    instance: Option<String>,
    /// Tier and item.
    storages: Vec<(String, String)>,
}

fn usage_error(message: String) -> CommandError {
    CommandError::new(
        2,
        message,
        "write --price TIER=ITEM, where the sheet (prices/) has ITEM.storage",
    )
}

/// Looks all prices up before anything is read. `None`: nobody asks what it costs.
pub(super) fn load_price_sheet(options: &Options) -> Result<Option<ReportPrices>, CommandError> {
    let mut storages = Vec::new();
    for word in &options.price {
        let pair = word.split_once('=').filter(|(tier, _)| !tier.is_empty());
        let (tier, item) =
            pair.ok_or_else(|| usage_error(format!("--price {word}: which of the tiers?")))?;
        storages.push((tier.to_owned(), item.to_owned()));
    }
    let instance = options.instance.clone();
    if instance.is_none() && storages.is_empty() {
        return match options.prices {
            Some(_) => Err(usage_error("--prices: nothing is paid for".to_owned())),
            None => Ok(None),
        };
    }
    let prices = load_prices(options.prices.as_deref(), 2)?;
    let sheet = ReportPrices { prices, instance, storages };
    let nothing = |_: &str| Some(RecordedUsage::default());
    sheet.cost_of_run(Seconds::ZERO, nothing).map_err(|why| usage_error(why.to_string()))?;
    Ok(Some(sheet))
}

impl ReportPrices {
    /// What a recorded run costs that lasted so long; `did` says what it did to a tier, if it knows
    /// that tier.
    ///
    /// # Errors
    /// The sheet has no such machine or storage.
    pub(super) fn cost_of_run(
        &self,
        lasted: Seconds,
        did: impl Fn(&str) -> Option<RecordedUsage>,
    ) -> Result<Cost, PricingError> {
        let mut all =
            cost::cost_of_recorded_run(&self.prices, lasted, self.instance.as_deref(), None)?;
        for (tier, item) in &self.storages {
            let Some(did) = did(tier) else { continue };
            let one = cost::cost_of_recorded_run(&self.prices, lasted, None, Some((item, &did)))?;
            all.total += one.total;
            all.per_sample += one.per_sample;
            all.lines.extend(one.lines.into_iter().map(|mut line| {
                line.what = format!("{tier}: {}", line.what);
                line
            }));
            all.unverified.extend(one.unverified);
            all.second_hand.extend(one.second_hand);
        }
        all.unverified.dedup();
        all.second_hand.dedup();
        Ok(all)
    }

    /// Is this tier paid for?
    pub(super) fn has_price_for(&self, tier: &str) -> bool {
        self.storages.iter().any(|(name, _)| name == tier)
    }
}

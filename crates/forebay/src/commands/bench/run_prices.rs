//! What runs cost, if anybody says what is paid for.

use std::collections::BTreeSet;
use std::path::PathBuf;

use forebay_model::{Prices, Seconds};
use forebay_plan::cost::{self, Cost};
use serde_json::{Value, json};

use super::compared_storages::ComparedStorage;
use super::result_log::BenchRun;
use crate::commands::mount::emulate;
use crate::exit::CommandError;
use crate::storages::load_prices;

/// Prices: without an item there are none.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Options {
    /// What machines and storages cost (`forebay manual formats price`); default: list prices of
    /// AWS's us-east-1
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// What a storage costs, by its name in the price sheet, such as efs=efs.elastic; profiles that
    /// come with Forebay know theirs
    #[arg(long, value_name = "NAME=ITEM")]
    price: Vec<String>,
    /// The machine that is paid while the command runs, by its name there, such as ec2.m6i.large
    #[arg(long, value_name = "ITEM")]
    instance: Option<String>,
}

/// Prices, and whose they are.
#[derive(Debug)]
pub(super) struct BenchPrices {
    prices: Prices,
    instance: Option<String>,
}

fn usage_error(message: String) -> CommandError {
    CommandError::new(
        2,
        message,
        "write --price NAME=ITEM, where the sheet (prices/) has ITEM.storage",
    )
}

/// Gives storages their prices, and looks all of them up before anything runs. `None`: nobody asks
/// what it costs.
pub(super) fn load_price_sheet(
    options: &Options,
    places: &mut [ComparedStorage],
) -> Result<Option<BenchPrices>, CommandError> {
    for word in &options.price {
        let (name, item) = word
            .split_once('=')
            .ok_or_else(|| usage_error(format!("--price {word}: which of the storages?")))?;
        let place = places.iter_mut().find(|place| place.name == name);
        let place =
            place.ok_or_else(|| usage_error(format!("--price {name}: --on does not name it")))?;
        place.price = Some(item.to_owned());
    }
    let instance = options.instance.clone();
    if instance.is_none() && places.iter().all(|place| place.price.is_none()) {
        return match options.prices {
            Some(_) => Err(usage_error("--prices: nothing is paid for".to_owned())),
            None => Ok(None),
        };
    }
    for place in places.iter_mut().filter(|place| place.price.is_none()) {
        let profile =
            place.emulated.as_deref().and_then(|how| emulate::parse_described_profile(how).ok());
        place.price = profile.and_then(|described| described.price);
    }
    let prices = load_prices(options.prices.as_deref(), 2)?;
    let sheet = BenchPrices { prices, instance };
    for place in places.iter() {
        let nothing = cost::RecordedUsage::default();
        sheet
            .cost_of_use(place, 0.0, Some(&nothing))
            .map_err(|why| usage_error(why.to_string()))?;
    }
    Ok(Some(sheet))
}

impl BenchPrices {
    fn cost_of_use(
        &self,
        place: &ComparedStorage,
        seconds: f64,
        did: Option<&cost::RecordedUsage>,
    ) -> Result<Cost, cost::PricingError> {
        let storage = place.price.as_deref().zip(did);
        cost::cost_of_recorded_run(
            &self.prices,
            Seconds(seconds),
            self.instance.as_deref(),
            storage,
        )
    }

    /// A run that succeeded; `None`: its storage is paid for, and nobody saw what was done to it.
    pub(super) fn cost_of_run(&self, place: &ComparedStorage, run: &BenchRun) -> Option<Cost> {
        let did = run.recorded.as_ref().map(super::recorded::RecordedRun::billable_use);
        let known = match &place.price {
            Some(_) => did.is_some(),
            None => self.instance.is_some(),
        };
        let counts = known && run.failure().is_none();
        counts.then(|| self.cost_of_use(place, run.seconds, did.as_ref()).ok())?
    }

    /// Where prices come from, and how sure they are.
    pub(super) fn price_notes(&self, places: &[ComparedStorage], costs: &[Cost]) -> Vec<String> {
        let of = |which: fn(&Cost) -> &Vec<String>| {
            let items = costs.iter().flat_map(which).map(String::as_str);
            items.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
        };
        let machine = self.instance.as_deref().unwrap_or("no machine");
        let free = places.iter().filter(|place| place.price.is_none());
        let free: Vec<&str> = free.map(|place| place.name.as_str()).collect();
        let more = [
            ("nobody could verify these prices", of(|cost| &cost.unverified)),
            ("on somebody else's page only", of(|cost| &cost.second_hand)),
            ("without a price, counted as free", free.join(", ")),
        ];
        let Prices { sheet, compiled, .. } = &self.prices;
        let mut lines =
            vec![format!("usd: of a run, by price sheet {sheet} of {compiled}, with {machine}")];
        let more = more.into_iter().filter(|(_, items)| !items.is_empty());
        lines.extend(more.map(|(what, items)| format!("{what}: {items}")));
        lines
    }

    /// The same as data.
    pub(super) fn price_data(&self, costs: &[Cost]) -> Value {
        let of = |which: fn(&Cost) -> &Vec<String>| -> BTreeSet<String> {
            costs.iter().flat_map(which).cloned().collect()
        };
        json!({
            "sheet": self.prices.sheet,
            "compiled": self.prices.compiled,
            "instance": self.instance,
            "unverified": of(|cost| &cost.unverified),
            "second_hand": of(|cost| &cost.second_hand),
        })
    }
}

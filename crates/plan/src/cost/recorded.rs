//! What a run that was recorded cost: one machine for as long as it took, and its storage.
//!
//! The storage is known by name alone. What is paid by its size is counted for what lay there at
//! the most, and what is paid by what it can do, beyond what comes with it, is not counted.

use super::billed_requests::BilledRequests;
use super::instance_price::machine_price;
use super::used::BilledUsage;
use super::{Cost, PricingError};
use forebay_model::{ByteCount, Op, Prices, Seconds};

/// What a run did to its storage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedUsage {
    /// Operations by kind.
    pub ops: Vec<(Op, u64)>,
    /// Bytes that the storage was asked for.
    pub read: ByteCount,
    /// Bytes that it was given.
    pub written: ByteCount,
    /// The most that lay there at a time.
    pub peak: ByteCount,
}

/// The cost of a run that took so long on a machine and a storage of the sheet; what is `None` is
/// not paid for.
///
/// # Errors
/// The sheet has no such machine or storage.
pub fn cost_of_recorded_run(
    prices: &Prices,
    lasted: Seconds,
    instance: Option<&str>,
    storage: Option<(&str, &RecordedUsage)>,
) -> Result<Cost, PricingError> {
    let mut cost = Cost::new(prices, 1, Seconds::ZERO);
    if let Some(instance) = instance {
        let (item, price) = machine_price(prices, instance)?;
        cost.add_line(format!("1 x {item}"), &item, price, lasted.get() / 3600.0);
    }
    let Some((name, run)) = storage else { return Ok(cost) };
    if prices.charges_for_storage(name).next().is_none() {
        let sheet = &prices.sheet;
        return Err(PricingError(format!("sheet {sheet} has no price for a storage {name:?}")));
    }
    let mut requests = BilledRequests::default();
    requests.count_upload(run.written);
    for (op, count) in &run.ops {
        requests.count_operations(*op, *count as f64);
    }
    let used = BilledUsage::from_recorded_run(run.read, run.written, run.peak);
    let months = lasted / prices.month;
    for (item, price) in prices.charges_for_storage(name) {
        let units = used.billed_units(price.per, None, &requests, months);
        let units = (units - price.included * months).max(0.0);
        cost.add_line(format!("{name}: {}", price.per.in_words()), item, price, units);
    }
    Ok(cost)
}

//! The price of a machine.

use super::PricingError;
use forebay_model::prices::{BillingUnit, Price, Prices};

/// A machine as the sheet has it: by its name, or by its name and how it is bought.
pub(super) fn machine_price<'p>(
    prices: &'p Prices,
    instance: &str,
) -> Result<(String, &'p Price), PricingError> {
    let names = [instance.to_owned(), format!("{instance}.ondemand")];
    let found = names.into_iter().find_map(|name| prices.get(&name).map(|price| (name, price)));
    found.filter(|(_, price)| price.per == BillingUnit::Hour).ok_or_else(|| {
        let sheet = &prices.sheet;
        PricingError(format!("sheet {sheet} has no price for an hour of machine {instance:?}"))
    })
}

//! What a simulated run costs, in dollars, from a price sheet.
//!
//! Machines are paid by time, storage by what is set apart or lies there, by bytes and by requests.
//! Requests are counted from the workload, for an outcome knows operations only in sum. What it is
//! not: sure. Each result names its sheet, the day of it, and what in it nobody could verify.

mod bill;
mod billed_requests;
mod instance_price;
mod recorded;
mod used;

pub use bill::{Cost, CostLine};
pub use recorded::{RecordedUsage, cost_of_recorded_run};

use crate::{Choice, ExpectedRework, Outcome, WriteBackEstimate};
use billed_requests::BilledRequests;
use forebay_model::prices::{Price, Prices};
use forebay_model::{ByteCount, FileLocation, Placement, Site, Tier, TierId, Usd, Workload};
use instance_price::machine_price;
use std::collections::BTreeMap;
use used::BilledUsage;

/// Under what conditions machines and bytes are bought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PurchaseTerms {
    /// Results leave the site.
    pub download: bool,
}

/// Why there is no cost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PricingError(String);

/// All that is needed to price outcomes of one workload on one site.
#[derive(Debug)]
pub struct Pricer<'a> {
    site: &'a Site,
    prices: &'a Prices,
    terms: PurchaseTerms,
    /// A machine's price and its name in the sheet.
    machine: Option<(String, &'a Price)>,
    /// Of each class, what one pipeline asks for.
    classes: Vec<BilledRequests>,
    homecoming: WriteBackEstimate<'a>,
}

impl<'a> Pricer<'a> {
    /// Looks all prices up. `Ok(None)`: the site names no price at all.
    ///
    /// # Errors
    /// The site names a price that the sheet has not.
    pub fn new(
        site: &'a Site,
        workload: &Workload,
        prices: &'a Prices,
        terms: PurchaseTerms,
    ) -> Result<Option<Self>, PricingError> {
        for (tier, price) in site.tiers().filter_map(|tier| Some((tier, tier.price.as_deref()?))) {
            if prices.charges_for_storage(price).next().is_none() {
                let (tier, sheet) = (&tier.id, &prices.sheet);
                let message = format!("tier {tier} costs {price:?}, and sheet {sheet} has no such");
                return Err(PricingError(message));
            }
        }
        let instance = site.nodes().and_then(|nodes| nodes.instance.as_deref());
        let machine = instance.map(|instance| machine_price(prices, instance)).transpose()?;
        if machine.is_none() && site.tiers().all(|tier| tier.price.is_none()) {
            return Ok(None);
        }
        let classes = billed_requests::requests_by_class(workload);
        let homecoming = WriteBackEstimate::new(site, workload);
        Ok(Some(Self { site, prices, terms, machine, classes, homecoming }))
    }

    /// What so many machines cost in a second; `spot`: those that may be taken away.
    pub fn rent_per_second(&self, nodes: u32, spot: bool) -> Usd {
        let hour = self.machine.as_ref().map_or(Usd::ZERO, |(_, price)| price.usd);
        let spot = self.prices.spot.as_ref().filter(|_| spot);
        let factor = spot.map_or(1.0, |spot| 1.0 - spot.discount);
        hour * (factor * f64::from(nodes) / 3600.0)
    }

    /// What this outcome of this choice costs, with what is done `again` in it.
    pub fn cost_of_outcome(
        &self,
        choice: &Choice,
        outcome: &Outcome,
        again: Option<ExpectedRework>,
    ) -> Cost {
        let paid = outcome.makespan;
        let mut cost = Cost::new(self.prices, choice.pipelines, outcome.homecoming);
        if let Some((item, price)) = &self.machine {
            let hours = paid.get() / 3600.0 * f64::from(choice.nodes);
            cost.add_line(format!("{} x {item}", choice.nodes), item, price, hours);
            if let (Some(_), Some(spot)) = (choice.spot, &self.prices.spot) {
                cost.add_spot_discount(item, spot, price.usd * hours);
            }
        }
        cost.interruptions = again.map(|again| again.interruptions);
        let again = again.unwrap_or_default();
        cost.again = again.time;
        let asked = self.requests_by_tier(choice, again.share);
        for tier in self.site.tiers().filter(|tier| tier.pool_of.is_none()) {
            let used = BilledUsage::from_outcome(tier, self.site, outcome, choice.nodes);
            let mut requests = asked.get(&tier.id).copied().unwrap_or_default();
            requests.reads = (requests.reads - used.spared).max(0.0);
            let project = choice.project == tier.id;
            if !(used.touched || requests.has_requests() || project) {
                continue;
            }
            let Some(name) = &tier.price else {
                cost.unpriced.push(tier.id.0.clone());
                continue;
            };
            let months = paid / self.prices.month;
            for (item, price) in self.prices.charges_for_storage(name) {
                let units = used.billed_units(price.per, tier.profile.as_ref(), &requests, months);
                let units = (units - price.included * months * used.volumes).max(0.0);
                cost.add_line(format!("{}: {}", tier.id, price.per.in_words()), item, price, units);
            }
        }
        let item = "transfer.internet";
        if let (true, Some(price)) = (self.terms.download, self.prices.get(item)) {
            let classes = 0..self.classes.len();
            let kept = classes.map(|class| self.homecoming.results(class).bytes).sum();
            let gb = to_gigabytes(kept) * f64::from(choice.pipelines);
            cost.add_line("results leave the site".to_owned(), item, price, gb);
        }
        cost
    }

    /// What one pipeline's files of this class cost at least with this placement, however long
    /// anything takes: requests and bytes. Where copies are read it is not known: 0.
    pub fn placement_toll(&self, class: usize, placement: &Placement, project: &TierId) -> Usd {
        if placement.cache.is_some() {
            return Usd::ZERO;
        }
        let home = match &placement.home {
            FileLocation::Here => project,
            FileLocation::Tier(tier) => tier,
        };
        let comes = self.homecoming.results_to_write_back(class, placement, project);
        let mut asked = self.classes[class];
        if self.site.nodes().is_some_and(|nodes| nodes.memory.is_some()) {
            asked = asked.without_memory();
        }
        self.request_cost(home, &asked)
            + self.request_cost(project, &billed_requests::upload_requests(comes))
    }

    /// What these requests cost there.
    fn request_cost(&self, tier: &TierId, requests: &BilledRequests) -> Usd {
        let whole = self.site.tier(tier).and_then(|tier| self.site.tier(tier.whole_tier()));
        let Some(name) = whole.and_then(|tier| tier.price.as_deref()) else { return Usd::ZERO };
        let priced =
            self.prices.charges_for_storage(name).filter(|(_, price)| price.included == 0.0);
        priced.map(|(_, price)| price.usd * requests.billed_units(price.per)).sum()
    }

    /// Requests of all pipelines, by tier that is no pool, where such a share is done again.
    fn requests_by_tier(&self, choice: &Choice, again: f64) -> BTreeMap<TierId, BilledRequests> {
        let mut asked: BTreeMap<TierId, BilledRequests> = BTreeMap::new();
        let whole = |id: &TierId| self.site.tier(id).map_or(id, Tier::whole_tier).clone();
        for (class, placement) in self.classes.iter().zip(&choice.placements) {
            let class = class.scaled_by(f64::from(choice.pipelines) * (1.0 + again));
            let (home, cached) =
                billed_requests::split_by_tier(&class, placement, &choice.project, choice.nodes);
            asked.entry(whole(home.0)).or_default().add_counts(&home.1);
            if let Some((tier, requests)) = cached {
                asked.entry(whole(tier)).or_default().add_counts(&requests);
            }
        }
        let home = billed_requests::upload_requests(self.homecoming.total_to_write_back(choice));
        asked.entry(whole(&choice.project)).or_default().add_counts(&home);
        asked
    }
}

/// Bytes in the unit that they are paid in.
fn to_gigabytes(bytes: ByteCount) -> f64 {
    bytes.get() as f64 / 1e9
}

#[cfg(test)]
mod tests;

//! How much of a storage is used, in the units that are paid for.

use super::billed_requests::BilledRequests;
use super::to_gigabytes;
use crate::Outcome;
use forebay_model::prices::BillingUnit;
use forebay_model::{ByteCount, Reach, Site, StorageProfile, Tier};

/// What an outcome says of a tier with its pools.
pub(super) struct BilledUsage {
    pub(super) touched: bool,
    read: ByteCount,
    written: ByteCount,
    /// Reads that memory answered: nobody is paid for them.
    pub(super) spared: f64,
    peak: ByteCount,
    capacity: Option<ByteCount>,
    /// How many of it there are: one for each node, or one.
    pub(super) volumes: f64,
}

impl BilledUsage {
    pub(super) fn from_outcome(tier: &Tier, site: &Site, outcome: &Outcome, nodes: u32) -> Self {
        let mut used = Self {
            touched: false,
            read: ByteCount::ZERO,
            written: ByteCount::ZERO,
            spared: 0.0,
            peak: ByteCount::ZERO,
            capacity: None,
            volumes: if tier.reach == Reach::Node { f64::from(nodes) } else { 1.0 },
        };
        for part in site.tiers().filter(|part| part.whole_tier() == &tier.id) {
            if let Some(capacity) = part.capacity {
                used.capacity = Some(used.capacity.unwrap_or_default() + capacity);
            }
            let Some(seen) = outcome.tiers.get(&part.id) else { continue };
            used.touched |= seen.operations > 0.0 || seen.peak_bytes > ByteCount::ZERO;
            used.read += seen.read_bytes;
            used.written += seen.written_bytes;
            used.spared += seen.memory_operations;
            used.peak += seen.peak_bytes;
        }
        used
    }

    /// One storage that a run was recorded on; how large it is and what it can do is not known.
    pub(super) fn from_recorded_run(read: ByteCount, written: ByteCount, peak: ByteCount) -> Self {
        let (touched, spared, capacity, volumes) = (true, 0.0, None, 1.0);
        Self { touched, read, written, spared, peak, capacity, volumes }
    }

    /// How many units of something that is paid for, of a storage that can do so much.
    pub(super) fn billed_units(
        &self,
        per: BillingUnit,
        profile: Option<&StorageProfile>,
        requests: &BilledRequests,
        months: f64,
    ) -> f64 {
        match per {
            BillingUnit::GbMonthReserved => match self.capacity {
                Some(capacity) => to_gigabytes(capacity) * self.volumes * months,
                None => to_gigabytes(self.peak) * months,
            },
            // The most that lay there at a time, as if it had lain there all the time: never too
            // little.
            BillingUnit::GbMonthUsed => to_gigabytes(self.peak) * months,
            BillingUnit::GbRead => to_gigabytes(self.read),
            BillingUnit::GbWritten => to_gigabytes(self.written),
            BillingUnit::ThousandReads
            | BillingUnit::ThousandWrites
            | BillingUnit::ThousandDeletes => requests.billed_units(per),
            BillingUnit::IopsMonth => {
                profile.and_then(|p| p.data_per_second).unwrap_or(0.0) * self.volumes * months
            }
            BillingUnit::MibsMonth => {
                let rate = profile.and_then(|p| p.read.total).map_or(0.0, |rate| rate.get());
                rate / f64::from(1 << 20) * self.volumes * months
            }
            BillingUnit::Hour | BillingUnit::GbOut => 0.0,
        }
    }
}

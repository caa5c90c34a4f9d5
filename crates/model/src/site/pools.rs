//! A tier that is split: each pool has a part of its capacity.

use super::{Site, Tier, TierId, name};
use crate::ByteCount;
use crate::toml::{Entry, Flaw};

impl Site {
    /// Gives each pool its part of the capacity; what is left stays with the tier.
    pub(super) fn split(&mut self, tier: &mut Tier, pools: Entry<'_>) -> Result<(), Flaw> {
        let table = pools.table()?;
        let Some(whole) = tier.capacity else {
            let message = format!("pools split a capacity, and tier {:?} has none", tier.id.0);
            return Err(table.flaw(message));
        };
        let mut taken = ByteCount::ZERO;
        for pool in table.entries() {
            let id = TierId(format!("{}.{}", tier.id, name(pool)?));
            let capacity = pool.bytes()?;
            taken += capacity;
            let pool_of = Some(tier.id.clone());
            let pool = Tier { id, capacity: Some(capacity), pool_of, ..tier.clone() };
            self.tiers.insert(pool.id.clone(), pool);
        }
        if taken > whole {
            let (taken, whole) = (taken.get(), whole.get());
            let message = format!("the pools take {taken} bytes, but the capacity is {whole}");
            return Err(table.flaw(message));
        }
        tier.capacity = Some(whole - taken);
        Ok(())
    }
}

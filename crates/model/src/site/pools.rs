//! A tier that is split: each pool has a part of its capacity.

use super::{Site, Tier, TierId, parse_tier_name};
use crate::ByteCount;
use crate::toml::{ConfigError, TomlEntry};

impl Site {
    /// Gives each pool its part of the capacity; what is left stays with the tier.
    pub(super) fn split_into_pools(
        &mut self,
        tier: &mut Tier,
        pools: TomlEntry<'_>,
    ) -> Result<(), ConfigError> {
        let table = pools.as_table()?;
        let Some(whole) = tier.capacity else {
            let message = format!("pools split a capacity, and tier {:?} has none", tier.id.0);
            return Err(table.table_error(message));
        };
        let mut taken = ByteCount::ZERO;
        for pool in table.entries() {
            let id = TierId(format!("{}.{}", tier.id, parse_tier_name(pool)?));
            let capacity = pool.as_byte_count()?;
            taken += capacity;
            let pool_of = Some(tier.id.clone());
            let pool = Tier { id, capacity: Some(capacity), pool_of, ..tier.clone() };
            self.tiers.insert(pool.id.clone(), pool);
        }
        if taken > whole {
            let (taken, whole) = (taken.get(), whole.get());
            let message = format!("the pools take {taken} bytes, but the capacity is {whole}");
            return Err(table.table_error(message));
        }
        tier.capacity = Some(whole - taken);
        Ok(())
    }
}

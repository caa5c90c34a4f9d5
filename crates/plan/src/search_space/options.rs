//! Which placements a class may have.

use super::facts::ClassFacts;
use crate::choice::in_place_placement;
use forebay_model::{
    ByteCount, CacheRule, FileLayout, FileLocation, Placement, PrefetchMode, Reach, Site, Tier,
    TierId, WriteBackTrigger,
};

/// Files that are smaller on average may be packed: the volume keeps larger ones apart anyway.
const PACKED_BYTES_MAX: u64 = 128 << 10;
/// Fewer files are no storm.
const PACKED_FILES_MIN: u64 = 100;
/// Fewer names are made in no time.
const APART_FILES_MIN: u64 = 8;

/// A tier that files can go to: the names that homes and copies have there, which are different
/// where the tier has a pool for copies.
#[derive(Clone, Debug)]
pub(super) struct TargetTier {
    home: TierId,
    copies: TierId,
    reach: Reach,
    room: Option<ByteCount>,
}

/// The tiers beside the project's.
pub(super) fn target_tiers(
    site: &Site,
    project: &TierId,
    left_out: &mut Vec<String>,
) -> Vec<TargetTier> {
    let here = site.tier(project).map_or(project, Tier::whole_tier);
    let mut targets = Vec::new();
    for tier in site.tiers().filter(|tier| tier.pool_of.is_none() && &tier.id != here) {
        if tier.bucket.is_some() {
            let why = "is a bucket: files can be published to it, and can't live in it";
            left_out.push(format!("tier {} {why}", tier.id));
            continue;
        }
        if tier.profile.is_none() {
            left_out.push(format!("tier {} has no profile: `forebay probe` makes one", tier.id));
            continue;
        }
        let parts = || site.tiers().filter(|part| part.whole_tier() == &tier.id);
        let copies = parts().find(|part| is_for_copies(&part.id)).map_or(&tier.id, |part| &part.id);
        let homes = parts().filter(|part| &part.id != copies || part.pool_of.is_none());
        let home = homes.max_by_key(|part| part.capacity.unwrap_or(ByteCount(u64::MAX)));
        let home = home.unwrap_or(tier);
        let room = parts()
            .map(|part| part.capacity)
            .try_fold(ByteCount::ZERO, |sum, part| part.map(|capacity| sum + capacity));
        targets.push(TargetTier {
            home: home.id.clone(),
            copies: copies.clone(),
            reach: tier.reach,
            room,
        });
    }
    targets
}

/// A pool that somebody set apart for copies says so in its name.
pub(super) fn is_for_copies(pool: &TierId) -> bool {
    pool.as_str().split_once('.').is_some_and(|(_, name)| name.contains("cache"))
}

/// In place first, then all that may work for this class. `made` is all that tasks make, of all
/// classes and pipelines.
pub(super) fn placements_of_class(
    class: &ClassFacts,
    targets: &[TargetTier],
    nodes: u32,
    made: ByteCount,
) -> Vec<Placement> {
    let mut options = vec![in_place_placement()];
    for target in targets {
        let fits = target.room.is_none_or(|room| class.largest <= room);
        if !fits || class.files == 0 {
            continue;
        }
        // Rules decide when a file is made: what is there before the run stays where it is. What
        // is on one node's disk is lost to tasks on other nodes.
        let reached = target.reach != Reach::Node || nodes == 1 || class.private;
        if class.made && reached {
            options.push(placed_on_tier(&target.home, FileLayout::Plain));
            // Results that can't all be there until the end may be there until they are closed.
            if class.stays && target.room.is_some_and(|room| made > room) {
                let drain = WriteBackTrigger::Closed;
                options
                    .push(Placement { drain, ..placed_on_tier(&target.home, FileLayout::Plain) });
            }
            let small = class.bytes.get() / class.files <= PACKED_BYTES_MAX;
            if small && class.files >= PACKED_FILES_MIN && target.reach == Reach::Node {
                options.push(placed_on_tier(&target.home, FileLayout::Packed));
            }
            // Names in a log of the volume, bytes in files: for storage in place that is slow to
            // make names.
            if class.files >= APART_FILES_MIN && target.reach == Reach::Node {
                options.push(placed_on_tier(&target.home, FileLayout::Apart));
            }
        }
        // Copies are of files that nobody writes; and a copy on storage that no node has at hand
        // is no copy.
        if !class.written && class.read && target.reach != Reach::World {
            options.push(cached_on_tier(&target.copies, PrefetchMode::OnOpen));
            options.push(cached_on_tier(&target.copies, PrefetchMode::AtStart));
        }
    }
    options
}

fn placed_on_tier(tier: &TierId, layout: FileLayout) -> Placement {
    Placement { home: FileLocation::Tier(tier.clone()), layout, ..in_place_placement() }
}

fn cached_on_tier(tier: &TierId, ahead: PrefetchMode) -> Placement {
    Placement { cache: Some(CacheRule { tier: tier.clone(), ahead }), ..in_place_placement() }
}

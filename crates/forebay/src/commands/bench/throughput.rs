//! What more at once get done.

use super::scale::Scale;

/// What is told of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Throughput {
    pub(super) scale: Scale,
    /// Commands an hour.
    pub(super) an_hour: f64,
    /// Of what as many would have done that are not in each other's way: 1 is all of it.
    pub(super) efficiency: f64,
}

/// Of the sizes of one storage with their seconds, the smallest first.
pub(super) fn throughput_by_size(sizes: &[(Scale, Option<f64>)]) -> Vec<Option<Throughput>> {
    let rate = |(scale, seconds): &(Scale, Option<f64>)| {
        seconds
            .filter(|seconds| *seconds > 0.0)
            .map(|seconds| f64::from(scale.total_jobs()) * 3600.0 / seconds)
    };
    let first = sizes.iter().find_map(|size| Some(rate(size)? / f64::from(size.0.total_jobs())));
    sizes
        .iter()
        .map(|size| {
            let (an_hour, first) = (rate(size)?, first?);
            let efficiency = an_hour / f64::from(size.0.total_jobs()) / first;
            Some(Throughput { scale: size.0, an_hour, efficiency })
        })
        .collect()
}

/// Half as many commands beside each other, or fewer, already did nine tenths of the most.
const NEAR: f64 = 0.9;

/// The size from which more at once get no more done; `None`: the largest one still does.
pub(super) fn largest_useful(all: &[Throughput]) -> Option<Scale> {
    let most = all.iter().map(|one| one.an_hour).fold(0.0, f64::max);
    let largest = all.iter().map(|one| one.scale.total_jobs()).max()?;
    let enough = all.iter().filter(|one| one.an_hour >= NEAR * most);
    let smallest = enough.min_by_key(|one| one.scale.total_jobs())?;
    (smallest.scale.total_jobs() * 2 <= largest).then_some(smallest.scale)
}

#[cfg(test)]
mod tests {
    //! If these fail, a storage is said to scale that does not, or not to.
    use super::*;

    fn size(nodes: u32, jobs: u32, seconds: f64) -> (Scale, Option<f64>) {
        (Scale { nodes, jobs, slurm: false }, Some(seconds))
    }

    fn useful(all: &[Option<Throughput>]) -> Option<Scale> {
        largest_useful(&all.iter().flatten().copied().collect::<Vec<_>>())
    }

    #[test]
    fn who_waits_for_others_gets_no_more_done() {
        let all = throughput_by_size(&[
            size(1, 1, 10.0),
            size(2, 1, 10.0),
            size(4, 1, 20.0),
            size(8, 1, 39.0),
        ]);
        let told: Vec<(f64, f64)> =
            all.iter().flatten().map(|one| (one.an_hour, one.efficiency)).collect();
        assert_eq!(told[..3], [(360.0, 1.0), (720.0, 1.0), (720.0, 0.5)]);
        assert_eq!(useful(&all).map(|scale| scale.nodes), Some(2));
        let all = throughput_by_size(&[size(1, 1, 10.0), size(4, 1, 10.0)]);
        assert_eq!(useful(&all), None, "nobody knows how far it goes");
        assert_eq!(throughput_by_size(&[(size(1, 1, 1.0).0, None)]), [None]);
    }
}

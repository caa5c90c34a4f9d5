//! Names that are looked for and are not there: search paths of interpreters and loaders.

use super::{Evidence, group_thousands};
use forebay_model::{Op, Seconds};

pub(super) fn assess_saving(evidence: &Evidence<'_>) -> Option<(Seconds, String)> {
    let mut sums = evidence.operations_by_class(Op::LookupFailed);
    // Who makes a file looks for its name first; that is no search.
    for made in evidence.operations_by_class(Op::Create) {
        if let Some(sum) = sums.iter_mut().find(|sum| sum.class == made.class) {
            let left = (sum.count - made.count).max(0.0);
            sum.time = sum.time * (left / sum.count.max(1.0));
            sum.count = left;
        }
    }
    sums.retain(|sum| sum.count >= 1.0);
    sums.sort_by(|a, b| b.time.get().total_cmp(&a.time.get()));
    let most = sums.first()?;
    let saves = evidence.wall_time(sums.iter().map(|sum| sum.time).sum());
    let count: f64 = sums.iter().map(|sum| sum.count).sum();
    let class = &evidence.workload.classes[most.class].pattern;
    let sentence = format!(
        "{} look-ups in each pipeline are for names that are not there, most of them {class:?}: a \
         shorter search path, or the software in a container image or on a tier of its own, saves \
         up to {saves}.",
        group_thousands(count)
    );
    Some((saves, sentence))
}

//! Words for files that were to be published and are not.

use forebay_volume::launch::HomecomingTold;

use super::count;
use crate::say;

/// Says what was not published, and what to do. True if all is that was to be.
pub(super) fn tell(told: &HomecomingTold) -> bool {
    if told.withheld {
        say::note(
            "nothing was published, since the command did not succeed; the next run that does \
             publishes what has changed",
        );
    }
    if told.unpublished.0 > 0 {
        let message = format!(
            "{} could not be published (first: {}); they are where they were, nothing is lost",
            count(told.unpublished.0),
            told.unpublished.1
        );
        let next = "make room there, or correct its rights, then run again with these rules: what \
                    is missing is published";
        say::error(&message, Some(next));
    }
    told.unpublished.0 == 0
}

//! Transport: whether operations on a managed directory can come through io_uring, by which they wake
//! nobody on another CPU.

use forebay_volume::launch::{self, UringObstacle};

use super::finding::Finding;
use super::machine_facts::MachineFacts;
use crate::run_start::explain_uring_obstacle;

pub(super) fn run_check(_: &MachineFacts) -> Finding {
    finding_for(launch::check_uring())
}

fn finding_for(can: Result<(), UringObstacle>) -> Finding {
    let Err(obstacle) = can else {
        return Finding::ok(
            "operations come through io_uring (--transport device takes /dev/fuse)",
        );
    };
    let (why, next) = explain_uring_obstacle(&obstacle);
    match obstacle {
        // Nobody can mend it on this machine.
        UringObstacle::Cpus => Finding::ok(format!("operations come through /dev/fuse: {why}")),
        UringObstacle::Kernel | UringObstacle::Switch | UringObstacle::Ring(_) => {
            Finding::limited(format!("{why}: small operations take longer, through /dev/fuse"))
                .fix_by_admin(next)
        }
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, people with a fast way do not find it.
    use super::super::finding::CheckStatus;
    use super::*;

    #[test]
    fn names_the_switch_and_how_to_turn_it() {
        let off = finding_for(Err(UringObstacle::Switch));
        assert_eq!(off.standing, CheckStatus::Limited);
        assert!(off.fixes[0].what.contains("/sys/module/fuse/parameters/enable_uring"));
        assert_eq!(finding_for(Ok(())).standing, CheckStatus::Ok);
        assert_eq!(finding_for(Err(UringObstacle::Cpus)).standing, CheckStatus::Ok);
        assert!(finding_for(Err(UringObstacle::Kernel)).fixes[0].what.contains("6.14"));
        let refused = finding_for(Err(UringObstacle::Ring("EPERM".to_owned())));
        assert!(refused.means.contains("EPERM") && refused.fixes[0].what.contains("seccomp"));
    }
}

//! What is mounted and unmounted outside while a run lives. A run that kept its own picture of the
//! machine would hide a disk that was just plugged in, and keep one busy that somebody takes away.

use std::process::Command;

use crate::place::{AWAIT, FOREBAY, Place, USER, done};

/// Mounts travel from here to copies of this namespace, as they do where systemd runs.
const SHARED: &str = "mount --make-rshared /";

/// A shell script in a namespace of its own, whose mounts travel to copies of it.
fn shared(place: &Place, prepare: &str, script: &str) -> Command {
    let mut shell = place.program("timeout");
    shell.args(["100", "sh", "-c", &format!("set -e\n{AWAIT}{script}")]);
    let known = format!("export FOREBAY={FOREBAY} OUT={}", place.run.display());
    place.apart(&format!("{SHARED}\n{known}\n{prepare}"), &shell)
}

/// What the run does inside, and what is done outside meanwhile.
fn both_sides(run: &str) -> String {
    let inside = format!(
        r#"{AWAIT}
        touch ../signs/begun
        await ../signs/changed
        cat ../seen/file
        cat ../gone/file 2>&1 || true
        # Over the covered directory lies a new mount outside; here ours lies over it.
        echo "still here" > "$PWD/covered"
        cat "$PWD/covered"
        echo kept > ../disk/file
        cat ../disk/file
        [ "$(id -u)" != 0 ] || mount -t tmpfs inner ../inner
        touch ../signs/done
        await ../signs/looked
        cat ../seen/file 2>&1 || true
        "#
    );
    format!(
        r#"{run} run -q --at . --at ../disk -o "$OUT" -- sh -c '{inside}' &
        run=$!
        await ../signs/begun
        mount -t tmpfs new ../seen
        echo "seen inside" > ../seen/file
        umount ../gone
        umount -l ../disk
        mount -t tmpfs over "$PWD"
        touch ../signs/changed
        await ../signs/done
        ! grep inner /proc/self/mountinfo
        umount "$PWD"
        umount ../seen
        touch ../signs/looked
        wait $run
        "#
    )
}

const BEFORE: &str = "mkdir -p ../seen ../gone ../disk ../inner ../signs; chmod 777 ../signs
    mount -t tmpfs old ../gone; echo \"gone inside\" > ../gone/file
    mount -t tmpfs disk ../disk; chmod 777 ../disk";

const SAID: &str = "seen inside\ncat: ../gone/file: No such file or directory\nstill here\nkept\n\
    cat: ../seen/file: No such file or directory\n";

fn see(place: &Place, prepare: &str, run: &str) {
    let end = done(&mut shared(place, prepare, &both_sides(run)));
    assert_eq!(end.code(0).text(), SAID, "{}", end.stderr);
    assert_eq!(place.read("covered"), "still here\n");
    place.nothing_left();
}

#[test]
fn what_others_mount_and_unmount_is_so_in_a_run() {
    let Some(place) = Place::with_root() else { return };
    see(&place, BEFORE, "$FOREBAY");
}

#[test]
fn what_others_mount_and_unmount_is_so_in_a_users_run() {
    let Some(place) = Place::with_root() else { return };
    let node = place.all.join("node");
    let binary = place.give_to_user();
    let run =
        format!("setpriv --reuid {USER} --regid {USER} --clear-groups -- {}", binary.display());
    let prepare = format!(
        "{BEFORE}\nmknod -m 666 {node} c 10 229; chmod 666 {node}; mount --bind {node} /dev/fuse",
        node = node.display()
    );
    see(&place, &prepare, &run);
}

#[test]
fn a_volume_ends_though_a_run_goes_on_elsewhere() {
    let Some(place) = Place::with_root() else { return };
    let inside = format!("{AWAIT}touch ../begun; await ../over; ls ../at");
    let script = r#"$FOREBAY mount ../volume ../at
        echo word > ../at/file
        $FOREBAY run -q -o "$OUT" -- sh -c 'INSIDE' &
        run=$!
        await ../begun
        timeout 30 $FOREBAY unmount ../at
        kill -0 $run
        touch ../over
        wait $run
        cat ../volume/file
        "#;
    let script = script.replace("INSIDE", &inside);
    let end = done(&mut shared(&place, "mkdir ../volume ../at", &script));
    assert_eq!(end.code(0).text(), "word\n", "{}", end.stderr);
    place.nothing_left();
}

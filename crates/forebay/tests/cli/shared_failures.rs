//! What goes wrong around a shared volume: databases, secrets, networks, copies of a node. If these
//! fail, a program waits for ever, somebody is told nothing that helps, or what others wrote is lost.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::place::{done, wait_until};
use crate::shared::{Nodes, text};

/// What a program is told whose node waited for others in vain.
const TIMED_OUT: Option<i32> = Some(110);

/// The daemons' connections to the database end; they make new ones.
const END_CONNECTIONS: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                               WHERE application_name = 'forebay'";

#[test]
fn a_book_of_another_version_is_refused_before_anything_is_mounted() {
    let Some(nodes) = Nodes::with_postgres(1) else { return };
    let (a, b) = (nodes.point(0), nodes.point(1));
    fs::create_dir(&b).expect("a mount point");
    let mount = || nodes.try_mount(1, "s3://ours/lab/shared", &b);
    let ours = nodes.sql("SELECT max(version) FROM forebay.schema_version");
    nodes.sql("INSERT INTO forebay.schema_version VALUES (99, '9.9')");
    let newer = mount();
    newer.code(125).says("its tables have version 99").says("install the newer Forebay");
    newer.says("nothing was mounted");
    // Who is there already stops, and says why: what newer ones write it would not understand.
    nodes.say("its tables have version 99");
    nodes.sql("DELETE FROM forebay.schema_version WHERE version > 1");
    let older = mount();
    older.code(125).says("its tables have version 1,").says("forebay book upgrade URL");
    nodes.book(&["upgrade"]).code(1).says("unmount it on all nodes first");
    nodes.sql(&format!(
        "INSERT INTO forebay.schema_version SELECT version, '0.1' FROM generate_series(2, {ours}) version"
    ));
    mount().code(0);
    fs::write(a.join("f"), "1").expect("it goes on");
    assert_eq!(text(&b.join("f")), "1");
    nodes.unmount(0);
    nodes.unmount(1);
}

#[test]
fn a_node_with_another_secret_is_not_let_in_and_both_go_on_by_way_of_the_book() {
    let Some(nodes) = Nodes::with_postgres(1) else { return };
    let (a, b) = (nodes.point(0), nodes.point(1));
    nodes.sql("UPDATE forebay.volume SET secret = 'another-secret-of-the-volume-012345'");
    fs::create_dir(&b).expect("a mount point");
    nodes.mount(1);
    fs::create_dir(a.join("d")).expect("made");
    fs::write(a.join("d/f"), "1").expect("written");
    assert_eq!(text(&b.join("d/f")), "1");
    fs::write(b.join("d/f"), "2").expect("taken");
    assert_eq!(text(&a.join("d/f")), "2");
    nodes.say("it has another token");
    nodes.say("gets no answer from this node");
    assert!(!nodes.logs().contains("another-secret"), "{}", nodes.logs());
    nodes.unmount(0);
    nodes.unmount(1);
}

#[test]
fn two_nodes_do_not_have_one_address_or_one_state_directory() {
    let Some(nodes) = Nodes::with_postgres(1) else { return };
    let there = nodes.volume.there();
    // Another state directory, the same address.
    let listen = format!("{}.1:7420", nodes.net);
    let mut same = nodes.volume.forebay(&["mount", "--listen", &listen, "--book"]);
    same.arg(nodes.folder("book")).arg("--state").arg(nodes.folder("other"));
    let same = done(same.arg("s3://ours/lab/shared").arg(&there));
    same.code(125).says(&format!("listening at {listen}")).says("at which nothing listens");
    // A copy of a node, as of a machine that was made from another one's image.
    let (first, copy) = (nodes.folder("state0"), nodes.folder("state1"));
    assert!(Command::new("cp").arg("-a").args([&first, &copy]).status().expect("cp").success());
    let copied = nodes.try_mount(1, "s3://ours/lab/shared", &there);
    copied.code(125).says(&format!("is alive at {listen}")).says("remove the file `key`");
    fs::write(nodes.point(0).join("f"), "1").expect("it has not noticed");
    fs::remove_file(copy.join("key")).expect("removed");
    nodes.try_mount(1, "s3://ours/lab/shared", &there).code(0);
    assert_eq!(text(&there.join("f")), "1");
    nodes.volume.unmount(&there).code(0);
    nodes.unmount(0);
    assert!(!nodes.logs().contains("lost, since"), "{}", nodes.logs());
}

#[test]
fn a_database_that_takes_no_writes_is_waited_for_and_named() {
    let Some(nodes) = Nodes::with_postgres(2) else { return };
    let (a, b) = (nodes.point(0), nodes.point(1));
    fs::create_dir(a.join("d")).expect("made");
    fs::write(a.join("d/f"), "1").expect("written");
    assert_eq!(text(&b.join("d/f")), "1");
    let set = |how: &str| {
        let text = format!("ALTER DATABASE forebay {how} default_transaction_read_only");
        let text = text + if how == "SET" { " = on" } else { "" };
        done(&mut nodes.psql("postgres", &text)).code(0);
        done(&mut nodes.psql("postgres", END_CONNECTIONS)).code(0);
    };
    set("SET");
    let refused = fs::write(b.join("d/f"), "2").expect_err("nobody can take the folder");
    assert_eq!(refused.raw_os_error(), TIMED_OUT, "{refused}");
    nodes.say("waited in vain: the book: ");
    nodes.say("look who made it read only (default_transaction_read_only)");
    set("RESET");
    wait_until("it goes on", || fs::write(b.join("d/f"), "3").is_ok());
    assert_eq!(text(&a.join("d/f")), "3");
    nodes.unmount(0);
    nodes.unmount(1);
}

#[test]
fn a_database_without_a_free_connection_is_waited_for_and_named() {
    let Some(nodes) = Nodes::with_postgres(0) else { return };
    nodes.sql("ALTER SYSTEM SET max_connections = 12");
    nodes.book(&["stop", "--force"]).code(0);
    nodes.book(&["start"]).code(0);
    let a = nodes.point(0);
    fs::create_dir(&a).expect("a mount point");
    nodes.mount(0);
    let mut file = File::create(a.join("f")).expect("made");
    file.write_all(b"1").and_then(|()| file.sync_all()).expect("in the book");
    // A program that is started closes what it has of this one's files: that asks the daemon.
    drop(file);
    nodes.signal(0, "-STOP");
    nodes.sql(END_CONNECTIONS);
    let mut others: Vec<Child> = Vec::new();
    while done(&mut nodes.psql("forebay", "SELECT 1")).stderr.is_empty() {
        assert!(others.len() < 40, "there is always room");
        // It goes on to read from a pipe: an idle connection ends with its program.
        let mut other = nodes.psql("postgres", "SELECT 1");
        other.args(["-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        others.push(other.spawn().expect("psql"));
    }
    nodes.signal(0, "-CONT");
    let append = || {
        let mut file = File::options().append(true).open(a.join("f"))?;
        file.write_all(b"2")?;
        file.sync_all()
    };
    let refused = append().expect_err("the book does not have it");
    assert_eq!(refused.raw_os_error(), TIMED_OUT, "{refused}");
    nodes.say("too many clients");
    nodes.say("raise max_connections of the database");
    for mut other in others {
        other.kill().expect("ended");
        other.wait().expect("ended");
    }
    wait_until("it goes on", || append().is_ok());
    assert!(text(&a.join("f")).starts_with("12"));
    nodes.unmount(0);
}

/// Carries bytes from one to the other, each piece a while later.
fn carry(mut from: TcpStream, mut to: TcpStream) {
    let mut piece = vec![0; 256 << 10];
    while let Ok(length @ 1..) = from.read(&mut piece) {
        std::thread::sleep(Duration::from_millis(300));
        if to.write_all(&piece[..length]).is_err() {
            return;
        }
    }
}

#[test]
fn a_network_that_is_slow_and_not_dead_is_no_failure() {
    let Some(nodes) = Nodes::with_postgres(2) else { return };
    let (a, b) = (nodes.point(0), nodes.point(1));
    // Both are reached by a detour: an address that only the book tells.
    for node in 1..=2 {
        let there = format!("{}.{node}:7420", nodes.net);
        let detour = TcpListener::bind(format!("{}.{node}:0", nodes.net)).expect("a port");
        let address = detour.local_addr().expect("an address");
        nodes.sql(&format!(
            "UPDATE forebay.node SET address = '{address}' WHERE address = '{there}'"
        ));
        std::thread::spawn(move || {
            for caller in detour.incoming().flatten() {
                let Ok(called) = TcpStream::connect(&there) else { continue };
                let back =
                    (called.try_clone().expect("a copy"), caller.try_clone().expect("a copy"));
                std::thread::spawn(move || carry(caller, called));
                std::thread::spawn(move || carry(back.0, back.1));
            }
        });
    }
    let long: Vec<u8> = (0..300_000u32).map(|at| (at % 251) as u8).collect();
    fs::create_dir(a.join("d")).expect("made");
    for round in 0..3 {
        let (writer, reader) = if round % 2 == 0 { (&a, &b) } else { (&b, &a) };
        fs::write(writer.join("d/f"), format!("{round}")).expect("written");
        assert_eq!(text(&reader.join("d/f")), format!("{round}"));
        let name = format!("d/long{round}");
        fs::write(writer.join(&name), &long).expect("written");
        assert!(fs::read(reader.join(&name)).expect("it comes") == long);
    }
    nodes.unmount(0);
    nodes.unmount(1);
    let logs = nodes.logs();
    assert!(!logs.contains("in vain") && !logs.contains("lost, since"), "{logs}");
}

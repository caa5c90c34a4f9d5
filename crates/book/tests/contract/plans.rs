//! What the database reads for a publication. It plans by what it believes of its tables, and it
//! believes little of one that it has not counted yet.

use std::time::Duration;

use forebay_book::{FolderId, InodeNumber, NameChange, PostgresBook};

use super::server::Server;
use super::worlds::{World, held, name, small};

/// Names of a volume, and how many of them change in one publication.
const NAMES: i64 = 20_000;
const CHANGED: i64 = 200;

#[test]
fn names_that_stay_are_not_read() {
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    let book = PostgresBook::open(&server.url(&database)).expect("a book");
    let text = "ALTER TABLE forebay.name SET (autovacuum_enabled = false)";
    server.sql(&database, text);
    let world = World::of(book, |_| panic!("no time passes"));
    let mut node = world.node(1);
    let epoch = node.take(FolderId::ROOT);
    let count = u32::try_from(NAMES).expect("a few");
    let first = world.book.lend_inodes(&node.member, count).expect("numbers").first;
    let set = |at: i64| NameChange::Set(name(&format!("n{at}")), numbered(first, at));
    let files = (0..NAMES).map(|at| small(numbered(first, at), "x")).collect();
    node.publish(vec![held(FolderId::ROOT, epoch, (0..NAMES).map(set).collect())], files);

    let before = read(server, &database, 0);
    let remove = |at: i64| NameChange::Remove(name(&format!("n{}", at * 7)));
    let changes = (0..CHANGED).map(remove).collect();
    node.publish(vec![held(FolderId::ROOT, epoch, changes)], Vec::new());

    let after = read(server, &database, CHANGED);
    assert!(after - before < 10 * CHANGED, "{} names were read", after - before);
    let left = world.book.list(world.volume(), FolderId::ROOT).expect("listed").published.len();
    assert_eq!(left as i64, NAMES - CHANGED);
}

fn numbered(first: InodeNumber, at: i64) -> InodeNumber {
    InodeNumber(first.0 + at)
}

/// Names that were read by an index or by the table, once the database says that so many were removed:
/// its backends tell what they did a moment later.
fn read(server: &Server, database: &str, removed: i64) -> i64 {
    let text = "SELECT t.n_tup_ins, t.n_tup_del, t.seq_tup_read + sum(i.idx_tup_read) \
                FROM pg_stat_user_tables t JOIN pg_stat_user_indexes i USING (relid) \
                WHERE t.relname = 'name' GROUP BY 1, 2, t.seq_tup_read";
    for _ in 0..300 {
        let said = server.sql(database, text);
        let numbers: Vec<i64> = said.split('|').filter_map(|word| word.parse().ok()).collect();
        if numbers[0] >= NAMES && numbers[1] >= removed {
            return numbers[2];
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the database does not say what it did");
}

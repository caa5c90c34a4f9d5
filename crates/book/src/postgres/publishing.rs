//! A publication: one transaction that looks at the node's lease and number, at the epochs of its
//! folders, and then changes files, names and holds, each kind in one statement; and that counts only
//! if the lease has lasted until its end.

use std::collections::HashSet;

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::connections::DEADLINE_OF_PUBLICATIONS;
use super::nodes::check;
use super::{Value, change, rows};
use crate::book::Published;
use crate::error::{Error, Result};
use crate::ids::{Epoch, FolderId, InodeNumber, NodeId, Version, VolumeId};
use crate::lease::Membership;
use crate::publication::{After, Claim, FolderChange, NameChange, Publication};
use crate::records::{FileBytes, FileRecord};
use crate::rules::{
    check_named, check_number, made_twice, may_speak, never_lent, no_file, no_folder, not_empty,
};

/// Advisory locks of this database by which publications of a node follow each other: of nobody else's
/// class, by all that is known.
const TURNS: i32 = 0x666f_7265;

pub(super) async fn publish(
    client: &Client,
    member: &Membership,
    publication: &Publication,
    folders: &[&FolderChange],
) -> Result<Published> {
    // The node's row stays free until the end, so that its lease is renewed meanwhile. What the sender
    // no longer waits for ends by itself.
    let turn = "SELECT set_config('statement_timeout', $3, true), \
                pg_advisory_xact_lock($1, ($2 % 2147483647)::int4)";
    let longest = format!("{}s", DEADLINE_OF_PUBLICATIONS.as_secs());
    let values: [Value<'_>; 3] =
        [(&TURNS, Type::INT4), (&member.node.0, Type::INT8), (&longest, Type::TEXT)];
    rows(client, turn, &values).await?;
    let last = check(client, member, "").await?;
    if check_number(publication.number, last)? {
        return Ok(Published { again: true, versions: Vec::new() });
    }
    let volume = member.volume;
    claim(client, member, publication, folders).await?;
    write_files(client, volume, &publication.files).await?;
    let mut unnamed = write_names(client, volume, publication, folders).await?;
    check_names(client, volume, publication, folders).await?;
    let versions = settle_folders(client, volume, folders).await?;
    unnamed.extend(removed(folders));
    drop_unnamed(client, volume, &unnamed).await?;
    let note = "UPDATE forebay.node SET published = $2 \
                WHERE id = $1 AND term = $3 AND published = $4 AND expires > clock_timestamp()";
    let values: [Value<'_>; 4] = [
        (&member.node.0, Type::INT8),
        (&publication.number.0, Type::INT8),
        (&member.term.0, Type::INT8),
        (&last.0, Type::INT8),
    ];
    if change(client, note, &values).await? == 0 {
        let now = check(client, member, "").await?;
        check_number(publication.number, now)?;
        return Err(Error::inconsistent(format!(
            "publication {} met another one",
            publication.number
        )));
    }
    Ok(Published { again: false, versions })
}

fn made(folders: &[&FolderChange]) -> impl Iterator<Item = FolderId> {
    folders.iter().filter(|change| change.claim == Claim::Made).map(|change| change.folder)
}

fn removed(folders: &[&FolderChange]) -> impl Iterator<Item = i64> {
    let gone = folders.iter().filter(|change| change.after == After::Remove);
    gone.map(|change| change.folder.0)
}

/// Locks the folders, and looks whether the node holds them under the epochs that it names.
async fn claim(
    client: &Client,
    member: &Membership,
    publication: &Publication,
    folders: &[&FolderChange],
) -> Result<()> {
    let volume: Value<'_> = (&member.volume.0, Type::INT4);
    let made: Vec<i64> = made(folders).map(|folder| folder.0).collect();
    let files = publication.files.iter().map(|file| file.inode.0);
    if let Some(most) = files.chain(made.iter().copied()).max() {
        let lent = "SELECT next_inode FROM forebay.volume WHERE id = $1";
        let next: i64 = rows(client, lent, std::slice::from_ref(&volume)).await?[0].get(0);
        if most >= next {
            return Err(never_lent(most));
        }
    }
    let all: Vec<i64> = folders.iter().map(|change| change.folder.0).collect();
    let lock = "SELECT inode, holder, epoch FROM forebay.folder \
                WHERE volume = $1 AND inode = ANY($2) ORDER BY inode FOR NO KEY UPDATE";
    let found = rows(client, lock, &[volume.clone(), (&all, Type::INT8_ARRAY)]).await?;
    for change in folders {
        let row = found.iter().find(|row| row.get::<_, i64>(0) == change.folder.0);
        match (change.claim, row) {
            (Claim::Made, Some(_)) => return Err(made_twice(change.folder)),
            (Claim::Made, None) => {}
            (Claim::Held(_), None) => return Err(no_folder(change.folder)),
            (Claim::Held(epoch), Some(row)) => {
                let holder = row.get::<_, Option<i64>>(1).map(NodeId);
                may_speak(change.folder, (member.node, epoch), (holder, Epoch(row.get(2))))?;
            }
        }
    }
    if made.is_empty() {
        return Ok(());
    }
    let make = "INSERT INTO forebay.folder (volume, inode, holder, epoch, version) \
                SELECT $1, made, $3, 1, 0 FROM unnest($2) made";
    let values = [volume, (&made, Type::INT8_ARRAY), (&member.node.0, Type::INT8)];
    change(client, make, &values).await.map(drop)
}

/// Columns of all files, for one statement.
#[derive(Default)]
struct FileColumns<'a> {
    inode: Vec<i64>,
    kind: Vec<i16>,
    mode: Vec<i32>,
    uid: Vec<i64>,
    gid: Vec<i64>,
    mtime_ns: Vec<i64>,
    size: Vec<i64>,
    rdev: Vec<i64>,
    place: Vec<i16>,
    body: Vec<Option<&'a [u8]>>,
    object: Vec<Option<&'a str>>,
    sums: Vec<Option<&'a [u8]>>,
    home: Vec<Option<i64>>,
    /// Counted from 1; the last one is before the first of a file that has none.
    first_attribute: Vec<i32>,
    last_attribute: Vec<i32>,
    /// Of all files.
    attribute_names: Vec<&'a [u8]>,
    attribute_values: Vec<&'a [u8]>,
}

impl<'a> FileColumns<'a> {
    fn push(&mut self, file: &'a FileRecord) {
        self.inode.push(file.inode.0);
        self.kind.push(file.kind.number());
        self.mode.push(file.mode.cast_signed());
        self.uid.push(file.uid.into());
        self.gid.push(file.gid.into());
        self.mtime_ns.push(file.mtime_ns);
        self.size.push(file.size.cast_signed());
        self.rdev.push(file.rdev.cast_signed());
        let (place, body, object, sums, home) = match &file.bytes {
            FileBytes::None => (0, None, None, None, None),
            FileBytes::InBook(body) => (1, Some(body.as_slice()), None, None, None),
            FileBytes::InBucket { object, sums } => {
                (2, None, Some(object.as_str()), Some(sums.as_slice()), None)
            }
            FileBytes::OnNode(node) => (3, None, None, None, Some(node.0)),
        };
        self.place.push(place);
        self.body.push(body);
        self.object.push(object);
        self.sums.push(sums);
        self.home.push(home);
        self.first_attribute.push(self.attribute_names.len() as i32 + 1);
        for (name, value) in &file.attributes {
            self.attribute_names.push(name);
            self.attribute_values.push(value);
        }
        self.last_attribute.push(self.attribute_names.len() as i32);
    }
}

async fn write_files(client: &Client, volume: VolumeId, files: &[FileRecord]) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let mut all = FileColumns::default();
    files.iter().for_each(|file| all.push(file));
    // An array of arrays can't be sent: one of all attributes is, and from where to where each file has
    // them.
    let text = "INSERT INTO forebay.file (volume, inode, kind, mode, uid, gid, mtime_ns, size, \
                rdev, place, body, object, sums, home, attribute_names, attribute_values) \
                SELECT $1, inode, kind, mode, uid, gid, mtime_ns, size, rdev, place, body, object, \
                sums, home, ($17::bytea[])[first:last], ($18::bytea[])[first:last] \
                FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
                AS sent(inode, kind, mode, uid, gid, mtime_ns, size, rdev, place, body, object, \
                sums, home, first, last) \
                ON CONFLICT (volume, inode) DO UPDATE SET kind = excluded.kind, \
                mode = excluded.mode, uid = excluded.uid, gid = excluded.gid, \
                mtime_ns = excluded.mtime_ns, size = excluded.size, rdev = excluded.rdev, \
                place = excluded.place, body = excluded.body, object = excluded.object, \
                sums = excluded.sums, home = excluded.home, \
                attribute_names = excluded.attribute_names, \
                attribute_values = excluded.attribute_values";
    let values: [Value<'_>; 18] = [
        (&volume.0, Type::INT4),
        (&all.inode, Type::INT8_ARRAY),
        (&all.kind, Type::INT2_ARRAY),
        (&all.mode, Type::INT4_ARRAY),
        (&all.uid, Type::INT8_ARRAY),
        (&all.gid, Type::INT8_ARRAY),
        (&all.mtime_ns, Type::INT8_ARRAY),
        (&all.size, Type::INT8_ARRAY),
        (&all.rdev, Type::INT8_ARRAY),
        (&all.place, Type::INT2_ARRAY),
        (&all.body, Type::BYTEA_ARRAY),
        (&all.object, Type::TEXT_ARRAY),
        (&all.sums, Type::BYTEA_ARRAY),
        (&all.home, Type::INT8_ARRAY),
        (&all.first_attribute, Type::INT4_ARRAY),
        (&all.last_attribute, Type::INT4_ARRAY),
        (&all.attribute_names, Type::BYTEA_ARRAY),
        (&all.attribute_values, Type::BYTEA_ARRAY),
    ];
    change(client, text, &values).await.map(drop)
}

/// Gives the files that lost a name.
async fn write_names(
    client: &Client,
    volume: VolumeId,
    publication: &Publication,
    folders: &[&FolderChange],
) -> Result<Vec<i64>> {
    let all =
        folders.iter().flat_map(|change| change.names.iter().map(|name| (change.folder, name)));
    let all: Vec<(FolderId, &NameChange)> = all.collect();
    if all.is_empty() {
        return Ok(Vec::new());
    }
    // A folder that is just made has no names yet.
    let made: HashSet<FolderId> = made(folders).collect();
    let old = all.iter().filter(|(folder, _)| !made.contains(folder));
    let (places, names): (Vec<i64>, Vec<&[u8]>) =
        old.map(|(folder, change)| (folder.0, change.name().as_bytes())).unzip();
    // Each name is looked up by itself, here and below, whatever the database believes of its tables:
    // what has an OFFSET is not turned into a join. Before its first ANALYZE it took a volume for a
    // few names, and compared all that it had with each that was sent.
    let forget = "DELETE FROM forebay.name n USING (SELECT found.place \
                  FROM unnest($2, $3) gone(folder, name) CROSS JOIN LATERAL \
                  (SELECT ctid AS place FROM forebay.name known WHERE known.volume = $1 \
                  AND known.folder = gone.folder AND known.name = gone.name OFFSET 0) found \
                  OFFSET 0) old WHERE n.ctid = old.place RETURNING n.inode";
    let values: [Value<'_>; 3] =
        [(&volume.0, Type::INT4), (&places, Type::INT8_ARRAY), (&names, Type::BYTEA_ARRAY)];
    let unnamed = match places.is_empty() {
        true => Vec::new(),
        false => rows(client, forget, &values).await?.iter().map(|row| row.get(0)).collect(),
    };
    let sets = all.iter().filter_map(|(folder, change)| match change {
        NameChange::Set(name, inode) => Some((folder.0, name.as_bytes(), inode.0)),
        NameChange::Remove(_) => None,
    });
    let sets: Vec<(i64, &[u8], i64)> = sets.collect();
    if sets.is_empty() {
        return Ok(unnamed);
    }
    let places: Vec<i64> = sets.iter().map(|set| set.0).collect();
    let names: Vec<&[u8]> = sets.iter().map(|set| set.1).collect();
    let inodes: Vec<i64> = sets.iter().map(|set| set.2).collect();
    let written: HashSet<i64> = publication.files.iter().map(|file| file.inode.0).collect();
    let others: Vec<i64> =
        inodes.iter().copied().filter(|inode| !written.contains(inode)).collect();
    let missing = "SELECT wanted FROM unnest($2) wanted WHERE NOT EXISTS \
                   (SELECT FROM forebay.file WHERE volume = $1 AND inode = wanted OFFSET 0) \
                   LIMIT 1";
    let values: [Value<'_>; 2] = [(&volume.0, Type::INT4), (&others, Type::INT8_ARRAY)];
    if !others.is_empty()
        && let Some(row) = rows(client, missing, &values).await?.first()
    {
        return Err(no_file(InodeNumber(row.get(0))));
    }
    let set = "INSERT INTO forebay.name (volume, folder, name, inode) \
               SELECT $1, * FROM unnest($2, $3, $4)";
    let values: [Value<'_>; 4] = [
        (&volume.0, Type::INT4),
        (&places, Type::INT8_ARRAY),
        (&names, Type::BYTEA_ARRAY),
        (&inodes, Type::INT8_ARRAY),
    ];
    change(client, set, &values).await?;
    Ok(unnamed)
}

/// A node that changes a file has to hold a folder that has it.
async fn check_names(
    client: &Client,
    volume: VolumeId,
    publication: &Publication,
    folders: &[&FolderChange],
) -> Result<()> {
    let names = folders.iter().flat_map(|change| &change.names);
    let mut named: HashSet<i64> = names
        .filter_map(|name| match name {
            NameChange::Set(_, inode) => Some(inode.0),
            NameChange::Remove(_) => None,
        })
        .chain(folders.iter().map(|change| change.folder.0))
        .collect();
    let files = publication.files.iter().map(|file| file.inode.0);
    let files: Vec<i64> = files.filter(|inode| !named.contains(inode)).collect();
    if !files.is_empty() {
        let places: Vec<i64> = folders.iter().map(|change| change.folder.0).collect();
        // Few names lead to a file, and many may be in a folder.
        let text = "SELECT DISTINCT inode FROM forebay.name \
                    WHERE volume = $1 AND inode = ANY($2) AND folder + 0 = ANY($3)";
        let values: [Value<'_>; 3] =
            [(&volume.0, Type::INT4), (&files, Type::INT8_ARRAY), (&places, Type::INT8_ARRAY)];
        named.extend(rows(client, text, &values).await?.iter().map(|row| row.get::<_, i64>(0)));
    }
    check_named(publication, |inode| named.contains(&inode.0))
}

/// What becomes of the holds; gives the folders' versions.
async fn settle_folders(
    client: &Client,
    volume: VolumeId,
    folders: &[&FolderChange],
) -> Result<Vec<(FolderId, Version)>> {
    let gone: Vec<i64> = removed(folders).collect();
    if !gone.is_empty() {
        let full = "SELECT folder FROM forebay.name WHERE volume = $1 AND folder = ANY($2) LIMIT 1";
        let values: [Value<'_>; 2] = [(&volume.0, Type::INT4), (&gone, Type::INT8_ARRAY)];
        if let Some(row) = rows(client, full, &values).await?.first() {
            return Err(not_empty(FolderId(row.get(0))));
        }
        let forget = "DELETE FROM forebay.folder WHERE volume = $1 AND inode = ANY($2)";
        change(client, forget, &values).await?;
    }
    let stay: Vec<&&FolderChange> =
        folders.iter().filter(|change| change.after != After::Remove).collect();
    if stay.is_empty() {
        return Ok(Vec::new());
    }
    let all: Vec<i64> = stay.iter().map(|change| change.folder.0).collect();
    let given: Vec<i64> = stay
        .iter()
        .filter(|change| change.after == After::GiveUp)
        .map(|change| change.folder.0)
        .collect();
    let text = "UPDATE forebay.folder SET version = version + 1, \
                epoch = epoch + (inode = ANY($3))::int, \
                holder = CASE WHEN inode = ANY($3) THEN NULL ELSE holder END \
                WHERE volume = $1 AND inode = ANY($2) RETURNING inode, version";
    let values: [Value<'_>; 3] =
        [(&volume.0, Type::INT4), (&all, Type::INT8_ARRAY), (&given, Type::INT8_ARRAY)];
    let found = rows(client, text, &values).await?;
    let mut versions: Vec<(FolderId, Version)> =
        found.iter().map(|row| (FolderId(row.get(0)), Version(row.get(1)))).collect();
    versions.sort_unstable();
    Ok(versions)
}

/// Files that have no name any more are forgotten.
async fn drop_unnamed(client: &Client, volume: VolumeId, unnamed: &[i64]) -> Result<()> {
    if unnamed.is_empty() {
        return Ok(());
    }
    let text = "DELETE FROM forebay.file f WHERE volume = $1 AND inode = ANY($2) AND inode <> $3 \
                AND NOT EXISTS (SELECT FROM forebay.name n \
                WHERE n.volume = $1 AND n.inode = f.inode OFFSET 0)";
    let values: [Value<'_>; 3] =
        [(&volume.0, Type::INT4), (&unnamed, Type::INT8_ARRAY), (&FolderId::ROOT.0, Type::INT8)];
    change(client, text, &values).await.map(drop)
}

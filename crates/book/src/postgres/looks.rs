//! What was published: names and files.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::connections::in_transaction;
use super::holds::release_expired;
use super::rows;
use crate::book::{Entry, Holder, Look};
use crate::error::{Error, ErrorKind, Result};
use crate::ids::{EntryName, Epoch, FolderId, InodeNumber, NodeId, Version, VolumeId};
use crate::records::{FileBytes, FileKind, FileRecord};
use crate::rules::no_folder;

/// Columns of a file, as `file_at` reads them.
const FILE: &str = "f.inode, f.kind, f.mode, f.uid, f.gid, f.mtime_ns, f.size, f.rdev, f.place, \
                    f.body, f.object, f.sums, f.home, f.attribute_names, f.attribute_values";
/// In front of them in a look.
const BEFORE: usize = 7;

/// One name of a folder, or all, with who holds the folder: of one moment.
pub(super) async fn look(
    client: &Client,
    volume: VolumeId,
    folder: FolderId,
    name: Option<&EntryName>,
) -> Result<Look<Vec<Entry>>> {
    let (found, expired) = look_once(client, volume, folder, name).await?;
    if !expired {
        return Ok(found);
    }
    in_transaction(client, async || {
        release_expired(client, volume, &[folder.0]).await?;
        Ok(look_once(client, volume, folder, name).await?.0)
    })
    .await
}

/// Whether the holder's lease is over, too.
async fn look_once(
    client: &Client,
    volume: VolumeId,
    folder: FolderId,
    name: Option<&EntryName>,
) -> Result<(Look<Vec<Entry>>, bool)> {
    let text = format!(
        "SELECT d.holder, n.name, n.address, d.epoch, d.version, n.expires <= clock_timestamp(), \
         e.name, {FILE} \
         FROM forebay.folder d LEFT JOIN forebay.node n ON n.id = d.holder \
         LEFT JOIN forebay.name e ON e.volume = d.volume AND e.folder = d.inode \
         AND ($3::bytea IS NULL OR e.name = $3) \
         LEFT JOIN LATERAL (SELECT * FROM forebay.file \
         WHERE volume = $1 AND inode = e.inode OFFSET 0) f ON true \
         WHERE d.volume = $1 AND d.inode = $2 ORDER BY e.name"
    );
    let name = name.map(EntryName::as_bytes);
    let values: [super::Value<'_>; 3] =
        [(&volume.0, Type::INT4), (&folder.0, Type::INT8), (&name, Type::BYTEA)];
    let found = rows(client, &text, &values).await?;
    let first = found.first().ok_or_else(|| no_folder(folder))?;
    let holder = first.get::<_, Option<i64>>(0).map(|node| Holder {
        node: NodeId(node),
        name: first.get(1),
        address: first.get(2),
        epoch: Epoch(first.get(3)),
    });
    let expired = first.get::<_, Option<bool>>(5).unwrap_or(false);
    let version = Version(first.get(4));
    let mut published = Vec::new();
    for row in &found {
        if let Some(name) = row.get::<_, Option<Vec<u8>>>(6) {
            published.push(Entry { name: EntryName::new(name)?, file: file_at(row, BEFORE)? });
        }
    }
    Ok((Look { holder, version, published }, expired))
}

pub(super) async fn file(
    client: &Client,
    volume: VolumeId,
    inode: InodeNumber,
) -> Result<Option<FileRecord>> {
    let text = format!("SELECT {FILE} FROM forebay.file f WHERE volume = $1 AND inode = $2");
    let found = rows(client, &text, &[(&volume.0, Type::INT4), (&inode.0, Type::INT8)]).await?;
    found.first().map(|row| file_at(row, 0)).transpose()
}

pub(super) async fn folders_with(
    client: &Client,
    volume: VolumeId,
    inode: InodeNumber,
) -> Result<Vec<FolderId>> {
    let text = "SELECT DISTINCT folder FROM forebay.name \
                WHERE volume = $1 AND inode = $2 ORDER BY folder";
    let found = rows(client, text, &[(&volume.0, Type::INT4), (&inode.0, Type::INT8)]).await?;
    Ok(found.iter().map(|row| FolderId(row.get(0))).collect())
}

fn file_at(row: &Row, at: usize) -> Result<FileRecord> {
    let inode = InodeNumber(row.get(at));
    let damaged = |what: &str| {
        Error::new(
            ErrorKind::Unexpected,
            format!("file {inode} of the book: {what}"),
            "its row was changed by something else than Forebay; see the database's log",
        )
    };
    let kind = FileKind::from_number(row.get(at + 1)).ok_or_else(|| damaged("an unknown kind"))?;
    let missing = || damaged("its bytes are missing");
    let bytes = match row.get::<_, i16>(at + 8) {
        0 => FileBytes::None,
        1 => FileBytes::InBook(row.get::<_, Option<Vec<u8>>>(at + 9).ok_or_else(missing)?),
        2 => FileBytes::InBucket {
            object: row.get::<_, Option<String>>(at + 10).ok_or_else(missing)?,
            sums: row.get::<_, Option<Vec<u8>>>(at + 11).unwrap_or_default(),
        },
        3 => FileBytes::OnNode(NodeId(row.get::<_, Option<i64>>(at + 12).ok_or_else(missing)?)),
        _ => return Err(damaged("an unknown place")),
    };
    let names: Vec<Vec<u8>> = row.get(at + 13);
    let values: Vec<Vec<u8>> = row.get(at + 14);
    Ok(FileRecord {
        inode,
        kind,
        mode: row.get::<_, i32>(at + 2).unsigned_abs(),
        uid: row.get::<_, i64>(at + 3) as u32,
        gid: row.get::<_, i64>(at + 4) as u32,
        mtime_ns: row.get(at + 5),
        size: row.get::<_, i64>(at + 6).unsigned_abs(),
        rdev: row.get::<_, i64>(at + 7).unsigned_abs(),
        bytes,
        attributes: names.into_iter().zip(values).collect(),
    })
}

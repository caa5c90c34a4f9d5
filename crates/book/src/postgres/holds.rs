//! Who holds which folder.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::nodes::{check, lock_member};
use super::{change, rows};
use crate::book::{Holder, Taken};
use crate::error::Result;
use crate::ids::{Epoch, FolderId, NodeId, VolumeId};
use crate::lease::Membership;
use crate::rules::no_folder;

pub(super) async fn take(
    client: &Client,
    member: &Membership,
    folders: &[FolderId],
) -> Result<Taken> {
    lock_member(client, member).await?;
    let mut wanted: Vec<i64> = folders.iter().map(|folder| folder.0).collect();
    wanted.sort_unstable();
    wanted.dedup();
    release_expired(client, member.volume, &wanted).await?;
    let others: Vec<(FolderId, Holder)> = holders(client, member.volume, &wanted)
        .await?
        .into_iter()
        .filter(|(_, holder)| holder.node != member.node)
        .collect();
    if !others.is_empty() {
        return Ok(Taken::HeldBy(others));
    }
    let text = "UPDATE forebay.folder \
                SET epoch = epoch + (holder IS NULL)::int, holder = $3 \
                WHERE volume = $1 AND inode = ANY($2) RETURNING inode, epoch";
    let taken = rows(
        client,
        text,
        &[
            (&member.volume.0, Type::INT4),
            (&wanted, Type::INT8_ARRAY),
            (&member.node.0, Type::INT8),
        ],
    )
    .await?;
    let mut taken: Vec<(FolderId, Epoch)> =
        taken.iter().map(|row| (FolderId(row.get(0)), Epoch(row.get(1)))).collect();
    taken.sort_unstable();
    Ok(Taken::All(taken))
}

/// Asks the holder of a folder for it, by its next renewal.
pub(super) async fn want(client: &Client, member: &Membership, folder: FolderId) -> Result<()> {
    check(client, member, "").await?;
    // Only once for each node that asks: others hold the row while they publish.
    let text = "UPDATE forebay.folder SET wanted_epoch = epoch, wanted_by = $3 \
                WHERE volume = $1 AND inode = $2 AND holder <> $3 \
                AND (wanted_epoch IS DISTINCT FROM epoch OR wanted_by <> $3)";
    let values: [super::Value<'_>; 3] =
        [(&member.volume.0, Type::INT4), (&folder.0, Type::INT8), (&member.node.0, Type::INT8)];
    change(client, text, &values).await.map(drop)
}

/// Locks folders in the order of their numbers, and takes those away that nodes hold whose lease is
/// over. Such a lease ends for good, in this transaction: a renewal that is under way finds it so,
/// because it waits for the row of its node and looks at it again. Two statements, because one that
/// had waited for the folder would look at the nodes as they were before.
pub(super) async fn release_expired(
    client: &Client,
    volume: VolumeId,
    folders: &[i64],
) -> Result<()> {
    let values: [super::Value<'_>; 2] = [(&volume.0, Type::INT4), (&folders, Type::INT8_ARRAY)];
    let lock = "SELECT inode FROM forebay.folder WHERE volume = $1 AND inode = ANY($2) \
                ORDER BY inode FOR NO KEY UPDATE";
    let found = rows(client, lock, &values).await?;
    if found.len() < folders.len() {
        let there: Vec<i64> = found.iter().map(|row| row.get(0)).collect();
        let missing = folders.iter().find(|folder| !there.contains(folder));
        return Err(no_folder(FolderId(*missing.expect("one is not there"))));
    }
    let end = "UPDATE forebay.node SET expires = '-infinity' WHERE id IN \
               (SELECT holder FROM forebay.folder WHERE volume = $1 AND inode = ANY($2)) \
               AND expires <= clock_timestamp() RETURNING id";
    let over: Vec<i64> = rows(client, end, &values).await?.iter().map(|row| row.get(0)).collect();
    if over.is_empty() {
        return Ok(());
    }
    let release = "UPDATE forebay.folder SET holder = NULL, epoch = epoch + 1 \
                   WHERE volume = $1 AND inode = ANY($2) AND holder = ANY($3)";
    let [volume, folders] = values;
    change(client, release, &[volume, folders, (&over, Type::INT8_ARRAY)]).await.map(drop)
}

/// Who holds these.
async fn holders(
    client: &Client,
    volume: VolumeId,
    folders: &[i64],
) -> Result<Vec<(FolderId, Holder)>> {
    let text = "SELECT f.inode, n.id, n.name, n.address, f.epoch FROM forebay.folder f \
                JOIN forebay.node n ON n.id = f.holder \
                WHERE f.volume = $1 AND f.inode = ANY($2) ORDER BY f.inode";
    let found =
        rows(client, text, &[(&volume.0, Type::INT4), (&folders, Type::INT8_ARRAY)]).await?;
    let holder = |row: &tokio_postgres::Row| Holder {
        node: NodeId(row.get(1)),
        name: row.get(2),
        address: row.get(3),
        epoch: Epoch(row.get(4)),
    };
    Ok(found.iter().map(|row| (FolderId(row.get(0)), holder(row))).collect())
}

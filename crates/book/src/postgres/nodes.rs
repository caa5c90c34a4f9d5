//! Volumes, nodes and their leases. Locks are taken in one order: the volume, the node that speaks,
//! folders by their numbers, nodes that lose a folder. A publication takes the node that speaks last
//! (`publishing`): where it crosses another transaction, PostgreSQL ends one of both, which is tried
//! again.

use std::time::Duration;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::migrations::check_version;
use super::{change, rows};
use crate::book::{NodeState, Registration, Wanted};
use crate::error::{Error, ErrorKind, Result};
use crate::ids::{
    Epoch, FolderId, InodeBlock, InodeNumber, NodeId, PeerSecret, PublicationNumber, Term,
    VolumeId, VolumeName,
};
use crate::lease::{LEASE, Membership};
use crate::records::NodeOffer;
use crate::rules::{WANTED_MOST, check_member, key_taken, name_taken, unknown_node};

pub(super) async fn open_volume(client: &Client, name: &VolumeName) -> Result<VolumeId> {
    let text = name.as_str();
    let find = "SELECT id FROM forebay.volume WHERE name = $1";
    if let Some(row) = rows(client, find, &[(&text, Type::TEXT)]).await?.first() {
        return Ok(VolumeId(row.get(0)));
    }
    let root = FolderId::ROOT.0;
    let make = "INSERT INTO forebay.volume (name, next_inode) VALUES ($1, $2) \
                ON CONFLICT (name) DO NOTHING";
    change(client, make, &[(&text, Type::TEXT), (&(root + 1), Type::INT8)]).await?;
    let id: i32 = rows(client, find, &[(&text, Type::TEXT)]).await?[0].get(0);
    let folder = "INSERT INTO forebay.folder (volume, inode, epoch, version) VALUES ($1, $2, 0, 0) \
                  ON CONFLICT DO NOTHING";
    change(client, folder, &[(&id, Type::INT4), (&root, Type::INT8)]).await?;
    Ok(VolumeId(id))
}

pub(super) async fn peer_secret(client: &Client, volume: VolumeId) -> Result<PeerSecret> {
    let text = "SELECT secret FROM forebay.volume WHERE id = $1";
    let found = rows(client, text, &[(&volume.0, Type::INT4)]).await?;
    let row = found.first().ok_or_else(|| no_volume(volume))?;
    Ok(PeerSecret(row.get(0)))
}

fn no_volume(volume: VolumeId) -> Error {
    Error::inconsistent(format!("there is no volume {volume}"))
}

pub(super) async fn register(
    client: &Client,
    volume: VolumeId,
    offer: &NodeOffer,
) -> Result<Registration> {
    // One after the other, so that two of one name can't both find nobody.
    let lock = "SELECT id FROM forebay.volume WHERE id = $1 FOR NO KEY UPDATE";
    if rows(client, lock, &[(&volume.0, Type::INT4)]).await?.is_empty() {
        return Err(no_volume(volume));
    }
    let key = offer.key.0.as_slice();
    let rival = "SELECT address, extract(epoch FROM clock_timestamp() - renewed)::float8 \
                 FROM forebay.node WHERE volume = $1 AND name = $2 AND key <> $3 \
                 AND expires > clock_timestamp()";
    let (name, address) = (offer.name(), offer.address());
    let who: [super::Value<'_>; 3] =
        [(&volume.0, Type::INT4), (&name, Type::TEXT), (&key, Type::BYTEA)];
    if let Some(row) = rows(client, rival, &who).await?.first() {
        return Err(name_taken(name, row.get(0), seconds(row.get(1))));
    }
    let twin = "SELECT address, extract(epoch FROM clock_timestamp() - renewed)::float8 \
                FROM forebay.node WHERE volume = $1 AND address NOT IN ('', $2) AND key = $3 \
                AND expires > clock_timestamp()";
    let whose: [super::Value<'_>; 3] =
        [(&volume.0, Type::INT4), (&address, Type::TEXT), (&key, Type::BYTEA)];
    if let Some(row) = rows(client, twin, &whose).await?.first() {
        return Err(key_taken(row.get(0), seconds(row.get(1))));
    }
    let enter = "INSERT INTO forebay.node AS n \
                 (volume, name, key, address, term, expires, renewed, published) \
                 VALUES ($1, $2, $3, $4, 1, clock_timestamp() + $5 * interval '1 second', \
                 clock_timestamp(), 0) \
                 ON CONFLICT (volume, key) DO UPDATE SET name = $2, address = $4, \
                 term = n.term + 1, expires = excluded.expires, renewed = excluded.renewed \
                 RETURNING id, term, published";
    let lease = LEASE.as_secs_f64();
    let [volume_value, name_value, key_value] = who;
    let values =
        [volume_value, name_value, key_value, (&address, Type::TEXT), (&lease, Type::FLOAT8)];
    let row = &rows(client, enter, &values).await?[0];
    let node: i64 = row.get(0);
    let held = "SELECT inode, epoch FROM forebay.folder WHERE holder = $1 ORDER BY inode";
    let held = rows(client, held, &[(&node, Type::INT8)]).await?;
    Ok(Registration {
        member: Membership { volume, node: NodeId(node), term: Term(row.get(1)) },
        holds: held.iter().map(|row| (FolderId(row.get(0)), Epoch(row.get(1)))).collect(),
        published: PublicationNumber(row.get(2)),
    })
}

/// The version of the tables is looked at as well: whoever has them upgraded under a node ends it.
pub(super) async fn renew(client: &Client, member: &Membership) -> Result<Vec<Wanted>> {
    let text = "UPDATE forebay.node SET expires = clock_timestamp() + $4 * interval '1 second', \
                renewed = clock_timestamp() \
                WHERE id = $1 AND volume = $2 AND term = $3 AND expires > clock_timestamp() \
                RETURNING (SELECT max(version) FROM forebay.schema_version), \
                EXISTS (SELECT FROM forebay.folder f \
                WHERE f.holder = $1 AND f.wanted_epoch IS NOT NULL AND f.wanted_epoch = f.epoch)";
    let lease = LEASE.as_secs_f64();
    let values: [super::Value<'_>; 4] = [
        (&member.node.0, Type::INT8),
        (&member.volume.0, Type::INT4),
        (&member.term.0, Type::INT8),
        (&lease, Type::FLOAT8),
    ];
    match rows(client, text, &values).await?.first() {
        Some(row) => {
            check_version(row.get::<_, i32>(0).unsigned_abs())?;
            match row.get::<_, bool>(1) {
                true => wanted_of(client, member.node).await,
                false => Ok(Vec::new()),
            }
        }
        // Why not.
        None => {
            check(client, member, "").await?;
            check_member(member, member.term, false).map(|()| Vec::new())
        }
    }
}

/// What a node holds and others want.
async fn wanted_of(client: &Client, node: NodeId) -> Result<Vec<Wanted>> {
    let text = "SELECT f.inode, n.name, n.address FROM forebay.folder f \
                JOIN forebay.node n ON n.id = f.wanted_by \
                WHERE f.holder = $1 AND f.wanted_epoch IS NOT NULL AND f.wanted_epoch = f.epoch \
                ORDER BY f.inode LIMIT $2";
    let found = rows(client, text, &[(&node.0, Type::INT8), (&WANTED_MOST, Type::INT8)]).await?;
    let wanted =
        |row: &Row| Wanted { folder: FolderId(row.get(0)), name: row.get(1), address: row.get(2) };
    Ok(found.iter().map(wanted).collect())
}

/// Locks the node that speaks, if it may: nobody ends its lease until the transaction is over.
pub(super) async fn lock_member(client: &Client, member: &Membership) -> Result<PublicationNumber> {
    check(client, member, "FOR NO KEY UPDATE").await
}

pub(super) async fn check(
    client: &Client,
    member: &Membership,
    how: &str,
) -> Result<PublicationNumber> {
    let text = format!(
        "SELECT term, expires > clock_timestamp(), published FROM forebay.node \
         WHERE id = $1 AND volume = $2 {how}"
    );
    let values: [super::Value<'_>; 2] =
        [(&member.node.0, Type::INT8), (&member.volume.0, Type::INT4)];
    let found = rows(client, &text, &values).await?;
    let row = found.first().ok_or_else(|| unknown_node(member))?;
    check_member(member, Term(row.get(0)), row.get(1))?;
    Ok(PublicationNumber(row.get(2)))
}

pub(super) async fn leave(client: &Client, member: &Membership) -> Result<()> {
    match lock_member(client, member).await {
        Ok(_) => {}
        Err(error) if error.kind == ErrorKind::LeaseExpired => {}
        Err(error) => return Err(error),
    }
    let node: [super::Value<'_>; 1] = [(&member.node.0, Type::INT8)];
    let lock =
        "SELECT inode FROM forebay.folder WHERE holder = $1 ORDER BY inode FOR NO KEY UPDATE";
    rows(client, lock, &node).await?;
    let release = "UPDATE forebay.folder SET holder = NULL, epoch = epoch + 1 WHERE holder = $1";
    change(client, release, &node).await?;
    let end = "UPDATE forebay.node SET expires = '-infinity' WHERE id = $1";
    change(client, end, &node).await?;
    Ok(())
}

pub(super) async fn states(client: &Client, volume: Option<VolumeId>) -> Result<Vec<NodeState>> {
    let text = "SELECT id, volume, name, address, term, \
                CASE WHEN expires > clock_timestamp() \
                THEN extract(epoch FROM expires - clock_timestamp())::float8 END, \
                extract(epoch FROM clock_timestamp() - renewed)::float8, published, \
                (SELECT count(*) FROM forebay.folder f WHERE f.holder = n.id) \
                FROM forebay.node n WHERE $1::int4 IS NULL OR volume = $1 ORDER BY id";
    let volume = volume.map(|volume| volume.0);
    let found = rows(client, text, &[(&volume, Type::INT4)]).await?;
    let state = |row: &Row| NodeState {
        node: NodeId(row.get(0)),
        volume: VolumeId(row.get(1)),
        name: row.get(2),
        address: row.get(3),
        term: Term(row.get(4)),
        lease_left: row.get::<_, Option<f64>>(5).map(seconds),
        renewed_ago: seconds(row.get(6)),
        published: PublicationNumber(row.get(7)),
        holds: row.get::<_, i64>(8).unsigned_abs(),
    };
    Ok(found.iter().map(state).collect())
}

pub(super) async fn lend_inodes(
    client: &Client,
    member: &Membership,
    count: u32,
) -> Result<InodeBlock> {
    check(client, member, "").await?;
    let text = "UPDATE forebay.volume SET next_inode = next_inode + $2 WHERE id = $1 \
                RETURNING next_inode - $2";
    let wanted = i64::from(count);
    let found =
        rows(client, text, &[(&member.volume.0, Type::INT4), (&wanted, Type::INT8)]).await?;
    Ok(InodeBlock { first: InodeNumber(found[0].get(0)), count })
}

/// What the database says of a time that has passed; its clock may have been set back.
fn seconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number.max(0.0)).unwrap_or(Duration::MAX)
}

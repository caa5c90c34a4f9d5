//! What one client does to one object after the other, each request timed by itself.

use bytes::Bytes;

use super::ProbeClient;
use crate::commands::probe::bounds::ProbeStop;
use crate::commands::probe::calls::SMALL;
use crate::commands::probe::chains::{FigureSums, add_time};
use crate::commands::probe::measured_figures::Figure;
use crate::commands::probe::measured_figures::{PIECE, RoundSizes};
use crate::commands::probe::together::run_together;

/// The life of a small object.
pub(super) fn measure_small_object(
    client: &mut ProbeClient<'_>,
    sums: &mut FigureSums,
) -> Result<(), ProbeStop> {
    let (name, other) = (client.unused_name(), client.unused_name());
    let body = Bytes::copy_from_slice(client.bytes.fresh_bytes(SMALL));
    let size = SMALL as u64;
    let timed = [
        (
            Figure::ObjectAbsent,
            client.timed_call("HEAD", 0, |objects| objects.object_size(&name))?.1,
        ),
        (Figure::ObjectPut, client.timed_call("PUT", SMALL, |objects| objects.put(&name, body))?.1),
        (Figure::ObjectHead, client.timed_call("HEAD", 0, |objects| objects.object_size(&name))?.1),
        (
            Figure::ObjectGet,
            client.timed_call("GET", SMALL, |objects| objects.get(&name, 0..size))?.1,
        ),
        (
            Figure::ObjectList,
            client.timed_call("LIST", 0, |objects| objects.list_recursive(&name))?.1,
        ),
    ];
    let (_, copied) = client.timed_call("COPY", 0, |objects| objects.copy(&name, &other))?;
    let (_, removed) = client.timed_call("DELETE", 0, |objects| objects.delete(&name))?;
    let (_, deleted) = client.timed_call("DELETE", 0, |objects| objects.delete(&other))?;
    for (figure, seconds) in timed {
        add_time(sums, figure, seconds);
    }
    add_time(sums, Figure::ObjectCopy, copied + removed);
    add_time(sums, Figure::ObjectDelete, deleted);
    Ok(())
}

/// Names by clients: an object of nothing that is written, asked for and deleted.
pub(super) fn measure_object_names(clients: &mut [ProbeClient<'_>]) -> Result<f64, ProbeStop> {
    run_together(clients, |client, _| {
        let name = client.unused_name();
        client.timed_call("PUT", 0, |objects| objects.put(&name, Bytes::new()))?;
        client.timed_call("HEAD", 0, |objects| objects.object_size(&name))?;
        client.timed_call("DELETE", 0, |objects| objects.delete(&name)).map(drop)
    })
}

/// Large objects by clients: written, read from end to end, and at random places.
pub(super) fn measure_large_objects(
    clients: &mut [ProbeClient<'_>],
    sizes: &RoundSizes,
) -> Result<[(Figure, f64); 3], ProbeStop> {
    let pieces = sizes.pieces_per_thread(clients.len() as u32);
    let size = pieces as usize * PIECE;
    let names: Vec<String> = clients.iter().map(ProbeClient::unused_name).collect();
    let bodies: Vec<Bytes> = clients.iter_mut().map(|client| random_body(client, pieces)).collect();
    let written = run_together(clients, |client, number| {
        let body = bodies[number].clone();
        client.timed_call("PUT", size, |objects| objects.put(&names[number], body)).map(drop)
    })?;
    let read = run_together(clients, |client, number| {
        let all = 0..size as u64;
        client.timed_call("GET", size, |objects| objects.get(&names[number], all)).map(drop)
    })?;
    let random = run_together(clients, |client, number| {
        (0..sizes.random).try_for_each(|_| {
            let at = client.bytes.next_random() % (size / SMALL) as u64 * SMALL as u64;
            let part = at..at + SMALL as u64;
            client.timed_call("GET", SMALL, |objects| objects.get(&names[number], part)).map(drop)
        })
    })?;
    for (client, name) in clients.iter().zip(&names) {
        client.timed_call("DELETE", 0, |objects| objects.delete(name))?;
    }
    Ok([(Figure::Upload, written), (Figure::Download, read), (Figure::RandomRead, random)])
}

fn random_body(client: &mut ProbeClient<'_>, pieces: u64) -> Bytes {
    let mut body = Vec::with_capacity(pieces as usize * PIECE);
    (0..pieces).for_each(|_| body.extend_from_slice(client.bytes.fresh_bytes(PIECE)));
    Bytes::from(body)
}

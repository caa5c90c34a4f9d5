//! Names of abstract sockets, at which a daemon can be asked.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::net::SocketAddrUnix;

/// How names of doors of a lasting mount begin: abstract addresses, which need no file and are gone
/// with the daemon (unix(7)). The mount's device number and its volume say which mount.
fn socket_name_prefix((major, minor): (u32, u32), volume: &Path) -> String {
    let volume = crc32fast::hash(volume.as_os_str().as_bytes());
    format!("forebay/mount/{volume:08x}/{major}:{minor}/")
}

/// Where the daemon of a lasting mount may open its door. Anybody can take a name that is free, so
/// behind those that everybody knows come some that nobody can guess.
pub(crate) fn candidate_sockets(
    device: (u32, u32),
    volume: &Path,
) -> impl Iterator<Item = SocketAddrUnix> {
    let name = socket_name_prefix(device, volume);
    let known = (0..8).map(|number: u64| number.to_string());
    let unknown = (0..8).map(|_| {
        let state = std::collections::hash_map::RandomState::new();
        format!("{:016x}", std::hash::BuildHasher::hash_one(&state, std::process::id()))
    });
    known.chain(unknown).filter_map(move |end| {
        SocketAddrUnix::new_abstract_name(format!("{name}{end}").as_bytes()).ok()
    })
}

/// Doors of that mount, and whatever others have put beside them: look who answers.
pub(crate) fn find_daemon_sockets(device: (u32, u32), volume: &Path) -> Vec<SocketAddrUnix> {
    let name = socket_name_prefix(device, volume);
    let names = abstract_names();
    let ours = names.iter().filter(|one| one.starts_with(&name));
    ours.filter_map(|one| SocketAddrUnix::new_abstract_name(one.as_bytes()).ok()).collect()
}

/// Abstract names that are taken now, each once; none where /proc is not mounted.
fn abstract_names() -> BTreeSet<String> {
    abstract_socket_names().unwrap_or_default()
}

/// Names of all abstract sockets, each once.
///
/// # Errors
/// Where /proc is not mounted.
pub(crate) fn abstract_socket_names() -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    // The kernel goes on by how many it has told: while others come and go, one is left out.
    for _ in 0..2 {
        let bytes = std::fs::read("/proc/net/unix")?;
        let text = String::from_utf8_lossy(&bytes);
        let found =
            text.lines().filter_map(|line| line.split_whitespace().last()?.strip_prefix('@'));
        names.extend(found.map(str::to_owned));
    }
    Ok(names)
}

//! What one thread does to one file after the other, each call timed by itself.

use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;

use super::bounds::ProbeStop;
use super::calls::{SMALL, ThreadDirectory};
use super::measured_figures::Figure;
use super::memory::{self, AlignedBuffer};

/// Sums of one round: seconds, and of how many.
pub(super) type FigureSums = std::collections::BTreeMap<Figure, (f64, u32)>;

pub(super) fn add_time(sums: &mut FigureSums, figure: Figure, seconds: f64) {
    let sum = sums.entry(figure).or_insert((0.0, 0));
    *sum = (sum.0 + seconds, sum.1 + 1);
}

/// Names that nobody ever had.
pub(super) fn measure_absent_name(
    caller: &ThreadDirectory<'_>,
    sums: &mut FigureSums,
) -> Result<(), ProbeStop> {
    add_time(sums, Figure::Getattr, caller.refresh_attributes()?.1);
    add_time(sums, Figure::Absent, caller.stat(&caller.bounds.unused_name())?.1);
    Ok(())
}

/// The life of a small file.
pub(super) fn measure_small_file(
    caller: &ThreadDirectory<'_>,
    bytes: &mut AlignedBuffer,
    sums: &mut FigureSums,
) -> Result<(), ProbeStop> {
    let (name, other) = (caller.bounds.unused_name(), caller.bounds.unused_name());
    caller.refresh_attributes()?;
    let (file, created) = caller.create(&name)?;
    let (_, written) = caller.write(&file, bytes.fresh_bytes(SMALL), 0)?;
    let (_, closed) = caller.close(file)?;
    add_time(sums, Figure::Create, created);
    add_time(sums, Figure::Close, closed);
    add_time(sums, Figure::Small, created + written + closed);
    let found = caller.lookup_name(&name)?.0;
    caller.read_attributes(&found)?;
    let (file, opened) = caller.open(&found, OFlags::RDWR)?;
    add_time(sums, Figure::Open, opened);
    let mode = Mode::RUSR | Mode::WUSR | Mode::XUSR;
    add_time(sums, Figure::Setattr, caller.timed_call("chmod", 0, || fs::fchmod(&file, mode))?.1);
    // rclone 1.60 has no attributes and answers with an error of input and output.
    let nothing = |errno| matches!(errno, Errno::NODATA | Errno::OPNOTSUPP | Errno::IO);
    let mut value = [0_u8; 8];
    let xattr = || match fs::fgetxattr(&file, "user.forebay", &mut value) {
        Err(errno) if nothing(errno) => Ok(()),
        result => result.map(drop),
    };
    add_time(sums, Figure::Xattr, caller.timed_call("xattr", 0, xattr)?.1);
    add_time(
        sums,
        Figure::Truncate,
        caller.timed_call("truncate", 0, || fs::ftruncate(&file, 1024))?.1,
    );
    drop((file, found));
    caller.refresh_attributes()?;
    add_time(sums, Figure::Rename, caller.rename(&name, &other)?.1);
    caller.refresh_attributes()?;
    add_time(sums, Figure::Unlink, caller.unlink(&other)?.1);
    Ok(())
}

/// A file and a name are made durable.
pub(super) fn measure_syncs(
    caller: &ThreadDirectory<'_>,
    bytes: &mut AlignedBuffer,
    sums: &mut FigureSums,
) -> Result<(), ProbeStop> {
    let (name, other) = (caller.bounds.unused_name(), caller.bounds.unused_name());
    let file = caller.create(&name)?.0;
    caller.write(&file, bytes.fresh_bytes(SMALL), 0)?;
    add_time(sums, Figure::Fsync, caller.fsync(&file)?.1);
    drop((file, caller.create(&other)?.0));
    add_time(sums, Figure::Fsyncdir, caller.fsync(&caller.dir)?.1);
    caller.unlink(&name)?;
    caller.unlink(&other)?;
    Ok(())
}

/// The life of a directory with some files.
pub(super) fn measure_directories(
    caller: &ThreadDirectory<'_>,
    sums: &mut FigureSums,
) -> Result<(), ProbeStop> {
    let name = caller.bounds.unused_name();
    caller.refresh_attributes()?;
    add_time(sums, Figure::Mkdir, caller.mkdir(&name)?.1);
    let inner = ThreadDirectory { bounds: caller.bounds, dir: caller.lookup_name(&name)?.0 };
    let names = [(); 3].map(|()| caller.bounds.unused_name());
    for name in &names {
        drop(inner.create(name)?.0);
    }
    inner.refresh_attributes()?;
    let (open, opened) = inner.open(&inner.dir, OFlags::RDONLY | OFlags::DIRECTORY)?;
    add_time(sums, Figure::Opendir, opened);
    add_time(sums, Figure::Readdir, inner.read_directory(&open)?.1);
    for name in &names {
        inner.unlink(name)?;
    }
    drop((open, inner));
    caller.refresh_attributes()?;
    add_time(sums, Figure::Rmdir, caller.rmdir(&name)?.1);
    Ok(())
}

/// Links, symbolic and hard.
pub(super) fn measure_links(
    caller: &ThreadDirectory<'_>,
    sums: &mut FigureSums,
) -> Result<(), ProbeStop> {
    let [file, link, symlink] = [(); 3].map(|()| caller.bounds.unused_name());
    let dir = &caller.dir;
    caller.refresh_attributes()?;
    let made =
        caller.timed_call("symlink", 0, || fs::symlinkat("somewhere", dir, symlink.as_str()))?;
    caller.refresh_attributes()?;
    let read = || fs::readlinkat(dir, symlink.as_str(), Vec::new()).map(drop);
    let read = caller.timed_call("readlink", 0, read)?;
    drop(caller.create(&file)?.0);
    caller.refresh_attributes()?;
    let flags = fs::AtFlags::empty();
    let linked = caller
        .timed_call("link", 0, || fs::linkat(dir, file.as_str(), dir, link.as_str(), flags))?;
    for (figure, seconds) in
        [(Figure::Symlink, made.1), (Figure::Readlink, read.1), (Figure::Link, linked.1)]
    {
        add_time(sums, figure, seconds);
    }
    for name in [file, link, symlink] {
        caller.unlink(&name)?;
    }
    Ok(())
}

/// Makes a file that is to be looked up when its name is not known any more, and read when memory
/// has let go of it.
pub(super) fn prepare_cold_file(
    caller: &ThreadDirectory<'_>,
    bytes: &mut AlignedBuffer,
) -> Result<String, ProbeStop> {
    let name = caller.bounds.unused_name();
    let file = caller.create(&name)?.0;
    caller.write(&file, bytes.fresh_bytes(SMALL), 0)?;
    caller.fsync(&file)?;
    memory::drop_from_memory(&file, false);
    Ok(name)
}

/// Looks it up, and reads its first bytes if the storage has to answer.
pub(super) fn measure_present_name(
    caller: &ThreadDirectory<'_>,
    name: &str,
    bytes: &mut AlignedBuffer,
    sums: &mut FigureSums,
) -> Result<(), ProbeStop> {
    caller.refresh_attributes()?;
    add_time(sums, Figure::Present, caller.stat(name)?.1);
    if let Some(file) = memory::open_past_memory(caller, name, SMALL, false)? {
        add_time(sums, Figure::FirstRead, caller.read(&file, bytes.space_for_read(SMALL), 0)?.1);
    }
    Ok(())
}

//! `forebay warm`: files of buckets come to this node, and to all its peers, before programs ask.

use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use forebay_model::ByteCount;
use forebay_volume::live::{LiveStatus, list_daemons, query_daemon};
use forebay_volume::warm::{WarmNode, WarmRequest, warm_files};
use serde_json::json;

use crate::console;
use crate::exit::CommandError;
use crate::name_escaping::escape_name;

/// Options of `forebay warm`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  forebay warm ~/refs/hg38.fa ~/refs/index    to all nodes that \
    share ~/refs (--peers)\n  forebay warm --here ~/refs                  to this one alone\n\n\
    A directory is all that is in it. Each node of --peers that has the same bucket mounted brings \
    the files to its own disk: a part that the bucket has is fetched once for all of them. A volume \
    that keeps only so much here (--space) may evict what came first.\n\n\
    Exit codes: 0 all nodes have all files; 1 some do not, and it says which and why."
)]
pub(crate) struct Args {
    /// To this node alone
    #[arg(long)]
    here: bool,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
    /// Files and directories of a mounted volume in a bucket, of one that several nodes write, or of an
    /// attached bucket
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// Paths of one mount.
struct MountedPaths {
    pid: u32,
    request: WarmRequest,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let daemons = list_daemons().map_err(|error| {
        let what = format!("looking for daemons: {error}");
        CommandError::new(1, what, "is /proc mounted? `forebay doctor` says")
    })?;
    // One that does not answer serves nobody's path.
    let daemons: Vec<LiveStatus> =
        daemons.into_iter().filter_map(|pid| query_daemon(pid).ok().flatten()).collect();
    let mut mounts: Vec<MountedPaths> = Vec::new();
    for path in &args.paths {
        add_path(&mut mounts, path, &daemons, args.here)?;
    }
    let mut all = Vec::new();
    for mount in mounts {
        let point = mount.request.point.clone();
        let ended = warm_files(mount.pid, &mount.request, &mut |nodes| show_progress(nodes));
        console::clear_passing_line();
        let nodes = ended.map_err(|error| {
            let what = format!("{}: its daemon does not warm it: {error}", point.display());
            CommandError::new(1, what, "`forebay status` says whether it is well")
        })?;
        all.extend(nodes);
    }
    if args.json {
        console::print(&(json!({ "schema": 1, "nodes": all }).to_string() + "\n"));
    } else {
        report_nodes(&all);
    }
    Ok(i32::from(all.iter().any(|node| node.failed > 0)))
}

/// Finds the mount of a path.
fn add_path(
    mounts: &mut Vec<MountedPaths>,
    path: &Path,
    daemons: &[LiveStatus],
    here: bool,
) -> Result<(), CommandError> {
    let real = path.canonicalize().map_err(|error| {
        let what = format!("{}: {error}", path.display());
        CommandError::new(1, what, "name files and directories that are there")
    })?;
    let points = daemons.iter().flat_map(|daemon| daemon.points.iter().map(move |at| (at, daemon)));
    let nearest = points
        .filter(|(point, _)| real.starts_with(point))
        .max_by_key(|(point, daemon)| (point.as_os_str().len(), daemon.lasting, daemon.pid));
    let Some((point, daemon)) = nearest else {
        let what = format!("{} is in no mount of yours", real.display());
        let next = "`forebay mount s3://BUCKET/PREFIX DIR` makes one; `forebay status` shows all";
        return Err(CommandError::new(1, what, next));
    };
    let below = real.strip_prefix(point).unwrap_or(Path::new("")).as_os_str().as_bytes().to_vec();
    let same =
        mounts.iter_mut().find(|mount| mount.pid == daemon.pid && mount.request.point == *point);
    match same {
        Some(mount) => mount.request.paths.push(below),
        None => {
            let request = WarmRequest { point: point.clone(), paths: vec![below], here };
            mounts.push(MountedPaths { pid: daemon.pid, request });
        }
    }
    Ok(())
}

fn show_progress(nodes: &[WarmNode]) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    let (done, all) =
        nodes.iter().fold((0, 0), |(done, all), node| (done + node.bytes.0, all + node.bytes.1));
    let over = nodes.iter().filter(|node| node.is_over).count();
    let many = match nodes.len() {
        1 => String::new(),
        count => format!(", {over} of {count} nodes have all"),
    };
    let line = format!("forebay: warming: {} of {}{many}", ByteCount(done), ByteCount(all));
    let width = console::terminal_width().saturating_sub(1);
    console::show_passing_line(&line.chars().take(width).collect::<String>());
}

fn report_nodes(nodes: &[WarmNode]) {
    for node in nodes {
        let name = match node.name.as_str() {
            "" => "this node".to_owned(),
            name => escape_name(name.as_bytes()),
        };
        let (files, s) = (node.files.0, if node.files.0 == 1 { "" } else { "s" });
        let bytes = ByteCount(node.bytes.0);
        match node.failed {
            0 => console::note(&format!("{name} has {files} file{s} ({bytes})")),
            failed => {
                console::note(&format!("{name} has {files} file{s} ({bytes}), {failed} failed"));
                let why = node.why.iter().map(|why| escape_name(why.as_bytes()));
                why.for_each(|why| console::note(&format!("  {why}")));
            }
        }
    }
}

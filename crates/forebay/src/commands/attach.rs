//! `forebay attach`: other directories, buckets, archives and files of reads, inside a volume.

pub(super) mod attached_bucket;
mod attached_reads;
mod plain_attachment;
mod rewrite;

use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use forebay_model::attached::{ExposedContent, ExposedReads, SHARDS_MAX};
use forebay_model::bucket_url::is_bucket_url;
use forebay_model::{Attachment, AttachmentSet};
use forebay_volume::overmount::{LIST, create_mount_point, read_attached, write_attached};
use forebay_volume::reads::remove_learned_index;

use crate::console;
use crate::exit::CommandError;

/// Options of `forebay attach`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  forebay attach . /data/references/hg38 ref --read-only\n  \
    forebay attach . s3://lab-data/run-17 fastq            a bucket's objects as files\n  \
    forebay attach . x.reads reads                         reads/x_R1.fastq, reads/x_R1.fastq.gz\n  \
    forebay attach . x.reads in64 --shards 64              and x_R1.0007-of-0064.fastq\n  \
    forebay attach . s3://lab-data/x.reads reads           the same of an archive in a bucket\n  \
    forebay attach . /data/x.fastq.gz plain                plain/x.fastq, at any place\n  \
    forebay attach . /data/run-17 plain --plain            the same of all in a directory\n  \
    forebay attach . --rewrite samples.csv -o here.csv     s3://lab-data/run-17/... becomes a path\n  \
    forebay attach .                                       lists what is attached\n\n\
    Every later `forebay run` and `forebay mount` of the volume shows SOURCE at PATH, without a \
    copy. Outside of them PATH is an empty directory, which is made if it is not there. Rules do \
    not reach into it. A bucket is read-only; folders are listed when somebody looks into them, \
    bytes come when they are read, and what has come stays on this machine for the next run. \
    An archive of reads (`forebay reads pack`) is read-only, too, and shown as the FASTQ that was \
    packed: it is decoded as it is read, at any place, and takes no space; of one in a bucket \
    nothing is kept on this machine either. A .fastq.gz, or a CRAM of reads that are not aligned, is \
    read once, now, and shown as plain FASTQ from then on, without a copy: what is kept is an index \
    of some thousandths of its text.")]
pub(crate) struct Args {
    /// The volume: a directory that runs manage, or that is mounted
    volume: PathBuf,
    /// The directory to show, or s3://BUCKET/PREFIX; either may be an archive of reads. Or a file
    /// of reads: .fastq.gz, .fq.gz or .cram
    #[arg(requires = "path")]
    source: Option<PathBuf>,
    /// Where in the volume
    path: Option<PathBuf>,
    /// Nothing there can be changed through the volume
    #[arg(long)]
    read_only: bool,
    /// Of an archive of reads, show as well each file in N parts, of mates the same reads
    #[arg(long, value_name = "N", requires = "path", value_parser = parse_shard_count)]
    shards: Option<NonZeroU32>,
    /// Of an archive of reads, show `?` for each quality, and fetch none
    #[arg(long, requires = "path")]
    lite: bool,
    /// Of a directory, show each .fastq.gz, .fq.gz and .cram as plain FASTQ, and nothing else
    #[arg(long, requires = "path", conflicts_with_all = ["shards", "lite"])]
    plain: bool,
    /// Print this text (a samplesheet) with each s3:// name that lies in an attached bucket
    /// replaced by its path in the volume; names that lie in none stay, and the status is 1 then
    #[arg(long, value_name = "SHEET", conflicts_with = "source")]
    rewrite: Option<PathBuf>,
    /// Write it to this file instead
    #[arg(short, long, value_name = "FILE", requires = "rewrite")]
    output: Option<PathBuf>,
}

impl Args {
    fn reads_view(&self) -> ExposedReads {
        ExposedReads { shards: self.shards, lite: self.lite }
    }
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let (volume, mut attached) = load_attachments(&args.volume)?;
    if let Some(sheet) = &args.rewrite {
        return rewrite::rewrite_sheet(&volume, &attached, sheet, args.output.as_deref());
    }
    let (Some(source), Some(path)) = (&args.source, &args.path) else {
        for one in attached.iter() {
            let how = attached_reads::describe_view(one.shows)
                .or(one.read_only.then(|| "read-only".to_owned()));
            let how = how.map_or(String::new(), |how| format!("  ({how})"));
            console::write_stderr(&format!(
                "{}  {}{how}\n",
                one.at.display(),
                one.source.display()
            ));
        }
        return Ok(0);
    };
    crate::foreign::refuse_foreign_url(source, 1)?;
    let refuse = |why: String| CommandError::new(1, why, "nothing was attached");
    let at = path_within_volume(&volume, path);
    let url = source.to_str().filter(|source| is_bucket_url(source));
    let (source, shows) = match url.map(attached_bucket::without_trailing_slashes) {
        // What it holds is asked of the bucket, once nothing else is in the way.
        Some(url) if args.plain => {
            return Err(refuse(plain_attachment::explain_plain_in_bucket(url)));
        }
        Some(url) => (url.into(), ExposedContent::Files),
        None => {
            let real = source.canonicalize().ok().filter(|real| real.is_dir() || real.is_file());
            let real = real.ok_or_else(|| {
                refuse(format!("{} is no directory, and no file of reads", source.display()))
            })?;
            let shows = match args.plain || real.is_file() {
                true => plain_attachment::plain_view(&real, args.reads_view())?,
                false => attached_reads::view_of_directory(&real, args.reads_view())?,
            };
            (real, shows)
        }
    };
    let read_only = args.read_only || url.is_some() || shows != ExposedContent::Files;
    let mut attachment = Attachment { source, at: at.clone(), read_only, shows };
    attached.add_attachment(attachment.clone()).map_err(refuse)?;
    if let Some(url) = attachment.bucket_url() {
        attachment.shows = attached_bucket::view_of_bucket(url, args.reads_view())?;
        attached.remove(&at);
        attached.add_attachment(attachment).map_err(refuse)?;
    }
    let point = volume.join(&at);
    let refuse = |error: std::io::Error| refuse(format!("{}: {error}", point.display()));
    create_mount_point(&volume, &at).map_err(refuse)?;
    if fs::read_dir(&point).map_err(refuse)?.next().is_some() {
        return Err(CommandError::new(
            1,
            format!("{} is not empty: its files would be hidden", point.display()),
            "attach it at a path that is not there yet; nothing was attached",
        ));
    }
    if shows == ExposedContent::Plain {
        plain_attachment::learn_plain_reads(&volume, &at, &attached)?;
    }
    if let Err(stop) = save_attachments(&volume, &attached) {
        remove_learned_index(&volume, &at);
        return Err(stop);
    }
    console::note(&format!("the next run or mount of {} shows it", volume.display()));
    Ok(0)
}

pub(super) fn load_attachments(volume: &Path) -> Result<(PathBuf, AttachmentSet), CommandError> {
    let real = volume.canonicalize().ok().filter(|real| real.is_dir());
    let real = real.ok_or_else(|| {
        let message = format!("{} is no directory", volume.display());
        CommandError::new(1, message, "name the directory that runs manage, or that is mounted")
    })?;
    let attached = read_attached(&real).map_err(|error| {
        CommandError::new(
            1,
            error.to_string(),
            format!("mend {} or remove it", real.join(LIST).display()),
        )
    })?;
    Ok((real, attached))
}

pub(super) fn save_attachments(
    volume: &Path,
    attached: &AttachmentSet,
) -> Result<(), CommandError> {
    write_attached(volume, attached).map_err(|error| {
        let message = format!("{} can't be written: {error}", volume.join(LIST).display());
        CommandError::new(1, message, "nothing was changed")
    })
}

fn parse_shard_count(text: &str) -> Result<NonZeroU32, String> {
    let number = text.parse().ok().filter(|number: &NonZeroU32| number.get() <= SHARDS_MAX);
    number.ok_or_else(|| format!("a number from 1 to {SHARDS_MAX}"))
}

/// The path relative to the volume, whether it was given so or from the current directory.
pub(super) fn path_within_volume(volume: &Path, path: &Path) -> PathBuf {
    let inside = path.strip_prefix(volume).unwrap_or(path);
    inside.components().filter(|part| *part != std::path::Component::CurDir).collect()
}

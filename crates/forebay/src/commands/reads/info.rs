//! `forebay reads info`.

use std::fmt::Write as _;
use std::path::PathBuf;

use forebay_reads::{Archive, ColumnTotal, ReadLayout, to_hex};
use serde_json::json;

use crate::console::group_thousands;
use crate::exit::CommandError;

/// Options of `forebay reads info`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay reads info x.reads\n  \
    forebay reads info x.reads --json | jq -r '.files[] | .md5 + \"  \" + .name' | md5sum -c\n\n\
    Reads the manifest and the index, none of the data. Sizes are bytes; bits are of the archive \
    for each byte of the column, so for each base or quality.")]
pub(super) struct Info {
    /// An archive: a directory, or s3://BUCKET/PREFIX
    archive: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Info) -> Result<i32, CommandError> {
    let archive = super::open_archive(&args.archive)?;
    let totals =
        archive.column_totals().map_err(|error| super::archive_error(&args.archive, &error))?;
    let text = if args.json { as_json(&archive, &totals) } else { info_text(&archive, &totals) };
    crate::console::print(&text);
    Ok(0)
}

fn shape_name(archive: &Archive) -> &'static str {
    match archive.manifest().shape {
        ReadLayout::Single => "single",
        ReadLayout::Paired => "paired",
        ReadLayout::Interleaved => "interleaved",
    }
}

fn as_json(archive: &Archive, totals: &[ColumnTotal]) -> String {
    let manifest = archive.manifest();
    let files = manifest.files.iter().map(|file| {
        let digests = &file.digests;
        json!({
            "name": file.name, "source": file.source, "bytes": digests.bytes,
            "md5": to_hex(&digests.md5), "sha256": to_hex(&digests.sha256),
        })
    });
    let columns = totals.iter().map(|total| {
        json!({
            "column": total.column.name(), "codec": total.codec, "chunks": total.chunks,
            "raw_bytes": total.raw_bytes, "bytes": total.bytes,
        })
    });
    let objects =
        manifest.objects.iter().map(|(name, bytes)| json!({"name": name, "bytes": bytes}));
    let all = json!({
        "shape": shape_name(archive),
        "writer": manifest.writer,
        "spots": manifest.spot_count(),
        "bytes_as_text": manifest.as_text_bytes,
        "files": files.collect::<Vec<_>>(),
        "columns": columns.collect::<Vec<_>>(),
        "objects": objects.collect::<Vec<_>>(),
    });
    format!("{all:#}\n")
}

fn info_text(archive: &Archive, totals: &[ColumnTotal]) -> String {
    let manifest = archive.manifest();
    let mut text = String::new();
    let (spots, writer) = (group_thousands(manifest.spot_count()), &manifest.writer);
    let reads = if manifest.shape.mate_count() == 2 { "pairs of reads" } else { "reads" };
    let _ = writeln!(text, "{spots} {reads}, {}, written by {writer}\n", shape_name(archive));
    for file in &manifest.files {
        let digests = &file.digests;
        let _ = writeln!(
            text,
            "{}  {} bytes, packed from {}",
            file.name,
            group_thousands(digests.bytes),
            file.source
        );
        let _ = writeln!(text, "  MD5     {}", to_hex(&digests.md5));
        let _ = writeln!(text, "  SHA-256 {}", to_hex(&digests.sha256));
    }
    let _ = writeln!(
        text,
        "\n{:<20}{:<11}{:>7}{:>18}{:>16}{:>8}",
        "column", "codec", "chunks", "bytes before", "bytes", "bits"
    );
    for total in totals {
        let bits = total.bytes as f64 * 8.0 / (total.raw_bytes.max(1)) as f64;
        let (raw, bytes) = (group_thousands(total.raw_bytes), group_thousands(total.bytes));
        let (column, codec, chunks) = (total.column.name(), total.codec, total.chunks);
        let _ = writeln!(text, "{column:<20}{codec:<11}{chunks:>7}{raw:>18}{bytes:>16}{bits:>8.3}");
    }
    let size: u64 = manifest.objects.iter().map(|(_, len)| *len).sum();
    let of_text: u64 = manifest.files.iter().map(|file| file.digests.bytes).sum();
    let part = size as f64 / of_text.max(1) as f64;
    let _ = writeln!(
        text,
        "\n{} bytes in {} objects, {part:.3} of the text",
        group_thousands(size),
        manifest.objects.len()
    );
    if manifest.as_text_bytes > 0 {
        let _ = writeln!(
            text,
            "{} bytes had no columns and are kept as text",
            group_thousands(manifest.as_text_bytes)
        );
    }
    text
}

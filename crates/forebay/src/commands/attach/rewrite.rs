//! `forebay attach --rewrite`: a samplesheet in which objects of attached buckets are files of the
//! volume. It changes names in a text and asks no bucket.

use std::io::Write;
use std::path::{Path, PathBuf};

use forebay_model::AttachmentSet;
use forebay_model::bucket_url::find_bucket_url;

use crate::console;
use crate::exit::CommandError;

/// Entries of no attachment that are named.
const NAMED: usize = 5;

/// A text with other names in it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Rewritten {
    text: String,
    /// Names that are now paths.
    found: usize,
    /// Names that lie in nothing that is attached.
    left: Vec<String>,
}

pub(super) fn rewrite_sheet(
    volume: &Path,
    attached: &AttachmentSet,
    sheet: &Path,
    output: Option<&Path>,
) -> Result<i32, CommandError> {
    let text = std::fs::read_to_string(sheet).map_err(|error| {
        let message = format!("{} can't be read: {error}", sheet.display());
        CommandError::new(1, message, "name a text file; nothing was written")
    })?;
    let rewritten = rewrite_object_names(&text, volume, attached);
    match output {
        None => print_sheet(&rewritten.text)?,
        Some(path) => replace_file(path, &rewritten.text).map_err(|error| {
            let message = format!("{} can't be written: {error}", path.display());
            CommandError::new(1, message, "name another file after -o; nothing was written")
        })?,
    }
    let Rewritten { found, left, .. } = rewritten;
    if left.is_empty() {
        console::note(&format!("{found} entries are paths in {} now", volume.display()));
        return Ok(0);
    }
    let named: Vec<&str> = left.iter().take(NAMED).map(String::as_str).collect();
    let more = match left.len().checked_sub(NAMED) {
        Some(more @ 1..) => format!(" and {more} more"),
        _ => String::new(),
    };
    Err(CommandError::new(
        1,
        format!(
            "{} of {} entries lie in no bucket that is attached, and stay: {}{more}",
            left.len(),
            found + left.len(),
            named.join(", ")
        ),
        format!("`forebay attach {} s3://BUCKET/PREFIX PATH` first", volume.display()),
    ))
}

fn rewrite_object_names(text: &str, volume: &Path, attached: &AttachmentSet) -> Rewritten {
    let mut done = Rewritten::default();
    let mut rest = text;
    while let Some(at) = find_bucket_url(rest) {
        let (before, from) = rest.split_at(at);
        done.text.push_str(before);
        let length = object_name_length(before.chars().next_back(), from);
        let (name, after) = from.split_at(length);
        match path_in_volume(name, volume, attached) {
            Some(path) => {
                done.text.push_str(&path);
                done.found += 1;
            }
            None => {
                done.text.push_str(name);
                done.left.push(name.to_owned());
            }
        }
        rest = after;
    }
    done.text.push_str(rest);
    done
}

/// Where a name ends: at the quote that it stands in, or where the next column or word begins.
fn object_name_length(before: Option<char>, from: &str) -> usize {
    let quote = before.filter(|letter| matches!(letter, '"' | '\''));
    let is_end = |letter: char| match quote {
        Some(quote) => letter == quote || matches!(letter, '\n' | '\r'),
        None => letter.is_whitespace() || matches!(letter, ',' | ';' | '|' | '"' | '\''),
    };
    from.find(is_end).unwrap_or(from.len())
}

/// The path of an object in the volume.
fn path_in_volume(name: &str, volume: &Path, attached: &AttachmentSet) -> Option<String> {
    let inside = attached.iter().filter_map(|one| {
        let rest = name.strip_prefix(one.bucket_url()?)?;
        let rest = if rest.is_empty() { rest } else { rest.strip_prefix('/')? };
        Some((rest, &one.at))
    });
    // Of prefixes that lie in each other the longest.
    let (rest, at) = inside.min_by_key(|(rest, _)| rest.len())?;
    let mut path = volume.join(at).into_os_string().into_string().ok()?;
    if !rest.is_empty() {
        path.push('/');
        path.push_str(rest);
    }
    Some(path)
}

/// Whoever reads less than all of it has their reasons; half a sheet on a full disk is an error.
fn print_sheet(text: &str) -> Result<(), CommandError> {
    match console::print_all(text) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(CommandError::new(
            1,
            format!("the sheet can't be written: {error}"),
            "write it elsewhere",
        )),
        _ => Ok(()),
    }
}

/// Replaces a file, whole or not at all.
fn replace_file(path: &Path, text: &str) -> std::io::Result<()> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = real.parent().filter(|parent| !parent.as_os_str().is_empty());
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let fresh: PathBuf =
        folder.unwrap_or(Path::new(".")).join(format!(".{name}.forebay-{}", std::process::id()));
    let mut file = std::fs::File::create_new(&fresh)?;
    let done = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    let done = done.and_then(|()| std::fs::rename(&fresh, &real));
    if done.is_err() {
        let _ = std::fs::remove_file(fresh);
    }
    done
}

#[cfg(test)]
mod tests {
    use forebay_model::Attachment;
    use forebay_model::attached::ExposedContent;

    use super::*;

    fn attached() -> AttachmentSet {
        let mut all = AttachmentSet::default();
        for (source, at) in
            [("s3://lab/runs", "in"), ("s3://lab/runs/old", "old"), ("s3://ref", "r")]
        {
            let (source, at) = (source.into(), at.into());
            all.add_attachment(Attachment {
                source,
                at,
                read_only: true,
                shows: ExposedContent::Files,
            })
            .expect("free");
        }
        all
    }

    fn of(text: &str) -> Rewritten {
        rewrite_object_names(text, Path::new("/data/v"), &attached())
    }

    #[test]
    fn names_of_attached_objects_become_paths_wherever_they_stand() {
        let sheet = "sample,fastq_1,fastq_2\r\nA,s3://lab/runs/a_1.fq.gz,s3://lab/runs/x/a_2.fq.gz\r\n\
            B,\"s3://ref/b, with comma.fq\",'s3://lab/runs/old/b.fq'\nC\ts3://lab/runs;s3://ref\n";
        let done = of(sheet);
        assert_eq!(
            done.text,
            "sample,fastq_1,fastq_2\r\nA,/data/v/in/a_1.fq.gz,/data/v/in/x/a_2.fq.gz\r\n\
             B,\"/data/v/r/b, with comma.fq\",'/data/v/old/b.fq'\nC\t/data/v/in;/data/v/r\n"
        );
        assert_eq!((done.found, done.left.len()), (6, 0));
    }

    #[test]
    fn names_of_no_attachment_stay_as_they_are() {
        let sheet = "s3://lab/runs2/a s3://other/x,/data/plain,https://ref/s3";
        let done = of(sheet);
        assert_eq!(done.text, sheet);
        assert_eq!(done.left, ["s3://lab/runs2/a", "s3://other/x"]);
    }
}

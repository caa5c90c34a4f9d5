//! Globs for classes of file names.

/// A glob that matches the files of a class, as narrow as globs can be: a run of digits begins
/// with one, and a name at the top is meant there only. `example` is one of them.
pub(super) fn glob_for_class(pattern: &str, example: &[u8]) -> String {
    // Where names have the sign itself, it may be one.
    let digits = if example.contains(&b'#') { "*" } else { "[0-9]*" };
    let mut glob = String::new();
    for c in pattern.chars() {
        match c {
            '#' => glob.push_str(digits),
            '*' => glob.push('*'),
            // Bytes that are no text, one or more.
            '\u{fffd}' => glob.push('*'),
            _ => push_escaped(&mut glob, c),
        }
    }
    // `**` is special as a whole part only, and stars beside each other are as one.
    let parts: Vec<String> = glob.split('/').map(collapse_stars).collect();
    anchor_at_top(parts.join("/"))
}

/// A glob that matches this one path.
pub(super) fn glob_for_path(path: &str) -> String {
    let mut glob = String::new();
    for c in path.chars() {
        if c == '\u{fffd}' { glob.push('*') } else { push_escaped(&mut glob, c) }
    }
    anchor_at_top(glob)
}

/// How narrow a glob is, for those that overlap: the narrower ones come first.
pub(super) fn narrowness(glob: &str) -> (usize, usize) {
    let stars = glob.matches('*').count();
    (glob.matches('/').count(), glob.len().saturating_sub(6 * stars))
}

fn push_escaped(glob: &mut String, c: char) {
    if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!' | ',') {
        glob.push('\\');
    }
    glob.push(c);
}

fn collapse_stars(part: &str) -> String {
    if part == "**" {
        return part.to_owned();
    }
    let mut single = String::new();
    for c in part.chars() {
        if !(c == '*' && single.ends_with('*') && !single.ends_with("\\*")) {
            single.push(c);
        }
    }
    single
}

/// A glob without a slash would match the name in any directory. One choice of two, of which no
/// path can be the second, has a slash.
fn anchor_at_top(glob: String) -> String {
    if glob.contains('/') { glob } else { format!("{{{glob},/}}") }
}

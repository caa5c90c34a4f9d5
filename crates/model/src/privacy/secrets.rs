//! Masks secrets in command lines: the shapes are a table, and everything works on bytes.

mod shell;

use std::borrow::Cow;
use std::ops::Range;

/// What stands where a secret was.
const MASK: &[u8] = b"***";

/// A shape that secrets have in a word; `find` adds the ranges to be masked.
struct SecretPattern {
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests name shapes by it"))]
    name: &'static str,
    find: fn(&[u8], &mut Vec<Range<usize>>),
    /// Words with a secret `@...@` between two signs, and words that must stay as they are.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests walk them"))]
    examples: (&'static [&'static str], &'static [&'static str]),
}

const SHAPES: &[SecretPattern] = &[
    SecretPattern {
        name: "assignment",
        find: find_assignments,
        examples: (
            &[
                "--password=@hunter2@",
                "--db.passwd=@x@",
                "AWS_SECRET_ACCESS_KEY=@abc/def+1@",
                "AWSAccessKeyId=@AK1@",
                "export apiKey='@a b@'; run",
                "sh -c TOKEN=@t@ other=1",
                "https://h/o?X-Amz-Credential=@c@&X-Amz-Expires=60&X-Amz-Signature=@s@",
                "https://h/o?sv=2&sig=@s%3D@",
                r#"{"client_secret": "@x y@", "n": 1}"#,
                "spark.hadoop.fs.s3a.secret.key=@k@",
            ],
            &["--key=2", "--tokenizer=x", "--author=me", "PWD=/home/me", "--token-file=/t", "a=b"],
        ),
    },
    SecretPattern {
        name: "header",
        find: find_headers,
        examples: (
            &[
                "Authorization: @Bearer abc.def@",
                "curl -H 'Authorization: @Basic Zm9v@' https://h/",
                "X-Auth-Token:@abc@",
                "private-token: @abc@",
                "Cookie: @a=1; b=2@",
            ],
            &["Accept: text/html", "note: the token is gone"],
        ),
    },
    SecretPattern {
        name: "option and value in one word",
        find: find_options,
        examples: (
            &["mysql --password @x@ -h db", "tool --api-key '@a b@' --n 1", "t --token @x@; ls"],
            &["tool --token --next", "tool --key 5", "--token"],
        ),
    },
    SecretPattern {
        name: "user in a URL",
        find: find_url_users,
        examples: (
            &["https://me:@pw@@host/x", "git clone https://@ghtoken@@host/x.git", "s3://k:@s@@b/o"],
            &["https://host/a@b", "https://host/x", "user@host:path", "https://host?q=a@b"],
        ),
    },
    SecretPattern {
        name: "well-known token",
        find: find_tokens,
        examples: (
            &[
                "@AKIAIOSFODNN7EXAMPLE@",
                "x @ghp_0123456789abcdefghijABCDEFGHIJ012345@ y",
                "@eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_d@",
                "@glpat-0123456789abcdefghij@",
            ],
            &["AKIA", "eyJ", "ghp_short", "s_key", "hf_reads"],
        ),
    },
    SecretPattern {
        name: "words of a shell",
        find: find_in_shell_text,
        examples: (
            &[
                "curl -u @me:pw@ https://h/x",
                "set -e; cd x && curl -sSu '@me:p w@' -O https://h/x",
                "curl -u@me:pw@ https://h/x | gzip > x",
                "curl --user=@me:pw@ https://h/x",
                "sshpass -p @x@ scp a b",
                "sshpass -p@x@ scp a b",
                "timeout 9 mysql -h db -p@x@ < q.sql",
                "PGPASSWORD=@x@ psql -h db",
                "export MYSQL_PWD=@x@ SSHPASS=@y@\nmysql -h db",
                "aws configure set aws_secret_access_key @x@ --profile me",
                "tool --token @x@ --n 1",
                "bash -c 'curl -u @me:pw@ h'",
                "srun -n 1 sh -c \"cd x; sshpass -p '@x@' scp a b\"",
                "git clone https://me:@pw@@h/x.git",
            ],
            &[
                "sort -u file | uniq",
                "bwa mem -p ref x.fq | samtools sort -u -",
                "cut -d: -f1 /etc/passwd",
                "set -u; PWD=/home/me; echo 'it is' \"said\"",
                "mkdir -p out && curl -O https://h/x",
                "echo 'unclosed",
            ],
        ),
    },
];

/// Options whose value is the next word and which only some programs have.
const PROGRAM_OPTIONS: &[(&str, &[&str])] = &[
    ("curl", &["-u", "--user", "--proxy-user", "-U", "-b", "--cookie"]),
    ("sshpass", &["-p"]),
    ("smbclient", &["-U"]),
    ("docker", &["-p"]),
    ("redis-cli", &["-a"]),
    ("mongosh", &["-p"]),
    ("mongodump", &["-p"]),
    ("ldapsearch", &["-w"]),
    ("openssl", &["-passin", "-passout"]),
    ("unzip", &["-P"]),
];

/// Programs that take a password glued to `-p`.
const GLUED_PASSWORD: &[&str] = &["mysql", "mysqldump", "mariadb", "mysqladmin", "sshpass"];

/// Shells within shells that are looked into.
const DEEPEST: usize = 4;

/// The words of a command line with secrets masked by `***`. Words without secrets are borrowed.
pub fn mask_words(words: &[Vec<u8>]) -> Vec<Cow<'_, [u8]>> {
    let told = secrets_from_context(words.iter().map(Vec::as_slice));
    words.iter().zip(told).map(|(word, told)| mask_word(word, told)).collect()
}

/// Of each word the part that is secret because of the program and the words before it.
fn secrets_from_context<'w>(
    words: impl Iterator<Item = &'w [u8]>,
) -> impl Iterator<Item = Option<Range<usize>>> {
    // Whatever starts the program (sudo, env, timeout, srun) comes before it.
    let (mut own, mut glued): (&[&str], bool) = (&[], false);
    let (mut next_is_secret, mut before): (bool, &[u8]) = (false, b"");
    words.map(move |word| {
        let before = std::mem::replace(&mut before, word);
        if std::mem::take(&mut next_is_secret) && word.first() != Some(&b'-') {
            return Some(0..word.len());
        }
        let name = base_name(word);
        if let Some((_, options)) = PROGRAM_OPTIONS.iter().find(|(p, _)| p.as_bytes() == name) {
            own = options;
        }
        glued |= GLUED_PASSWORD.iter().any(|program| program.as_bytes() == name);
        let value = own.iter().find_map(|option| attached_value(word, option));
        let is_glued = glued && word.len() > 2 && word.starts_with(b"-p");
        let value = value.or_else(|| is_glued.then_some(2..word.len()));
        let is_set = before == b"set" && is_secret_name(word);
        let asks_for_one = own.iter().any(|option| takes_next_word(word, option));
        next_is_secret = value.is_none() && (is_secret_option(word) || is_set || asks_for_one);
        value
    })
}

/// Whether the next word is the value of `option`: it may be the last of several letters (`-sSu`).
fn takes_next_word(word: &[u8], option: &str) -> bool {
    let option = option.as_bytes();
    let is_letter = option.len() == 2;
    let several = || {
        word.len() <= 6
            && word.first() == Some(&b'-')
            && word[1..].iter().all(u8::is_ascii_alphabetic)
            && word.last() == option.last()
    };
    word == option || is_letter && several()
}

/// The value that is in one word with its option: `-uNAME:PASSWORD`, `--user=NAME:PASSWORD`.
fn attached_value(word: &[u8], option: &str) -> Option<Range<usize>> {
    let rest = word.strip_prefix(option.as_bytes())?;
    let skip = match (option.len(), rest.first()) {
        (_, None) => return None,
        (2, _) => 0,
        (_, Some(b'=')) => 1,
        _ => return None,
    };
    (rest.len() > skip).then(|| option.len() + skip..word.len())
}

/// Secrets of a text that a shell is given.
fn find_in_shell_text(text: &[u8], ranges: &mut Vec<Range<usize>>) {
    find_in_nested_shells(text, 0, DEEPEST, ranges);
}

fn find_in_nested_shells(text: &[u8], start: usize, deep: usize, ranges: &mut Vec<Range<usize>>) {
    if deep == 0 || !text.iter().any(u8::is_ascii_whitespace) {
        return;
    }
    for words in shell::split_commands(text) {
        let told = secrets_from_context(words.iter().map(|word| &text[word.clone()]));
        for (word, told) in words.iter().zip(told) {
            let at = start + word.start;
            if let Some(part) = told {
                push_nonempty(ranges, at + part.start..at + part.end);
            } else if word.len() < text.len() {
                find_in_nested_shells(&text[word.clone()], at, deep - 1, ranges);
            }
        }
    }
}

/// One word with its secrets masked.
fn mask_word(word: &[u8], told: Option<Range<usize>>) -> Cow<'_, [u8]> {
    let mut ranges: Vec<Range<usize>> = told.into_iter().collect();
    for shape in SHAPES {
        (shape.find)(word, &mut ranges);
    }
    if ranges.is_empty() {
        return Cow::Borrowed(word);
    }
    ranges.sort_by_key(|r| (r.start, r.end));
    let (mut out, mut at) = (Vec::with_capacity(word.len()), 0);
    for range in ranges {
        if range.end <= at {
            continue;
        }
        if range.start >= at {
            out.extend_from_slice(&word[at..range.start]);
            out.extend_from_slice(MASK);
        }
        at = range.end;
    }
    out.extend_from_slice(&word[at..]);
    Cow::Owned(out)
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&b| b == b'/').next().unwrap_or(path)
}

fn is_secret_option(word: &[u8]) -> bool {
    let Some(name) = word.strip_prefix(b"-") else { return false };
    let name = name.strip_prefix(b"-").unwrap_or(name);
    name.iter().all(|&b| is_name_byte(b)) && is_secret_name(name)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Does a name such as `AWS_SECRET_ACCESS_KEY` or `apiKey` announce a secret?
fn is_secret_name(name: &[u8]) -> bool {
    #[rustfmt::skip]
    const ALONE: &[&str] = &[
        "password", "passwd", "passphrase", "passcode", "pass", "secret", "secrets", "token",
        "apikey", "credential", "credentials", "auth", "authorization", "signature", "sig",
        "bearer", "cookie", "accesskey", "secretkey", "sshpass",
    ];
    /// In one word with what they are for: PGPASSWORD.
    const ENDS: &[&str] = &["password", "passwd", "secret", "token", "apikey"];
    /// Before `key` these make it a secret one.
    const KEYS: &[&str] = &["api", "access", "private", "secret", "account", "storage", "license"];
    /// A name that ends so tells of a secret but does not hold it.
    const ABOUT: &[&str] = &["file", "path", "dir", "url", "type", "size", "length", "stdin"];
    let segments = split_name_segments(name);
    if segments.last().is_some_and(|last| ABOUT.contains(&last.as_str())) {
        return false;
    }
    // `PWD` is where a shell is, and another's is its password.
    let is_pwd = segments.len() > 1 && segments.last().is_some_and(|last| last == "pwd");
    is_pwd
        || segments.iter().any(|s| ALONE.contains(&s.as_str()))
        || segments.iter().any(|s| ENDS.iter().any(|end| s.ends_with(end)))
        || segments.windows(2).any(|w| w[1] == "key" && KEYS.contains(&w[0].as_str()))
}

/// `AWSAccessKeyId` -> aws, access, key, id.
fn split_name_segments(name: &[u8]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut fresh = true;
    for (i, &byte) in name.iter().enumerate() {
        if !byte.is_ascii_alphanumeric() {
            fresh = true;
            continue;
        }
        let after_lower = i > 0 && name[i - 1].is_ascii_lowercase();
        let before_lower = name.get(i + 1).is_some_and(u8::is_ascii_lowercase);
        let starts = byte.is_ascii_uppercase() && (after_lower || (i > 0 && before_lower));
        if fresh || starts {
            all.push(String::new());
        }
        fresh = false;
        if let Some(last) = all.last_mut() {
            last.push(byte.to_ascii_lowercase() as char);
        }
    }
    all
}

/// The name that ends right before `at`; a closing quote of JSON may stand between.
fn name_before(word: &[u8], at: usize) -> &[u8] {
    let end = if at > 0 && matches!(word[at - 1], b'"' | b'\'') { at - 1 } else { at };
    let length = word[..end].iter().rev().take_while(|&&b| is_name_byte(b)).count();
    &word[end - length..end]
}

/// The value that begins at `at`: quoted, or up to what ends a word of a shell or a query.
fn value_at(word: &[u8], at: usize) -> Range<usize> {
    match word.get(at) {
        Some(&quote @ (b'"' | b'\'')) => {
            let length = word[at + 1..].iter().take_while(|&&b| b != quote).count();
            at + 1..at + 1 + length
        }
        _ => {
            let ends = |b: &u8| {
                b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'&' | b';' | b'|' | b',')
            };
            at..at + word[at..].iter().take_while(|b| !ends(b)).count()
        }
    }
}

fn push_nonempty(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    if !range.is_empty() {
        ranges.push(range);
    }
}

fn find_assignments(word: &[u8], ranges: &mut Vec<Range<usize>>) {
    for (at, &byte) in word.iter().enumerate() {
        let quoted_name = at > 0 && byte == b':' && matches!(word[at - 1], b'"' | b'\'');
        if (byte == b'=' || quoted_name) && is_secret_name(name_before(word, at)) {
            let blanks = word[at + 1..].iter().take_while(|&&b| b == b' ' && quoted_name).count();
            push_nonempty(ranges, value_at(word, at + 1 + blanks));
        }
    }
}

fn find_headers(word: &[u8], ranges: &mut Vec<Range<usize>>) {
    for (at, _) in word.iter().enumerate().filter(|&(_, &b)| b == b':') {
        let name = name_before(word, at);
        let starts = at == name.len() || matches!(word[at - name.len() - 1], b'"' | b'\'' | b'\n');
        if starts && !name.is_empty() && is_secret_name(name) {
            let start = at + 1 + word[at + 1..].iter().take_while(|&&b| b == b' ').count();
            let ends = |b: &u8| matches!(b, b'"' | b'\'' | b'\n');
            let length = word[start..].iter().take_while(|b| !ends(b)).count();
            push_nonempty(ranges, start..start + length);
        }
    }
}

fn find_options(word: &[u8], ranges: &mut Vec<Range<usize>>) {
    let mut at = 0;
    while let Some(found) = word[at..].windows(2).position(|w| w == b"--") {
        let start = at + found;
        let name = word[start + 2..].iter().take_while(|&&b| is_name_byte(b)).count();
        at = start + 2 + name;
        let blanks = word[at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
        let value = at + blanks;
        let opens = start == 0 || word[start - 1].is_ascii_whitespace();
        let has_value = blanks > 0 && word.get(value).is_some_and(|&b| b != b'-');
        if opens && has_value && is_secret_name(&word[start + 2..at]) {
            push_nonempty(ranges, value_at(word, value));
        }
    }
}

fn find_url_users(word: &[u8], ranges: &mut Vec<Range<usize>>) {
    let mut at = 0;
    while let Some(found) = word[at..].windows(3).position(|w| w == b"://") {
        let start = at + found + 3;
        at = start;
        let ends =
            |b: &u8| b.is_ascii_whitespace() || matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'');
        let authority = &word[start..start + word[start..].iter().take_while(|b| !ends(b)).count()];
        let Some(user) = authority.iter().rposition(|&b| b == b'@') else { continue };
        let colon = authority[..user].iter().position(|&b| b == b':');
        push_nonempty(ranges, start + colon.map_or(0, |c| c + 1)..start + user);
    }
}

fn find_tokens(word: &[u8], ranges: &mut Vec<Range<usize>>) {
    /// Prefix, and how many bytes must follow.
    #[rustfmt::skip]
    const PREFIXES: &[(&str, usize)] = &[
        ("AKIA", 16), ("ASIA", 16), ("ghp_", 30), ("gho_", 30), ("ghs_", 30), ("github_pat_", 30),
        ("glpat-", 20), ("xoxb-", 20), ("xoxp-", 20), ("hf_", 30), ("sk-", 30), ("AIza", 30),
        ("eyJ", 20),
    ];
    for (prefix, least) in PREFIXES {
        let prefix = prefix.as_bytes();
        let mut at = 0;
        while let Some(found) = word[at..].windows(prefix.len()).position(|w| w == prefix) {
            let start = at + found;
            at = start + prefix.len();
            let rest = word[at..].iter().take_while(|&&b| is_name_byte(b)).count();
            let opens = start == 0 || !word[start - 1].is_ascii_alphanumeric();
            if opens && rest >= *least {
                ranges.push(start..at + rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, a password is in every report that somebody shares.
    use super::*;

    fn masked(words: &[&str]) -> Vec<String> {
        let words: Vec<Vec<u8>> = words.iter().map(|w| w.as_bytes().to_vec()).collect();
        mask_words(&words).iter().map(|w| String::from_utf8_lossy(w).into_owned()).collect()
    }

    /// `a@secret@b` -> (`asecretb`, `a***b`). A literal `@` is written at the end as `@@`.
    fn example(text: &str) -> (String, String) {
        let text = text.replace("@@", "@\u{1}");
        let (mut plain, mut hidden) = (String::new(), String::new());
        for (i, part) in text.split('@').enumerate() {
            let part = part.replace('\u{1}', "@");
            plain.push_str(&part);
            hidden.push_str(if i % 2 == 1 { "***" } else { &part });
        }
        (plain, hidden)
    }

    #[test]
    fn every_shape_hides_its_examples_and_nothing_else() {
        for shape in SHAPES {
            for text in shape.examples.0 {
                let (plain, hidden) = example(text);
                assert_eq!(masked(&[&plain])[0], hidden, "shape {}", shape.name);
            }
            for text in shape.examples.1 {
                assert_eq!(masked(&[text])[0], *text, "shape {}", shape.name);
            }
        }
    }

    #[test]
    fn a_value_in_the_next_word() {
        assert_eq!(masked(&["t", "--token", "x", "y"]), ["t", "--token", "***", "y"]);
        assert_eq!(masked(&["t", "--password", "--x", "y"]), ["t", "--password", "--x", "y"]);
        assert_eq!(masked(&["/usr/bin/curl", "-u", "me:pw"]), ["/usr/bin/curl", "-u", "***"]);
        assert_eq!(masked(&["sort", "-u", "file"]), ["sort", "-u", "file"]);
        assert_eq!(masked(&["sudo", "curl", "-sSu", "me:pw"]), ["sudo", "curl", "-sSu", "***"]);
        let set = ["aws", "configure", "set", "aws_session_token", "x"];
        assert_eq!(masked(&set)[4], "***");
        assert_eq!(masked(&["mysql", "-psecret", "db"]), ["mysql", "-p***", "db"]);
        assert_eq!(masked(&["bwa", "mem", "-p", "ref"]), ["bwa", "mem", "-p", "ref"]);
    }

    #[test]
    fn bytes_that_are_no_text_stay_and_hide_nothing() {
        let words = [b"--password=a\xff\xfeb".to_vec(), b"\xff=\xfe".to_vec(), b"=:@://".to_vec()];
        let masked = mask_words(&words);
        assert_eq!(&*masked[0], b"--password=***");
        assert_eq!(&*masked[1], b"\xff=\xfe");
        assert_eq!(&*masked[2], b"=:@://");
    }

    #[test]
    fn any_cut_of_any_example_is_taken() {
        for text in SHAPES.iter().flat_map(|s| s.examples.0) {
            for end in 0..text.len() {
                mask_words(&[text.as_bytes()[..end].to_vec(), text.as_bytes()[end..].to_vec()]);
            }
        }
    }
}

//! Whether a setting can be what it is called: the client takes it for granted, and ends the program.

use std::net::Ipv6Addr;

/// What is wrong with it, in words that hold no secret.
pub(super) fn check_setting(name: &str, value: &str) -> Result<(), String> {
    // Keys and tokens are sent in a line of a header, in which a blank may be.
    let is_sent = ["ACCESS_KEY_ID", "TOKEN", "ACCOUNT", "ACCOUNT_NAME"];
    let is_sent = is_sent.iter().any(|end| name.ends_with(end));
    let is_address = name.ends_with("REGION") || name.contains("ENDPOINT");
    let fits = |c: char| c.is_ascii_graphic() || c == ' ' && !is_address;
    let odd = value.chars().find(|c| !fits(*c)).filter(|_| is_sent || is_address);
    if let Some(odd) = odd {
        return Err(format!("{name} has {odd:?} in it, which nothing of its kind has"));
    }
    if name.ends_with("REGION") && !value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return Err(format!("{name}={value} is no region, such as eu-west-1"));
    }
    if name.contains("ENDPOINT") {
        return check_endpoint(value).map_err(|why| format!("{name} {why}"));
    }
    Ok(())
}

fn check_endpoint(value: &str) -> Result<(), &'static str> {
    let rest = value.strip_prefix("http://").or_else(|| value.strip_prefix("https://"));
    let rest = rest.ok_or("has no http:// or https:// at its start")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':').unwrap_or(port)),
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let is_host = !host.is_empty() && host.chars().all(is_name) || host.parse::<Ipv6Addr>().is_ok();
    let is_path = !rest.contains(['"', '<', '>', '\\', '^', '`', '{', '|', '}']);
    // A name and a password in it would be in every message.
    if !is_host || !is_path || authority.contains('@') {
        return Err("names no machine: it is like http://127.0.0.1:9000");
    }
    if !port.is_empty() && port.parse::<u16>().is_err() {
        return Err("has a port that is none: 1 to 65535");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    //! If these fail, a setting ends Forebay with a stack trace.
    use super::*;

    #[test]
    fn what_can_be_is_taken_and_what_can_not_is_told() {
        for good in [
            "http://127.0.0.1:9000",
            "https://s3.eu-west-1.amazonaws.com",
            "http://[::1]:9000/",
            "https://minio/path",
        ] {
            assert_eq!(check_setting("AWS_ENDPOINT_URL", good), Ok(()), "{good}");
        }
        for (bad, says) in [
            ("127.0.0.1:9000", "no http://"),
            ("localhost", "no http://"),
            ("ftp://h", "no http://"),
            ("http://", "names no machine"),
            ("http://a b/", "' ' in it"),
            ("http://[::1", "names no machine"),
            ("http://me:pw@h", "names no machine"),
            ("http://h:99999", "port"),
            ("http://h/\u{e9}", "in it"),
        ] {
            let why = check_setting("AWS_ENDPOINT_URL", bad).expect_err(bad);
            assert!(why.contains(says) && !why.contains("pw"), "{bad}: {why}");
        }
        assert!(
            check_setting("AWS_REGION", "eu west").is_err()
                && check_setting("AWS_REGION", "x/y").is_err()
        );
        let why = check_setting("AWS_SESSION_TOKEN", "hush\n").expect_err("a line break");
        assert!(!why.contains("hush"), "{why}");
        assert_eq!(check_setting("AWS_SECRET_ACCESS_KEY", "a/b c="), Ok(()));
    }
}

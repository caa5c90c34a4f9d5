//! What a client needs to know to reach a bucket, some of which nobody else may know.

use std::ffi::OsString;
use std::fmt;

/// Names begin so, in the environment, of what AWS's and Azure's own tools take from it.
const PREFIXES: [&str; 2] = ["AWS_", "AZURE_"];
/// The name of a key there; who has one needs no file.
const KEY: &str = "AWS_ACCESS_KEY_ID";
/// What of a profile is used, and what it is called in the environment (AWS SDKs and Tools
/// reference guide, "Settings reference").
const USED: [(&str, &str); 5] = [
    ("aws_access_key_id", KEY),
    ("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY"),
    ("aws_session_token", "AWS_SESSION_TOKEN"),
    ("region", "AWS_REGION"),
    ("endpoint_url", "AWS_ENDPOINT_URL"),
];
/// Ways to a key of which we go none.
const OTHER_WAYS: [&str; 5] =
    ["credential_process", "role_arn", "sso_session", "sso_start_url", "login_session"];

/// Names and values as AWS's own tools have them in the environment (`AWS_ACCESS_KEY_ID`,
/// `AWS_REGION`, `AWS_ENDPOINT_URL`, ...) or in `~/.aws`, and Azure's in the environment
/// (`AZURE_STORAGE_ACCOUNT`, `AZURE_STORAGE_KEY`, ...). They are never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct BucketSettings {
    pairs: Vec<(String, String)>,
    trouble: Option<String>,
}

/// The two files that AWS's own tools read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileFile {
    /// `~/.aws/credentials`
    Credentials,
    /// `~/.aws/config`
    Config,
}

impl BucketSettings {
    /// Those of an environment; where that has no key, with those of its profile. `read` gives the
    /// text of a file, if it is there, which the environment may say is elsewhere.
    pub fn from_environment(
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        read: impl Fn(ProfileFile, Option<&str>) -> Option<String>,
    ) -> BucketSettings {
        let text = |(name, value): (OsString, OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let ours =
            |(name, _): &(String, String)| PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        let pairs: Vec<_> = environment.into_iter().filter_map(text).filter(ours).collect();
        let mut settings = BucketSettings { pairs, trouble: None };
        if settings.get(KEY).is_none() {
            settings.add_profile(read);
        }
        settings
    }

    fn get(&self, name: &str) -> Option<&str> {
        let known = self.pairs.iter().find(|(known, value)| known == name && !value.is_empty());
        known.map(|(_, value)| value.as_str())
    }

    fn add_profile(&mut self, read: impl Fn(ProfileFile, Option<&str>) -> Option<String>) {
        let profile = self.get("AWS_PROFILE").or(self.get("AWS_DEFAULT_PROFILE"));
        let profile = profile.unwrap_or("default").to_owned();
        let credentials = read(ProfileFile::Credentials, self.get("AWS_SHARED_CREDENTIALS_FILE"));
        let config = read(ProfileFile::Config, self.get("AWS_CONFIG_FILE"));
        let mut found = profile_section(credentials.as_deref().unwrap_or(""), &profile);
        let longer = format!("profile {profile}");
        for name in [profile.as_str(), &longer] {
            found.extend(profile_section(config.as_deref().unwrap_or(""), name));
        }
        for (key, name) in USED {
            let value = found.iter().find(|(known, _)| known == key);
            if let Some((_, value)) = value.filter(|_| self.get(name).is_none()) {
                self.pairs.push((name.to_owned(), value.clone()));
            }
        }
        let way = found.iter().find(|(key, _)| OTHER_WAYS.contains(&key.as_str()));
        if let Some((way, _)) = way.filter(|_| self.get(KEY).is_none()) {
            self.trouble = Some(format!(
                "profile {profile} has {way} and no key; `eval \"$(aws configure \
                 export-credentials --profile {profile} --format env)\"` gives one"
            ));
        }
    }

    /// Those for S3.
    ///
    /// # Errors
    /// Why a profile is of no use, in words.
    pub(super) fn into_s3_pairs(self) -> Result<Vec<(String, String)>, String> {
        match self.trouble {
            None => Ok(self.pairs),
            Some(trouble) => Err(trouble),
        }
    }

    /// Those for Azure: of AWS none are looked at.
    pub(super) fn into_azure_pairs(self) -> Vec<(String, String)> {
        self.pairs
    }
}

impl From<Vec<(String, String)>> for BucketSettings {
    fn from(pairs: Vec<(String, String)>) -> Self {
        BucketSettings { pairs, trouble: None }
    }
}

impl fmt::Debug for BucketSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.pairs.iter().map(|(name, _)| name)).finish()
    }
}

/// Keys and values below `[name]`; lines that are indented belong to the key before them.
fn profile_section(text: &str, name: &str) -> Vec<(String, String)> {
    let mut here = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.trim_end().strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            here = title.split_whitespace().eq(name.split_whitespace());
        } else if here
            && !line.starts_with([' ', '\t', '#', ';'])
            && let Some((key, value)) = line.split_once('=')
        {
            found.push((key.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREDENTIALS: &str = "[default]\naws_access_key_id = A\naws_secret_access_key=a=b\n\
        # aws_session_token = no\n[lab]\naws_access_key_id=L\naws_secret_access_key=l\n";
    const CONFIG: &str = "[default]\nregion = eu-west-1\n[profile lab]\nregion=eu-north-1\n\
        s3 =\n  region = no\nendpoint_url = http://lab:9000\n[profile work]\nsso_session = us\n";

    fn settings(environment: &[(&str, &str)]) -> BucketSettings {
        let pairs = environment.iter().map(|(name, value)| (name.into(), value.into()));
        BucketSettings::from_environment(pairs, |file, elsewhere| match (file, elsewhere) {
            (ProfileFile::Credentials, None) => Some(CREDENTIALS.to_owned()),
            (ProfileFile::Config, None) => Some(CONFIG.to_owned()),
            _ => None,
        })
    }

    #[test]
    fn nothing_but_the_names_is_shown() {
        let settings = settings(&[("AWS_ACCESS_KEY_ID", "hush"), ("OTHER", "hush too")]);
        assert_eq!(format!("{settings:?}"), "[\"AWS_ACCESS_KEY_ID\"]");
        assert_eq!(settings.into_s3_pairs().map(|pairs| pairs.len()), Ok(1));
    }

    #[test]
    fn where_the_environment_has_no_key_the_profile_is_asked() {
        let at_first = settings(&[]);
        assert_eq!(at_first.get(KEY), Some("A"));
        assert_eq!(at_first.get("AWS_SECRET_ACCESS_KEY"), Some("a=b"));
        assert_eq!(at_first.get("AWS_SESSION_TOKEN"), None);
        assert_eq!(at_first.get("AWS_REGION"), Some("eu-west-1"));
        let lab = settings(&[("AWS_PROFILE", "lab"), ("AWS_REGION", "here-1")]);
        assert_eq!((lab.get(KEY), lab.get("AWS_REGION")), (Some("L"), Some("here-1")));
        assert_eq!(lab.get("AWS_ENDPOINT_URL"), Some("http://lab:9000"));
        let own = settings(&[(KEY, "mine")]);
        assert_eq!((own.get(KEY), own.get("AWS_SECRET_ACCESS_KEY")), (Some("mine"), None));
        let work = settings(&[("AWS_PROFILE", "work")]).into_s3_pairs().expect_err("no key");
        assert!(work.contains("sso_session") && work.contains("--profile work"), "{work}");
        let elsewhere =
            settings(&[("AWS_SHARED_CREDENTIALS_FILE", "/x"), ("AWS_CONFIG_FILE", "/y")]);
        assert_eq!(elsewhere.get(KEY), None);
    }
}

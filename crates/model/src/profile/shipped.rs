//! Profiles that come with Forebay: one file each, one line here.

use super::TierTemplate;

/// A name, and the text of its file.
macro_rules! shipped {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../profiles/", $name, ".toml"))),)*]
    };
}

/// All of them, by name.
pub const SHIPPED: &[(&str, &str)] = shipped!(
    "ebs-gp2"
    "ebs-gp3"
    "efs-bursting"
    "efs-elastic"
    "fefs"
    "fsx-lustre"
    "instance-store"
    "laptop-nvme"
    "llio-cache"
    "llio-shared"
    "llio-temp"
    "lustre-4oss"
    "nfs-server"
    "s3-mount"
    "spinning-disk"
);

impl TierTemplate {
    /// The one that comes with Forebay under this name.
    pub fn find_builtin(name: &str) -> Option<Self> {
        let (name, text) = SHIPPED.iter().find(|(known, _)| *known == name)?;
        Self::parse(text, name).ok()
    }
}

#[cfg(test)]
mod tests {
    //! A profile that can't be read would be missed by who asks for its name.
    use super::*;

    #[test]
    fn every_shipped_profile_is_whole_and_says_where_its_numbers_are_from() {
        for (name, text) in SHIPPED {
            let described = TierTemplate::parse(text, name).unwrap_or_else(|flaw| panic!("{flaw}"));
            assert!((10..=80).contains(&described.about.len()), "{name}: {}", described.about);
            assert!(described.profile.source.len() > 20, "{name}: {}", described.profile.source);
        }
        assert!(SHIPPED.is_sorted(), "people look them up by name");
        assert_eq!(TierTemplate::find_builtin("floppy"), None);
    }
}

//! The answer to one check: where it stands, what that means, who mends it and how.

use serde::Serialize;

/// Where something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CheckStatus {
    /// As good as it gets, or of no matter here.
    Ok,
    /// It works with less speed or less sight.
    Limited,
    /// Without it a run does not work.
    Missing,
}

impl CheckStatus {
    /// The word for people.
    pub(super) fn word(self) -> &'static str {
        match self {
            CheckStatus::Ok => "ok",
            CheckStatus::Limited => "limited",
            CheckStatus::Missing => "missing",
        }
    }
}

/// Who can mend it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FixOwner {
    /// The user.
    You,
    /// Who has root.
    Admin,
}

impl FixOwner {
    /// The word for people.
    pub(super) fn word(self) -> &'static str {
        match self {
            FixOwner::You => "you",
            FixOwner::Admin => "your admin",
        }
    }
}

/// One way to mend it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Fix {
    pub(super) who: FixOwner,
    pub(super) what: String,
}

/// The answer.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) standing: CheckStatus,
    /// What was found, and what it means.
    pub(super) means: String,
    /// Ways to mend it, the best first; one of them is enough.
    pub(super) fixes: Vec<Fix>,
}

impl Finding {
    fn new(standing: CheckStatus, means: impl Into<String>) -> Finding {
        Finding { standing, means: means.into(), fixes: Vec::new() }
    }

    pub(super) fn ok(means: impl Into<String>) -> Finding {
        Finding::new(CheckStatus::Ok, means)
    }

    pub(super) fn limited(means: impl Into<String>) -> Finding {
        Finding::new(CheckStatus::Limited, means)
    }

    pub(super) fn missing(means: impl Into<String>) -> Finding {
        Finding::new(CheckStatus::Missing, means)
    }

    pub(super) fn fix_by_user(mut self, what: impl Into<String>) -> Finding {
        self.fixes.push(Fix { who: FixOwner::You, what: what.into() });
        self
    }

    pub(super) fn fix_by_admin(mut self, what: impl Into<String>) -> Finding {
        self.fixes.push(Fix { who: FixOwner::Admin, what: what.into() });
        self
    }
}

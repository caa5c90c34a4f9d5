//! The answer to one check: where it stands, what that means, who mends it and how.

use serde::Serialize;

/// Where something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Standing {
    /// As good as it gets, or of no matter here.
    Ok,
    /// It works with less speed or less sight.
    Limited,
    /// Without it a run does not work.
    Missing,
}

impl Standing {
    /// The word for people.
    pub(super) fn word(self) -> &'static str {
        match self {
            Standing::Ok => "ok",
            Standing::Limited => "limited",
            Standing::Missing => "missing",
        }
    }
}

/// Who can mend it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Who {
    /// The user.
    You,
    /// Who has root.
    Admin,
}

impl Who {
    /// The word for people.
    pub(super) fn word(self) -> &'static str {
        match self {
            Who::You => "you",
            Who::Admin => "your admin",
        }
    }
}

/// One way to mend it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Fix {
    pub(super) who: Who,
    pub(super) what: String,
}

/// The answer.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) standing: Standing,
    /// What was found, and what it means.
    pub(super) means: String,
    /// Ways to mend it, the best first; one of them is enough.
    pub(super) fixes: Vec<Fix>,
}

impl Finding {
    fn new(standing: Standing, means: impl Into<String>) -> Finding {
        Finding { standing, means: means.into(), fixes: Vec::new() }
    }

    pub(super) fn ok(means: impl Into<String>) -> Finding {
        Finding::new(Standing::Ok, means)
    }

    pub(super) fn limited(means: impl Into<String>) -> Finding {
        Finding::new(Standing::Limited, means)
    }

    pub(super) fn missing(means: impl Into<String>) -> Finding {
        Finding::new(Standing::Missing, means)
    }

    pub(super) fn fix_by_user(mut self, what: impl Into<String>) -> Finding {
        self.fixes.push(Fix { who: Who::You, what: what.into() });
        self
    }

    pub(super) fn fix_by_admin(mut self, what: impl Into<String>) -> Finding {
        self.fixes.push(Fix { who: Who::Admin, what: what.into() });
        self
    }
}

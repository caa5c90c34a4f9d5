//! Keys and texts as a rules file has them.

use forebay_model::{
    FileLayout, FileLocation, FsyncMode, FullTierPolicy, Placement, PrefetchMode, RunEndAction,
    WriteBackTrigger,
};

/// What a rule says beside its globs; what is usual is left out.
pub(super) fn rule_keys(placement: &Placement) -> String {
    let mut keys = String::new();
    let mut key =
        |name: &str, word: &str| keys.push_str(&format!("{name} = {}\n", toml_string(word)));
    match &placement.home {
        FileLocation::Here => key("home", "in-place"),
        FileLocation::Tier(tier) => key("home", tier.as_str()),
    }
    match placement.layout {
        FileLayout::Plain | FileLayout::Whole => {}
        FileLayout::Packed => key("layout", "packed"),
        FileLayout::Apart => key("layout", "apart"),
    }
    if placement.full == FullTierPolicy::Fail {
        key("full", "fail");
    }
    match placement.fsync {
        FsyncMode::Durable => {}
        FsyncMode::Ordered => key("fsync", "ordered"),
        FsyncMode::Scratch => key("fsync", "scratch"),
    }
    match placement.after {
        RunEndAction::Restore => {}
        RunEndAction::Keep => key("after", "keep"),
        RunEndAction::Discard => key("after", "discard"),
    }
    if placement.drain == WriteBackTrigger::Closed {
        key("write_back", "on-close");
    }
    if let Some(tier) = &placement.publish {
        key("publish", tier.as_str());
    }
    if let Some(cache) = &placement.cache {
        key("cache", cache.tier.as_str());
        match cache.ahead {
            PrefetchMode::OnOpen => {}
            PrefetchMode::Never => key("ahead", "never"),
            PrefetchMode::AtStart => key("ahead", "at-start"),
        }
    }
    if placement.layout == FileLayout::Whole {
        keys.push_str("whole_folder = true\n");
    }
    keys
}

/// A text as TOML has it.
pub(super) fn toml_string(text: &str) -> String {
    let plain = !text.contains(['\'', '\\', '"']) && !text.contains(char::is_control);
    if plain {
        return format!("\"{text}\"");
    }
    if !text.contains('\'') && !text.contains(char::is_control) {
        return format!("'{text}'");
    }
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A comment stays on its line.
pub(super) fn single_line_comment(class: &str) -> String {
    class.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

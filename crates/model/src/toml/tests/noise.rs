//! No text that somebody may write, or an editor may leave, ends in a panic: a flaw has a place in
//! the text, and what has none is fit for use.
use crate::{AttachmentSet, Prices, Rules, Site};

const SITES: [&str; 3] = [
    include_str!("../../../../../sites/laptop.toml"),
    include_str!("../../../../../sites/cluster.toml"),
    include_str!("../../../../../sites/aws.toml"),
];
const OTHERS: [&str; 6] = [
    include_str!("../../../../../prices/aws-us-east-1.toml"),
    include_str!("../../../../../examples/rules/intermediates.toml"),
    include_str!("../../../../../examples/rules/reference-cache.toml"),
    include_str!("../../../../../examples/rules/small-files.toml"),
    "[[attached]]\nsource = \"/data/ref\"\nat = \"ref\"\nread-only = true\n",
    "[[attached]]\nsource = \"/x\"\nat = \"r\"\nread-only = true\nshows = \"reads\"\nshards = 64\n",
];
const ODD: [&str; 24] = [
    "-1",
    "0",
    "nan",
    "inf",
    "1e999",
    "99999999999999999999",
    "\"",
    "'''",
    "[",
    "]]",
    "{",
    "=",
    "#",
    "\n",
    "\u{feff}",
    "é",
    "\0",
    "\"1e308 EiB\"",
    "\"-1 s\"",
    "[[rule]]",
    "a.b.c",
    "true",
    "\"$\"",
    "\"**/{a,b\"",
];

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

/// A text with some of its pieces gone, doubled, or replaced.
fn changed(text: &str, dice: &mut Dice) -> String {
    let mut text = text.to_owned();
    for _ in 0..1 + dice.roll(5) {
        let cut = |text: &str, at: usize| (at..=text.len()).find(|at| text.is_char_boundary(*at));
        let from = cut(&text, dice.roll(text.len())).unwrap_or(0);
        let to = cut(&text, (from + dice.roll(24)).min(text.len())).unwrap_or(text.len());
        match dice.roll(4) {
            0 => text.truncate(from),
            1 => {
                let piece = text[from..to].to_owned();
                let at = cut(&text, dice.roll(text.len())).unwrap_or(0);
                text.insert_str(at, &piece);
            }
            2 => text.replace_range(from..to, ""),
            _ => text.replace_range(from..to, ODD[dice.roll(ODD.len())]),
        }
    }
    text
}

#[test]
fn no_text_ends_in_a_panic() {
    let variable = |_: &str| Some("/home/ana".to_owned());
    let site = Site::parse(SITES[0], "site.toml", &variable).expect("a site");
    let (mut good, mut bad) = (0, 0);
    let mut judge = |text: &str, flaw: Option<crate::ConfigError>| match flaw {
        None => good += 1,
        Some(flaw) => {
            bad += 1;
            let told = flaw.to_string();
            let mut parts = told.splitn(4, ':');
            let mut place = || parts.nth(1).or(Some("")).and_then(|n| n.parse::<usize>().ok());
            let line = place();
            let lines = text.split('\n').count() + 1;
            assert!(line.is_some_and(|line| (1..=lines).contains(&line)), "{told}\nin\n{text}");
        }
    };
    for seed in 0..4_000 {
        let mut dice = Dice(seed);
        let whole = dice.roll(SITES.len() + OTHERS.len());
        let base = SITES.get(whole).or_else(|| OTHERS.get(whole - SITES.len())).unwrap_or(&"");
        let text = changed(base, &mut dice);
        judge(&text, Site::parse(&text, "a.toml", &variable).err());
        judge(&text, Rules::parse(&text, "a.toml", &site).err());
        judge(&text, AttachmentSet::parse(&text, "a.toml").err());
        judge(&text, Prices::parse(&text, "a.toml").err());
    }
    assert!(good > 200 && bad > 200, "{good} were fit for use, {bad} were not");
}

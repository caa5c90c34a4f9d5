//! Names of a pair: the second is mostly the first with one digit changed.

use memchr::{memchr, memchr_iter};

/// A rule, by its number in the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MateNameRule {
    /// No rule: the second mate has names of its own.
    Own = 0,
    /// Both are the same.
    Same = 1,
    /// The last byte: `name/1`, `name/2`.
    Last = 2,
    /// The byte behind the first space: `name 1:N:0:ACGT`, `name 2:N:0:ACGT`.
    BehindSpace = 3,
    /// The byte before the first space: `run.1.1 comment`, `run.1.2 comment`.
    BeforeSpace = 4,
}

/// All rules, in the order in which they are tried; [`MateNameRule::Own`] always fits.
pub(crate) const RULES: [MateNameRule; 5] = [
    MateNameRule::Same,
    MateNameRule::Last,
    MateNameRule::BehindSpace,
    MateNameRule::BeforeSpace,
    MateNameRule::Own,
];

impl MateNameRule {
    pub(crate) fn find_by_id(id: u8) -> Option<MateNameRule> {
        RULES.into_iter().find(|rule| *rule as u8 == id)
    }

    /// Where in a name the digit stands.
    fn digit_place(self, name: &[u8]) -> Option<usize> {
        match self {
            MateNameRule::Own | MateNameRule::Same => None,
            MateNameRule::Last => name.len().checked_sub(1),
            MateNameRule::BehindSpace => memchr(b' ', name).map(|space| space + 1),
            MateNameRule::BeforeSpace => memchr(b' ', name)?.checked_sub(1),
        }
    }

    /// Makes the name of a second mate of the first's.
    #[inline]
    pub(crate) fn apply_to_name(self, name: &mut [u8]) {
        if let Some(digit) = self.digit_place(name).and_then(|place| name.get_mut(place))
            && *digit == b'1'
        {
            *digit = b'2';
        }
    }

    /// Names of the second mate, from those of the first.
    fn apply_to_names(self, first: &[u8]) -> Vec<u8> {
        let mut names = first.to_vec();
        if self == MateNameRule::Same {
            return names;
        }
        let mut start = 0;
        for end in memchr_iter(b'\n', first) {
            self.apply_to_name(&mut names[start..end]);
            start = end + 1;
        }
        names
    }

    /// The rule that makes the second names of the first.
    pub(crate) fn for_names(first: &[u8], second: &[u8]) -> MateNameRule {
        let fits = |rule: &MateNameRule| {
            *rule == MateNameRule::Own
                || first.len() == second.len() && rule.apply_to_names(first) == second
        };
        RULES.into_iter().find(fits).unwrap_or(MateNameRule::Own)
    }
}

#[cfg(test)]
mod tests {
    //! A wrong rule would give reads the names of others.
    use super::*;

    #[test]
    fn names_of_pairs_follow_a_rule() {
        let cases = [
            ("a\nb\n", "a\nb\n", MateNameRule::Same),
            ("a/1\nb/1\n", "a/2\nb/2\n", MateNameRule::Last),
            ("a 1:N:0:1\nb 1:Y:0:1\n", "a 2:N:0:1\nb 2:Y:0:1\n", MateNameRule::BehindSpace),
            ("s.1.1 x\ns.2.1 x\n", "s.1.2 x\ns.2.2 x\n", MateNameRule::BeforeSpace),
            ("a\nb\n", "a\nc\n", MateNameRule::Own),
            ("\n 1\n", "\n 2\n", MateNameRule::Last),
            ("", "", MateNameRule::Same),
        ];
        for (first, second, rule) in cases {
            let found = MateNameRule::for_names(first.as_bytes(), second.as_bytes());
            assert_eq!(found, rule, "{first:?} {second:?}");
            assert_eq!(MateNameRule::find_by_id(found as u8), Some(found));
        }
    }
}

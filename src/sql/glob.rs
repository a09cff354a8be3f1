//! Names with wildcards, as filters take them.

/// Whether a pattern is more than a name.
pub fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?'])
}

/// Whether a text is what a name or glob means.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut here) = (0, 0);
    // Where to go on when a star has to take one character more.
    let mut star: Option<(usize, usize)> = None;
    while here < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, here));
                at += 1;
            }
            Some(&c) if c == '?' || c == text[here] => {
                at += 1;
                here += 1;
            }
            _ => {
                let Some((star_at, taken)) = star else { return false };
                star = Some((star_at, taken + 1));
                at = star_at + 1;
                here = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (pattern, text, expected) in [
            ("argus*", "argus-scaling3", true),
            ("*scal*3", "argus-scaling3", true),
            ("*", "", true),
            ("?", "", false),
            ("Q0?", "Q01", true),
            ("Q0?", "Q011", false),
            ("*ab", "aab", true),
            ("a*b*c", "abxbc", true),
            ("a*b*c", "abxb", false),
            ("argus", "argus", true),
            ("argus", "argus-", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}

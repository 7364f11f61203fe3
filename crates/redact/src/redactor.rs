//! Finds registered secrets in a text and replaces them.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, LazyLock, PoisonError, RwLock},
};

use aho_corasick::{AhoCorasick, MatchKind};

use crate::{
    cuts,
    mark::{MARK, SHORTEST_SECRET},
    shapes, variants,
};

static KNOWN: LazyLock<RwLock<Arc<Redactor>>> = LazyLock::new(RwLock::default);

/// Hides this secret in every sink from now on. Returns false if it is too short to distinguish it from ordinary text.
pub fn register(secret: &str) -> bool {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if known.secrets.iter().any(|old| old == secret) {
        return true;
    }
    if secret.trim().len() < SHORTEST_SECRET {
        return false;
    }
    let mut secrets = known.secrets.clone();
    secrets.push(secret.to_owned());
    *known = Arc::new(Redactor::new(secrets));
    true
}

/// The registered secrets, for callers that clean many texts.
#[must_use]
pub fn known() -> Arc<Redactor> {
    Arc::clone(&KNOWN.read().unwrap_or_else(PoisonError::into_inner))
}

/// The text without registered secrets and without anything that has the shape of one.
#[must_use]
pub fn redact(text: &str) -> Cow<'_, str> {
    known().redact(text)
}

/// Finds a fixed set of secrets, and the shapes of others, in one pass each.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Vec<String>,
    /// `None` if there are no secrets.
    finder: Option<AhoCorasick>,
    /// Secrets that a text may be cut inside of.
    whole: Vec<String>,
}

impl Redactor {
    /// Secrets shorter than [`SHORTEST_SECRET`] are left out.
    #[must_use]
    pub fn new(secrets: Vec<String>) -> Self {
        let long: Vec<&str> =
            secrets.iter().map(|secret| secret.trim()).filter(|secret| secret.len() >= SHORTEST_SECRET).collect();
        let patterns: Vec<String> = long.iter().flat_map(|secret| variants::of(secret)).collect();
        let whole = long.iter().flat_map(|secret| variants::quoted(secret)).collect();
        let finder = if patterns.is_empty() {
            None
        } else {
            let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns);
            Some(built.expect("a few keys never exceed the automaton's two thousand million states"))
        };
        Self { secrets, finder, whole }
    }

    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        // Mostly names and ids: a record has as many of them as longer texts.
        if text.len() < SHORTEST_SECRET {
            return Cow::Borrowed(text);
        }
        let known = match &self.finder {
            Some(finder) if finder.is_match(text) => Cow::Owned(replace(finder, text)),
            _ => Cow::Borrowed(text),
        };
        then(then(known, |text| cuts::redact(text, &self.whole)), shapes::redact)
    }
}

/// The default would print the secrets.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("secrets", &self.secrets.len()).finish_non_exhaustive()
    }
}

/// Another look at a text, which is copied only if something is found.
fn then<'a>(text: Cow<'a, str>, look: impl Fn(&str) -> Cow<'_, str>) -> Cow<'a, str> {
    match text {
        Cow::Borrowed(text) => look(text),
        Cow::Owned(text) => match look(&text) {
            Cow::Borrowed(_) => Cow::Owned(text),
            Cow::Owned(clean) => Cow::Owned(clean),
        },
    }
}

/// Adjacent matches become one mark, which hides how many pieces a secret had.
fn replace(finder: &AhoCorasick, text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = 0;
    for found in finder.find_iter(text) {
        if found.start() > rest || rest == 0 {
            clean.push_str(&text[rest..found.start()]);
            clean.push_str(MARK);
        }
        rest = found.end();
    }
    clean.push_str(&text[rest..]);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "pa55/word+with \"edge\"\\ü";

    #[test]
    fn a_secret_is_found_in_every_dress() {
        let redactor = Redactor::new(vec![SECRET.to_owned(), "tiny".to_owned()]);
        for (name, text) in [
            ("as it is", SECRET.to_owned()),
            ("twice in a row", format!("{SECRET}{SECRET}")),
            ("debug", format!("{SECRET:?}")),
            ("json", r#"{"key":"pa55/word+with \"edge\"\\ü"}"#.to_owned()),
            ("json with escaped slashes", r#"{"key":"pa55\/word+with \"edge\"\\ü"}"#.to_owned()),
            ("query", "?key=pa55%2Fword%2Bwith%20%22edge%22%5C%C3%BC&x=1".to_owned()),
            ("query, lower case", "?key=pa55%2fword%2bwith%20%22edge%22%5c%c3%bc&x=1".to_owned()),
            ("form", "key=pa55%2Fword%2Bwith+%22edge%22%5C%C3%BC".to_owned()),
            ("base64", "cGE1NS93b3JkK3dpdGggImVkZ2UiXMO8".to_owned()),
            ("basic authorization", "Basic dXNlcjpwYTU1L3dvcmQrd2l0aCAiZWRnZSJcw7w=".to_owned()),
            ("html", "pa55/word+with &quot;edge&quot;\\ü".to_owned()),
            ("hexadecimal", "x706135352f776f72642b77697468202265646765225cc3bcx".to_owned()),
            ("hexadecimal in capitals", "706135352F776F72642B77697468202265646765225CC3BC".to_owned()),
            (
                "all percent-encoded",
                "%70%61%35%35%2F%77%6F%72%64%2B%77%69%74%68%20%22%65%64%67%65%22%5C%C3%BC".to_owned(),
            ),
            ("in capitals", "PA55/WORD+WITH \"EDGE\"\\Ü".to_owned()),
            // `base64` of coreutils, of the key and of `user:` and the key, twice each.
            ("base64 twice", "Y0dFMU5TOTNiM0prSzNkcGRHZ2dJbVZrWjJVaVhNTzg=".to_owned()),
            ("base64 twice, behind a name", "ZFhObGNqcHdZVFUxTDNkdmNtUXJkMmwwYUNBaVpXUm5aU0pjdzd3PQ==".to_owned()),
        ] {
            let clean = redactor.redact(&text).into_owned();
            assert!(clean.contains(MARK), "{name}: {clean}");
            for piece in
                ["pa55", "edge", "EDGE", "cGE1NS93", "wYTU1L3dv", "2265646765", "%65%64%67", "SzNkcGRH", "dkdmNtUX"]
            {
                assert!(!clean.contains(piece), "{name}: {clean}");
            }
        }
        assert_eq!(redactor.redact("a tiny word stays"), "a tiny word stays");
    }

    #[test]
    fn the_lines_of_a_key_file_are_secret_one_by_one() {
        let pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nq83vAbCdEfGhIjKlMnOpQrStUv\n-----END PRIVATE KEY-----";
        let redactor = Redactor::new(vec![pem.to_owned()]);
        assert_eq!(redactor.redact("second: q83vAbCdEfGhIjKlMnOpQrStUv!"), "second: [redacted]!");
        assert_eq!(redactor.redact("-----BEGIN PRIVATE KEY-----"), "-----BEGIN PRIVATE KEY-----");
        assert_eq!(redactor.redact(pem), MARK);
    }

    #[test]
    fn the_longer_of_two_secrets_wins_and_text_without_one_is_not_copied() {
        let redactor = Redactor::new(vec!["secret".to_owned(), "secret-longer".to_owned()]);
        assert_eq!(redactor.redact("x secret-longer y secret z"), "x [redacted] y [redacted] z");
        assert!(matches!(redactor.redact("nothing of note"), Cow::Borrowed("nothing of note")));
        assert!(matches!(Redactor::new(Vec::new()).redact("nothing"), Cow::Borrowed(_)));
        assert!(!format!("{redactor:?}").contains("longer"));
    }

    #[test]
    fn registered_secrets_are_known_everywhere() {
        assert!(!register("abc"));
        assert!(!register("      "));
        assert!(register("registered-everywhere"));
        assert!(register("registered-everywhere"));
        assert_eq!(redact("is registered-everywhere."), "is [redacted].");
        assert_eq!(redact("abc stays"), "abc stays");
    }
}

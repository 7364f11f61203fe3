//! The headings with a meaning: `## [USER]`, `### CHECK Equals`, and their optional identifier.

/// What a heading opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    Scenario,
    User,
    Agent,
    System,
    Tool,
    Call,
    Check,
    Prompt,
    Parameter,
    Answer,
}

/// A heading's keyword and the text after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Statement<'a> {
    pub(super) keyword: Keyword,
    /// As written: `[ASSISTANT]`, `ASSERT`.
    pub(super) word: &'static str,
    pub(super) rest: &'a str,
}

const KEYWORDS: [(&str, Keyword); 12] = [
    ("SCENARIO", Keyword::Scenario),
    ("[USER]", Keyword::User),
    ("[AGENT]", Keyword::Agent),
    ("[ASSISTANT]", Keyword::Agent),
    ("[SYSTEM]", Keyword::System),
    ("[TOOL]", Keyword::Tool),
    ("CALL", Keyword::Call),
    ("CHECK", Keyword::Check),
    ("ASSERT", Keyword::Check),
    ("PROMPT", Keyword::Prompt),
    ("PARAMETER", Keyword::Parameter),
    ("ANSWER", Keyword::Answer),
];

impl Keyword {
    /// Whether it names a speaker.
    pub(super) fn is_role(self) -> bool {
        matches!(self, Self::User | Self::Agent | Self::System | Self::Tool)
    }

    /// Whether it belongs to a scenario that calls a function or a prompt, instead of holding a conversation.
    pub(super) fn is_of_invocation(self) -> bool {
        matches!(self, Self::Prompt | Self::Parameter | Self::Answer)
    }
}

/// Reads a heading's text. With an identifier, only statements with that identifier count.
pub(super) fn read<'a>(heading: &'a str, identifier: Option<&str>) -> Option<Statement<'a>> {
    let text = match identifier {
        Some(identifier) => heading.trim().strip_prefix(identifier)?,
        None => heading,
    };
    let text = text.trim();
    KEYWORDS.iter().find_map(|(word, keyword)| {
        let rest = text.strip_prefix(word)?;
        let bracketed = word.starts_with('[');
        let ends = bracketed || rest.chars().next().is_none_or(char::is_whitespace);
        ends.then(|| Statement { keyword: *keyword, word, rest: rest.trim() })
    })
}

/// The identifier of a scenario's statements: the word before `SCENARIO`, or, without that heading, before the first
/// statement of any kind.
pub(super) fn identifier<'a>(headings: &[&'a str]) -> Option<&'a str> {
    let scenario = headings.iter().find_map(|heading| {
        let found = with_identifier(heading)?;
        (found.1.keyword == Keyword::Scenario).then_some(found.0)
    });
    if let Some(identifier) = scenario {
        return identifier;
    }
    let (identifier, first) = headings.iter().find_map(|heading| with_identifier(heading))?;
    // `# Final ANSWER` may be a heading inside the text of a question.
    let is_text = !first.keyword.is_role() && headings.iter().any(|heading| read(heading, None).is_some());
    if is_text { None } else { identifier }
}

/// A statement with any identifier (one word) or with none.
fn with_identifier(heading: &str) -> Option<(Option<&str>, Statement<'_>)> {
    if let Some(statement) = read(heading, None) {
        return Some((None, statement));
    }
    let heading = heading.trim();
    let (end, _) = heading.char_indices().skip(1).find(|(_, c)| c.is_whitespace() || *c == '[')?;
    let identifier = &heading[..end];
    read(heading, Some(identifier)).map(|statement| (Some(identifier), statement))
}

/// The keyword that a heading was probably meant to have.
pub(super) fn meant(heading: &str) -> Option<&'static str> {
    let text = heading.trim();
    // Without the identifier a statement is text on purpose.
    if read(text, None).is_some() {
        return None;
    }
    let word = text.split_whitespace().next()?;
    let word = if text.starts_with('[') { &text[..=text.find(']')?] } else { word };
    let (known, keyword) = KEYWORDS.iter().find(|(known, _)| {
        known.eq_ignore_ascii_case(word) || (word.starts_with('[') && strsim::damerau_levenshtein(known, word) == 1)
    })?;
    // Common English words may start any heading.
    (keyword.is_role() || *keyword == Keyword::Check && text.split_whitespace().count() == 2).then_some(*known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyword_comes_first_and_alone() {
        let rows = [
            ("SCENARIO Height", Some((Keyword::Scenario, "Height"))),
            ("[USER]", Some((Keyword::User, ""))),
            ("[ASSISTANT]  ", Some((Keyword::Agent, ""))),
            ("[USER]  Bob", Some((Keyword::User, "Bob"))),
            ("ASSERT  Contains", Some((Keyword::Check, "Contains"))),
            ("CHECKLIST", None),
            ("My SCENARIO", None),
            ("sk [USER]", None),
            ("[user]", None),
            ("The ANSWER", None),
        ];
        for (heading, expected) in rows {
            let found = read(heading, None).map(|found| (found.keyword, found.rest));
            assert_eq!(found, expected, "{heading}");
        }
    }

    #[test]
    fn an_identifier_is_taken_letter_by_letter() {
        for identifier in ["sk", "~", "*", "+", "(", "[", "?", ".*", "é"] {
            let heading = format!("{identifier} [USER]");
            assert_eq!(read(&heading, Some(identifier)).map(|found| found.keyword), Some(Keyword::User), "{heading}");
            assert_eq!(read("[USER]", Some(identifier)).map(|found| found.keyword), None);
        }
        let rows: [(&[&str], Option<&str>); 9] = [
            (&["* SCENARIO A", "[USER]", "* [USER]"], Some("*")),
            (&["Intro", "SCENARIO A", "x [USER]"], None),
            (&["sk [USER]", "[USER]", "sk [AGENT]"], Some("sk")),
            (&["*[USER]"], Some("*")),
            (&["[ [USER]"], Some("[")),
            (&["Final ANSWER", "ANSWER Equals"], None),
            (&["~ ANSWER Equals", "~ CHECK"], Some("~")),
            (&["A long title SCENARIO"], None),
            (&[], None),
        ];
        for (headings, expected) in rows {
            assert_eq!(identifier(headings), expected, "{headings:?}");
        }
    }

    #[test]
    fn a_slip_of_the_pen_is_seen() {
        assert_eq!(meant("[User]"), Some("[USER]"));
        assert_eq!(meant("[AGNET]"), Some("[AGENT]"));
        assert_eq!(meant("Check Contains"), Some("CHECK"));
        assert_eq!(meant("Answer"), None);
        assert_eq!(meant("Check in at the counter"), None);
        assert_eq!(meant("[1]"), None);
        assert_eq!(meant("[USER]"), None);
    }
}

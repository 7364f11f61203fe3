//! Faults of the simulated user: text of its model that no user would write.
//!
//! A draft is examined before it is sent. Each detector is a pure function in its own file; [`examine`] runs them all.
//! Word lists are in English, German and Spanish, and `tests/faults` has the labelled lines with which they are
//! measured.

mod borrowed;
mod date;
mod doubt;
mod fold;
mod invented_fact;
mod leak;
mod mention;
mod phrases;
mod premature_end;
mod repetition;
mod role_flip;
mod scene;
mod told_early;
mod too_long;
mod too_polite;
mod wrong_language;

use record::user_fault::{FaultKind, Severity};

pub use self::doubt::Doubt;
pub use self::scene::{Exchange, Fact, Line, Scene, Tell};

/// A fault of a draft, and the text that shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub kind: FaultKind,
    pub severity: Severity,
    pub evidence: String,
}

/// The faults of a draft, each kind at most once, the worst first.
#[must_use]
pub fn examine(line: &Line<'_>, scene: &Scene<'_>) -> Vec<Found> {
    let folded = fold::sentences(line.say);
    let (minor, critical) = (Severity::Minor, Severity::Critical);
    let found = |kind, severity, evidence: Option<String>| evidence.map(|evidence| Found { kind, severity, evidence });
    let repetition = repetition::find(line, scene);
    let faults = [
        found(FaultKind::RoleFlip, critical, role_flip::find(line, scene, &folded)),
        found(FaultKind::Leak, critical, leak::find(line, scene, &folded)),
        found(FaultKind::PrematureEnd, critical, premature_end::find(line, scene, &folded)),
        repetition.map(|(severity, evidence)| Found { kind: FaultKind::Repetition, severity, evidence }),
        // Minor until a tool of the agent gets it: `reached`.
        found(FaultKind::InventedFact, minor, invented_fact::find(line, scene)),
        found(FaultKind::ToldEarly, minor, told_early::find(line, scene)),
        found(FaultKind::TooLong, minor, too_long::find(line, scene)),
        found(FaultKind::TooPolite, minor, too_polite::find(scene, &folded)),
        found(FaultKind::WrongLanguage, minor, wrong_language::find(line, scene, &folded)),
    ];
    let mut faults: Vec<Found> = faults.into_iter().flatten().collect();
    faults.sort_by_key(|fault| fault.severity == minor);
    faults
}

/// Whether a draft without a fault is in doubt.
#[must_use]
pub fn doubt(line: &Line<'_>, scene: &Scene<'_>) -> Option<Doubt> {
    doubt::find(line, scene)
}

/// Whether the agent's words ask for a fact: by one of `asked_by`, or by its name if there are none.
pub(crate) fn asks_for(agent: &str, name: &str, asked_by: &[String]) -> bool {
    told_early::asks_for(agent, name, asked_by)
}

/// The language of a code, of a tag or of an English name.
pub(crate) fn language(written: &str) -> Option<whatlang::Lang> {
    wrong_language::lang_of(written)
}

/// Whether the invented fact is in the arguments of a tool call: the agent has worked with it.
#[must_use]
pub fn reached(invented: &str, arguments: &str) -> bool {
    invented_fact::is_in(invented, arguments)
}

impl Found {
    /// The instruction for the model, which must write the draft again.
    #[must_use]
    pub fn reason(&self) -> String {
        let evidence = &self.evidence;
        match self.kind {
            FaultKind::RoleFlip => {
                // Without the words: a small model would write them again.
                "It speaks as the other side. You are the one who asks: you do not help, explain or suggest.".to_owned()
            }
            FaultKind::InventedFact => {
                format!("\"{evidence}\" is made up. Use only what you were given; otherwise say that you do not know.")
            }
            FaultKind::Leak => {
                format!("It gives away your instructions or thoughts ({evidence}). Write only what you say.")
            }
            FaultKind::Repetition => {
                "That has been said already, by you or by them. Say something new, or answer what you heard.".to_owned()
            }
            FaultKind::ToldEarly => format!("Nobody has asked for \"{evidence}\" yet. Do not tell it before."),
            FaultKind::PrematureEnd => {
                "You end the talk, but they wait for your consent. Answer them, and do not end the talk.".to_owned()
            }
            FaultKind::TooLong => format!("It is too long ({evidence}). Write less."),
            FaultKind::TooPolite => "You have thanked enough. Do not thank again.".to_owned(),
            FaultKind::WrongLanguage => format!("It is in the wrong language ({evidence})."),
            FaultKind::Violation => format!("It breaks a rule of your role: {evidence}."),
        }
    }
}

#[cfg(test)]
mod tests;

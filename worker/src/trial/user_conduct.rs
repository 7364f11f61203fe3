//! The conduct of the simulated user in a trial: its faults, and their effect on the trial.

use record::{
    Turn,
    user_fault::{FaultKind, Severity, UserConduct, UserFault},
};

/// The beginning of a judge's reason.
pub(super) const BY_JUDGE: &str = "a judge: ";

/// A line of the user's model, with its faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserLine {
    /// The turn in which it was sent, or would have been.
    pub(super) turn: u32,
    pub(super) faults: Vec<UserFault>,
    /// A judge was to read it and could not.
    pub(super) unknown: bool,
}

/// `None` where no line was examined.
pub(super) fn conduct(lines: &[UserLine], persona: Option<&str>) -> Option<UserConduct> {
    let mut conduct = UserConduct { persona: persona.map(str::to_owned), ..UserConduct::default() };
    for line in lines {
        conduct.add_line(&line.faults);
        conduct.unknown += u32::from(line.unknown);
    }
    (conduct.lines > 0).then_some(conduct)
}

/// The first critical fault that reached the agent, and its turn. An invented fact becomes critical when the agent
/// passes it to a tool.
pub(super) fn critical<'a>(lines: &'a [UserLine], turns: &[Turn]) -> Option<(&'a UserFault, u32)> {
    lines.iter().find_map(|line| {
        let sent = line.faults.iter().filter(|fault| fault.sent);
        let mut critical =
            sent.filter(|fault| fault.severity == Severity::Critical || reached_a_tool(fault, line, turns));
        critical.next().map(|fault| (fault, line.turn))
    })
}

fn reached_a_tool(fault: &UserFault, line: &UserLine, turns: &[Turn]) -> bool {
    // A judge's reason quotes more than the invented text.
    if fault.kind != FaultKind::InventedFact || fault.evidence.starts_with(BY_JUDGE) {
        return false;
    }
    let later = turns.iter().filter(|turn| turn.number >= line.turn);
    later.flat_map(|turn| &turn.tool_calls).any(|call| user::faults::reached(&fault.evidence, &call.arguments))
}

#[cfg(test)]
mod tests {
    use record::turn::{Origin, ToolCall};

    use super::*;

    fn fault(kind: FaultKind, severity: Severity, sent: bool) -> UserFault {
        UserFault { kind, severity, sent, evidence: "Q-12345".to_owned() }
    }

    fn turn(number: u32, arguments: &str) -> Turn {
        let call =
            ToolCall { id: "1".to_owned(), name: "find".to_owned(), arguments: arguments.to_owned(), result: None };
        Turn { tool_calls: vec![call], ..Turn::new(number, 1, Origin::Simulated, "Q-12345".to_owned(), 0) }
    }

    #[test]
    fn only_faults_that_the_agent_used_are_critical() {
        let line = |fault: UserFault| vec![UserLine { turn: 2, faults: vec![fault], unknown: false }];
        let (minor, worst) = (Severity::Minor, Severity::Critical);
        for (fault, arguments, before, is_critical) in [
            (fault(FaultKind::RoleFlip, worst, true), "{}", "{}", true),
            (fault(FaultKind::RoleFlip, worst, false), "{}", "{}", false),
            (fault(FaultKind::TooLong, minor, true), "Q-12345", "{}", false),
            (fault(FaultKind::InventedFact, minor, true), r#"{"order":"Q12345"}"#, "{}", true),
            (fault(FaultKind::InventedFact, minor, true), "{}", r#"{"order":"Q12345"}"#, false),
            (fault(FaultKind::InventedFact, minor, false), r#"{"order":"Q12345"}"#, "{}", false),
        ] {
            let lines = line(fault.clone());
            let found = critical(&lines, &[turn(1, before), turn(2, arguments)]);
            assert_eq!(found, is_critical.then_some((&lines[0].faults[0], 2)), "{fault:?} {arguments} {before}");
        }
    }

    #[test]
    fn unsent_and_unjudgeable_lines_count() {
        let lines = [
            UserLine { turn: 2, faults: Vec::new(), unknown: true },
            UserLine { turn: 3, faults: vec![fault(FaultKind::Leak, Severity::Critical, false)], unknown: false },
        ];
        let conduct = conduct(&lines, Some("shy")).unwrap();
        assert_eq!((conduct.lines, conduct.unknown, conduct.persona.as_deref()), (2, 1, Some("shy")));
        assert_eq!((conduct.faults[0].refused, conduct.faults[0].sent), (1, 0));
        assert_eq!(super::conduct(&[], None), None);
    }
}

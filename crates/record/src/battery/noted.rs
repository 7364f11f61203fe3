//! Batteries of earlier versions, which are JSON in other fields: the head in a note of the first turn, each finding in
//! the evidence of its judgment.

use super::examined::{Cell, Examined, Head, Reply};
use crate::{Judgment, Scope, Turn};

const NOTE: &str = "battery";

pub(crate) fn read(turns: &[Turn], judgments: &[Judgment]) -> Option<Examined> {
    let mut notes = turns.first()?.notes.iter().filter(|note| note.kind == NOTE);
    let head: Head = notes.find_map(|note| serde_json::from_str(&note.text).ok())?;
    let reply = |judgment: &Judgment| {
        let Scope::Turn { turn, .. } = judgment.scope else { return None };
        let cell: Cell = serde_json::from_str(judgment.evidence.as_deref()?).ok()?;
        Some(Reply { turn, finding: judgment.finding, cell })
    };
    Some(Examined { head, replies: judgments.iter().filter_map(reply).collect() })
}

#[cfg(test)]
mod tests {
    use scenario::battery::{Examination, Requirement, Shown, Thresholds};

    use super::*;
    use crate::{
        Finding, Trial,
        turn::{Note, Origin},
    };

    const HEAD: &str = r#"{"requirements":["stutter"],"examination":{"turns":[null],"sets":[]},
        "thresholds":{"similarity":0.6,"stutter":0.33,"toxicity":0.1,"coherence":-6.0},
        "shown":{"interpretation":true,"detail":true,"verdict":true},"compat":null,"saved":false}"#;

    #[test]
    fn a_battery_of_version_0_1_0_is_read() {
        let turn = Turn {
            number: 3,
            step: 1,
            speaker: Origin::Scripted,
            user: "Hi".into(),
            agent: Some("Hello".into()),
            messages: Vec::new(),
            exit_code: None,
            tool_calls: Vec::new(),
            actions: Vec::new(),
            started_micros: 0,
            duration_micros: 0,
            response_micros: None,
            calls: Vec::new(),
            notes: vec![Note { kind: "battery".into(), text: HEAD.into() }],
            simulated: None,
        };
        let judgment = |scope, evidence: &str| Judgment {
            check: "ML-A6".into(),
            name: None,
            description: None,
            scope,
            finding: Finding::Pass,
            score: None,
            reason: String::new(),
            evidence: Some(evidence.into()),
            failure: None,
            line: 0,
            required: false,
            weight: 1.0,
            ballots: Vec::new(),
            jury: None,
            custom: None,
        };
        let planned = scenario::Trial {
            number: 0,
            id: scenario::TrialId::new("t"),
            case: 0,
            case_id: scenario::CaseId::new("c"),
            repeat: 0,
            seed: 0,
        };
        let failure = crate::Failure::new(crate::FailureKind::CheckFailed, "");
        let trial = Trial {
            judgments: vec![
                judgment(Scope::Turn { step: 1, turn: 3 }, r#"{"requirement":"stutter","detail":0.25,"counted":true}"#),
                judgment(Scope::Turn { step: 1, turn: 3 }, "of another check"),
                judgment(Scope::Step { step: 1 }, r#"{"levels":[]}"#),
            ],
            ..Trial::unplayed(&planned, 1, crate::Verdict::Pass, failure)
        };
        assert_eq!(trial.examined_in(&[]), None, "nothing was said");
        let read = trial.examined_in(std::slice::from_ref(&turn)).unwrap();
        let head = Head {
            requirements: vec![Requirement::Stutter],
            examination: Examination { turns: vec![None], sets: Vec::new() },
            thresholds: Thresholds::default(),
            shown: Shown::default(),
            compat: None,
            saved: false,
        };
        assert_eq!(read.head, head);
        assert_eq!(read.replies.len(), 1);
        assert_eq!((read.replies[0].turn, &read.replies[0].cell.detail), (3, &Some(serde_json::json!(0.25))));

        // As this version keeps it.
        let examined = Some(Box::new(read.into_owned()));
        let plain = Turn { notes: Vec::new(), ..turn };
        let json = serde_json::to_string(&Trial { examined: examined.clone(), ..trial }).unwrap();
        let mut kept: Trial = serde_json::from_str(&json).unwrap();
        assert_eq!(kept.examined_in(std::slice::from_ref(&plain)).as_deref(), examined.as_deref());
        kept.examined = None;
        assert_eq!(kept.examined_in(&[plain]), None, "a trial of another format");
    }
}

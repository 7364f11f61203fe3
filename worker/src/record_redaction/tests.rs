use record::{
    Blame, FailureKind, Finding, Role, Scope, Tokens, Usd, Verdict,
    battery::Examined,
    call::{CallTexts, ErrorKind, SpendLine},
    call_times::CallTimesLine,
    stop::Stopper,
    trial::TurnLatency,
    turn::Origin,
    user_fault::{FaultKind, Severity},
};
use scenario::{CaseId, Strategy, TrialId};

use super::*;

/// Of no known shape, and with characters that JSON, HTML and addresses write in another way.
const KEY: &str = "Tr0ub4dor/&3\"redact";

fn said() -> String {
    format!("it is {KEY}.")
}

fn call() -> Call {
    Call {
        role: Role::Agent,
        endpoint: said(),
        model: said(),
        started_micros: 1,
        wait_micros: 2,
        connect_micros: Some(3),
        ttft_micros: Some(4),
        inter_token_micros: Some(5),
        total_micros: 6,
        retried_micros: 12,
        tokens: Tokens { input: 7, output: 8, ..Tokens::default() },
        texts: None,
        estimated: true,
        cost: Some(Usd(9)),
        plain_priced: true,
        reported_cost: Some(Usd(14)),
        finish: Some(record::call::Finish::Length),
        tries: 10,
        throttled_tries: 13,
        lost_tries: 11,
        error: Some(said()),
        error_kind: Some(ErrorKind::Refused),
        of_trial: true,
        limits: record::named_limits::NamedLimits::new(),
    }
}

#[test]
fn no_text_of_a_turn_keeps_a_key() {
    redact::register(KEY);
    let mut turn = Turn {
        number: 1,
        step: 2,
        speaker: Origin::Simulated,
        user: said(),
        agent: Some(said()),
        messages: vec![Said { text: said(), tool_calls_before: 1 }, Said { text: said(), tool_calls_before: 2 }],
        exit_code: Some(3),
        tool_calls: vec![ToolCall { id: said(), name: said(), arguments: said(), result: Some(said()) }],
        actions: vec![said(), said()],
        started_micros: 4,
        duration_micros: 5,
        response_micros: Some(15),
        calls: vec![call(), call()],
        notes: vec![Note { kind: said(), text: said() }],
        simulated: Some(Box::new(Simulated {
            sent_back: 6,
            summed_up: 7,
            parts_done: vec![said()],
            faults: vec![fault()],
            untyped: Some(said()),
            state: Some(said()),
            failed_asks: 8,
            calls: vec![ToolCall { id: said(), name: said(), arguments: said(), result: Some(said()) }],
        })),
    };
    let texts = 26;
    let before = format!("{turn:?}");
    assert_eq!(before.matches("Tr0ub4dor").count(), texts);
    super::turn(&mut turn);
    let after = format!("{turn:?}");
    assert_eq!((after.matches("Tr0ub4dor").count(), after.matches("it is [redacted].").count()), (0, texts));
    assert_eq!(after, before.replace(&format!("{KEY:?}")[1..=KEY.len() + 1], "[redacted]"), "the rest stays");
}

#[test]
fn the_texts_of_a_call_do_not_leave_the_worker() {
    let mut call = Call { texts: Some(Arc::new(CallTexts::default())), ..call() };
    super::call(&mut call);
    assert_eq!(call.texts, None);
}

fn fault() -> UserFault {
    UserFault { kind: FaultKind::Leak, severity: Severity::Minor, sent: true, evidence: said() }
}

/// What a battery extracted from a reply. A test in `record` checks that it has no other text.
fn examined() -> Examined {
    let mut examined = Examined::from_json(
        br#"{"head":{"requirements":[],"examination":{"turns":[],"sets":[]},"compat":null,"saved":false,
                "thresholds":{"similarity":0.6,"stutter":0.33,"toxicity":0.1,"coherence":-6.0},
                "shown":{"interpretation":true,"detail":true,"verdict":true}},
                "replies":[{"turn":2,"finding":"pass","cell":{"requirement":"typos","counted":true}}]}"#,
    )
    .unwrap();
    examined.replies[0].cell.interpretation = Some(said().into());
    examined
}

#[test]
fn no_text_of_a_trial_keeps_a_key() {
    redact::register(KEY);
    let tokens = Tokens { input: 2, output: 3, ..Tokens::default() };
    let line = SpendLine { calls: 1, tokens, cost: Usd(4), unpriced_calls: 5, ..SpendLine::default() };
    let mut spend = Spend::default();
    spend.add_line(Role::Agent, &said(), line);
    spend.add_line(Role::Agent, "it is [redacted].", line);
    spend.add_line(Role::Judge, "m", line);
    let mut call_times = CallTimes::default();
    call_times.add_line(Role::Agent, &said(), CallTimesLine { waits: vec![1], ..CallTimesLine::default() });
    let mut trial = Trial {
        number: 1,
        trial_id: TrialId::new("t"),
        case_id: CaseId::new("c"),
        case: 2,
        repeat: 3,
        epoch: 4,
        seed: 5,
        verdict: Verdict::Error,
        failure: Some(Failure {
            kind: FailureKind::AgentRefused,
            blame: Blame::Agent,
            message: said(),
            step: Some(5),
            turn: Some(6),
        }),
        strategy: Strategy::AllPass,
        termination_reason: Some(said()),
        stop: Some(Stop { who: Stopper::User, signal: said(), turn: 7 }),
        turns: 7,
        conversations: 8,
        duration_ms: 9,
        began_at_ms: 17,
        latencies: vec![TurnLatency { total_micros: 10, ttft_micros: Some(11), ..TurnLatency::default() }],
        unanswered: 12,
        spend,
        call_times,
        start: Some(record::trial::Start { at_micros: 7, late_micros: 1 }),
        judgments: vec![Judgment {
            check: said(),
            name: Some(said()),
            description: Some(said()),
            scope: Scope::Turn { step: 1, turn: 2 },
            finding: Finding::Fail,
            score: Some(0.5),
            reason: said(),
            evidence: Some(said()),
            failure: None,
            line: 3,
            required: true,
            weight: 1.0,
            ballots: vec![Ballot {
                criterion: said(),
                model: said(),
                digest: said(),
                judge: said(),
                shortened_turns: 2,
                verdict: said(),
                confidence: Some(0.5),
                reason: said(),
            }],
            jury: Some(Jury { words: 4, uncalibrated: Some(said()) }),
            custom: Some(Box::new(CustomRun {
                check: said(),
                program: said(),
                transcript: said(),
                differs: Some(false),
            })),
        }],
        user: Some(Box::new(UserConduct { persona: Some(said()), lines: 2, ..UserConduct::default() })),
        examined: Some(Box::new(examined())),
        keep_transcript: true,
        exhausted: false,
        past: record::trial::Past::default(),
    };
    assert_eq!(format!("{trial:?}").matches("Tr0ub4dor").count(), 22);
    super::trial(&mut trial);
    let after = format!("{trial:?}");
    assert_eq!((after.matches("Tr0ub4dor").count(), after.matches("it is [redacted].").count()), (0, 22));
    let lines: Vec<_> = trial.spend.lines.iter().map(|((_, model), line)| (model.as_str(), line.calls)).collect();
    assert_eq!(lines, [("it is [redacted].", 2), ("m", 1)]);
}

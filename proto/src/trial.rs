//! Trials, judgments and spending on the wire.

use record::{
    Ballot, CustomRun, Failure, Judgment, Jury, Scope, Stop, Tokens, Trial, Usd,
    battery::Examined,
    call::{Spend, SpendLine},
    call_times::{CallTimes, CallTimesLine},
    named_limits::{LimitOf, LimitRange},
    trial::{Past, Start, TurnLatency},
    user_fault::{DespiteFault, FaultKind, KindCount, UserConduct},
};
use scenario::{CaseId, TrialId};

use crate::{
    names::{self, Error},
    v1,
};

/// A trial, and the places of its turns in the batches of its session.
#[must_use]
pub fn to_wire(trial: Trial, pieces: Vec<v1::Piece>) -> v1::Trial {
    v1::Trial {
        number: trial.number,
        trial_id: trial.trial_id.as_str().to_owned(),
        case_id: trial.case_id.as_str().to_owned(),
        case: trial.case,
        repeat: trial.repeat,
        epoch: trial.epoch,
        seed: trial.seed,
        verdict: names::verdict::word(trial.verdict).to_owned(),
        failure: trial.failure.map(|failure| v1::Failure {
            kind: names::kind::word(failure.kind).to_owned(),
            blame: names::blame::word(failure.blame).to_owned(),
            message: failure.message,
            turn: failure.turn,
            step: failure.step,
        }),
        strategy: names::strategy::word(trial.strategy).to_owned(),
        termination_reason: trial.termination_reason,
        stop: trial.stop.map(stop_to_wire),
        turns: trial.turns,
        conversations: trial.conversations,
        duration_millis: trial.duration_ms,
        start: trial.start.map(|Start { at_micros, late_micros }| v1::TrialStart { at_micros, late_micros }),
        began_at_millis: trial.began_at_ms,
        latencies: trial.latencies.into_iter().map(latency_to_wire).collect(),
        unanswered: trial.unanswered,
        spend: spend_to_wire(trial.spend),
        pace: call_times_to_wire(trial.call_times),
        judgments: trial.judgments.into_iter().map(judgment_to_wire).collect(),
        keep_transcript: trial.keep_transcript,
        pieces,
        exhausted: trial.exhausted,
        past_failures: trial.past.failed,
        past_breaks: trial.past.broken,
        examined: trial.examined.map(|examined| examined.to_json().into()).unwrap_or_default(),
        user: trial.user.map(|user| user_to_wire(*user)),
    }
}

fn latency_to_wire(turn: TurnLatency) -> v1::TurnLatency {
    let TurnLatency { total_micros, ttft_micros, response_micros, wait_micros, inter_token_micros, .. } = turn;
    let TurnLatency { per_token_micros, estimated, number, ended_micros, .. } = turn;
    v1::TurnLatency {
        total_micros,
        ttft_micros,
        response_micros,
        wait_micros,
        inter_token_micros,
        per_token_micros,
        estimated,
        number,
        ended_micros,
    }
}

fn latency_from_wire(turn: v1::TurnLatency) -> TurnLatency {
    let v1::TurnLatency { total_micros, ttft_micros, response_micros, wait_micros, inter_token_micros, .. } = turn;
    let v1::TurnLatency { per_token_micros, estimated, number, ended_micros, .. } = turn;
    TurnLatency {
        total_micros,
        ttft_micros,
        response_micros,
        wait_micros,
        inter_token_micros,
        per_token_micros,
        estimated,
        number,
        ended_micros,
    }
}

fn stop_to_wire(stop: Stop) -> v1::TalkStop {
    v1::TalkStop { who: names::stopper::word(stop.who).to_owned(), signal: stop.signal, turn: stop.turn }
}

fn stop_from_wire(stop: v1::TalkStop) -> Result<Stop, Error> {
    Ok(Stop { who: names::stopper::read(&stop.who)?, signal: stop.signal, turn: stop.turn })
}

fn examined_from_wire(json: &[u8]) -> Result<Option<Box<Examined>>, Error> {
    if json.is_empty() {
        return Ok(None);
    }
    let read = Examined::from_json(json).map_err(|error| Error::Undecodable(format!("examined: {error}")))?;
    Ok(Some(Box::new(read)))
}

pub fn from_wire(trial: v1::Trial) -> Result<Trial, Error> {
    Ok(Trial {
        number: trial.number,
        trial_id: TrialId::new(trial.trial_id),
        case_id: CaseId::new(trial.case_id),
        case: trial.case,
        repeat: trial.repeat,
        epoch: trial.epoch,
        seed: trial.seed,
        verdict: names::verdict::read(&trial.verdict)?,
        failure: trial.failure.map(failure_from_wire).transpose()?,
        strategy: names::strategy::read(&trial.strategy)?,
        termination_reason: trial.termination_reason,
        stop: trial.stop.map(stop_from_wire).transpose()?,
        turns: trial.turns,
        conversations: trial.conversations,
        duration_ms: trial.duration_millis,
        start: trial.start.map(|v1::TrialStart { at_micros, late_micros }| Start { at_micros, late_micros }),
        began_at_ms: trial.began_at_millis,
        latencies: trial.latencies.into_iter().map(latency_from_wire).collect(),
        unanswered: trial.unanswered,
        spend: spend_from_wire(trial.spend)?,
        call_times: call_times_from_wire(trial.pace)?,
        judgments: trial.judgments.into_iter().map(judgment_from_wire).collect::<Result<_, _>>()?,
        user: trial.user.map(user_from_wire).transpose()?.map(Box::new),
        examined: examined_from_wire(&trial.examined)?,
        keep_transcript: trial.keep_transcript,
        exhausted: trial.exhausted,
        past: Past { failed: trial.past_failures, broken: trial.past_breaks },
    })
}

fn user_to_wire(user: UserConduct) -> v1::UserConduct {
    let counts = user.faults.into_iter();
    let despite = user.despite_fault;
    v1::UserConduct {
        persona: user.persona,
        lines: user.lines,
        unknown: user.unknown,
        faults: counts
            .map(|count| v1::UserFaultCount {
                kind: count.kind.name().to_owned(),
                refused: count.refused,
                sent: count.sent,
            })
            .collect(),
        verdict_despite_fault: despite.map(|despite| names::verdict::word(despite.verdict).to_owned()),
        blame_despite_fault: despite.and_then(|it| it.blame).map(|blame| names::blame::word(blame).to_owned()),
    }
}

fn user_from_wire(user: v1::UserConduct) -> Result<UserConduct, Error> {
    let count = |count: v1::UserFaultCount| {
        let unknown = || Error::UnknownWord { what: "fault", word: count.kind.clone() };
        let kind = FaultKind::of(&count.kind).ok_or_else(unknown)?;
        Ok(KindCount { kind, refused: count.refused, sent: count.sent })
    };
    let blame = user.blame_despite_fault.as_deref().map(names::blame::read).transpose()?;
    let verdict = user.verdict_despite_fault.as_deref().map(names::verdict::read).transpose()?;
    Ok(UserConduct {
        persona: user.persona,
        lines: user.lines,
        unknown: user.unknown,
        faults: user.faults.into_iter().map(count).collect::<Result<_, _>>()?,
        despite_fault: verdict.map(|verdict| DespiteFault { verdict, blame }),
    })
}

#[must_use]
pub fn spend_to_wire(spend: Spend) -> Vec<v1::SpendEntry> {
    spend
        .lines
        .into_iter()
        .map(|((role, model), line)| v1::SpendEntry {
            role: names::role::word(role).to_owned(),
            model,
            calls: line.calls,
            input_tokens: line.tokens.input,
            output_tokens: line.tokens.output,
            cost_nanos: line.cost.0,
            unpriced_calls: line.unpriced_calls,
            estimated_calls: line.estimated_calls,
            tries: line.tries,
            throttled_tries: line.throttled_tries,
            wait_micros: line.wait_micros,
            cached_input_tokens: line.tokens.cached_input,
            cache_write_tokens: line.tokens.cache_write,
            reasoning_tokens: line.tokens.reasoning,
            plain_priced_calls: line.plain_priced_calls,
            cut_calls: line.cut_calls,
            reported_cost_nanos: line.reported_cost.0,
        })
        .collect()
}

pub fn spend_from_wire(entries: Vec<v1::SpendEntry>) -> Result<Spend, Error> {
    let mut spend = Spend::default();
    for entry in entries {
        let line = SpendLine {
            calls: entry.calls,
            tokens: Tokens {
                input: entry.input_tokens,
                output: entry.output_tokens,
                cached_input: entry.cached_input_tokens,
                cache_write: entry.cache_write_tokens,
                reasoning: entry.reasoning_tokens,
            },
            cost: Usd(entry.cost_nanos),
            unpriced_calls: entry.unpriced_calls,
            estimated_calls: entry.estimated_calls,
            tries: entry.tries,
            throttled_tries: entry.throttled_tries,
            wait_micros: entry.wait_micros,
            plain_priced_calls: entry.plain_priced_calls,
            cut_calls: entry.cut_calls,
            reported_cost: Usd(entry.reported_cost_nanos),
        };
        spend.add_line(names::role::read(&entry.role)?, &entry.model, line);
    }
    Ok(spend)
}

fn call_times_to_wire(call_times: CallTimes) -> Vec<v1::PaceEntry> {
    call_times
        .lines
        .into_iter()
        .map(|((role, model), line)| v1::PaceEntry {
            role: names::role::word(role).to_owned(),
            model,
            waits: line.waits,
            services: line.services,
            wholes: line.wholes,
            limits: line.limits.into_iter().map(range_to_wire).collect(),
            ttfts: line.ttfts,
            inter_tokens: line.inter_tokens,
            per_tokens: line.per_tokens,
        })
        .collect()
}

fn call_times_from_wire(entries: Vec<v1::PaceEntry>) -> Result<CallTimes, Error> {
    let mut call_times = CallTimes::default();
    for entry in entries {
        let limits = entry.limits.iter().map(range_from_wire).collect::<Result<_, _>>()?;
        let line = CallTimesLine {
            waits: entry.waits,
            services: entry.services,
            wholes: entry.wholes,
            ttfts: entry.ttfts,
            inter_tokens: entry.inter_tokens,
            per_tokens: entry.per_tokens,
            limits,
        };
        call_times.add_line(names::role::read(&entry.role)?, &entry.model, line);
    }
    Ok(call_times)
}

fn range_to_wire((of, range): (LimitOf, LimitRange)) -> v1::LimitRange {
    v1::LimitRange { of: names::limit_of::word(of).to_owned(), lowest: range.lowest, highest: range.highest }
}

fn range_from_wire(range: &v1::LimitRange) -> Result<(LimitOf, LimitRange), Error> {
    let &v1::LimitRange { ref of, lowest, highest } = range;
    Ok((names::limit_of::read(of)?, LimitRange { lowest, highest }))
}

fn failure_from_wire(failure: v1::Failure) -> Result<Failure, Error> {
    Ok(Failure {
        kind: names::kind::read(&failure.kind)?,
        blame: names::blame::read(&failure.blame)?,
        message: failure.message,
        step: failure.step,
        turn: failure.turn,
    })
}

fn judgment_to_wire(judgment: Judgment) -> v1::Judgment {
    let (step, turn, conversation) = match judgment.scope {
        Scope::Turn { step, turn } => (step, Some(turn), false),
        Scope::Conversation { step } => (step, None, true),
        Scope::Step { step } => (step, None, false),
    };
    v1::Judgment {
        check: judgment.check,
        description: judgment.description,
        step,
        turn,
        conversation,
        finding: names::finding::word(judgment.finding).to_owned(),
        score: judgment.score,
        reason: judgment.reason,
        evidence: judgment.evidence,
        failure: judgment.failure.map(|kind| names::kind::word(kind).to_owned()),
        line: judgment.line,
        informational: !judgment.required,
        weight: Some(judgment.weight),
        name: judgment.name,
        ballots: judgment.ballots.into_iter().map(ballot_to_wire).collect(),
        jury: judgment.jury.map(|Jury { words, uncalibrated }| v1::Jury { words, uncalibrated }),
        custom: judgment.custom.map(|it| v1::CustomRun {
            check: it.check,
            program: it.program,
            transcript: it.transcript,
            differs: it.differs,
        }),
    }
}

fn ballot_to_wire(ballot: Ballot) -> v1::Ballot {
    let Ballot { criterion, model, digest, judge, verdict, confidence, reason, shortened_turns } = ballot;
    v1::Ballot { criterion, model, digest, judge, verdict, confidence, reason, shortened_turns }
}

fn ballot_from_wire(ballot: v1::Ballot) -> Result<Ballot, Error> {
    let v1::Ballot { criterion, model, digest, judge, verdict, confidence, reason, shortened_turns } = ballot;
    let confidence = confidence.map(|number| finite("confidence", number)).transpose()?;
    Ok(Ballot { criterion, model, digest, judge, verdict, confidence, reason, shortened_turns })
}

fn judgment_from_wire(judgment: v1::Judgment) -> Result<Judgment, Error> {
    let step = judgment.step;
    let scope = match (judgment.turn, judgment.conversation) {
        (Some(turn), _) => Scope::Turn { step, turn },
        (None, true) => Scope::Conversation { step },
        (None, false) => Scope::Step { step },
    };
    if let Some(score) = judgment.score {
        finite("score", score)?;
    }
    let weight = finite("weight", judgment.weight.unwrap_or(1.0))?;
    Ok(Judgment {
        check: judgment.check,
        name: judgment.name,
        description: judgment.description,
        scope,
        finding: names::finding::read(&judgment.finding)?,
        score: judgment.score,
        reason: judgment.reason,
        evidence: judgment.evidence,
        failure: judgment.failure.as_deref().map(names::kind::read).transpose()?,
        line: judgment.line,
        required: !judgment.informational,
        weight,
        ballots: judgment.ballots.into_iter().map(ballot_from_wire).collect::<Result<_, _>>()?,
        jury: judgment.jury.map(|v1::Jury { words, uncalibrated }| Jury { words, uncalibrated }),
        custom: judgment.custom.map(|it| CustomRun {
            check: it.check,
            program: it.program,
            transcript: it.transcript,
            differs: it.differs,
        }),
    })
}

/// Trials are stored as JSON, which has no other numbers.
fn finite(what: &'static str, number: f64) -> Result<f64, Error> {
    if number.is_finite() { Ok(number) } else { Err(Error::NotFinite { what, number: number.to_string() }) }
}

#[cfg(test)]
mod tests {
    use record::{Blame, FailureKind, Finding, Role, Verdict, stop::Stopper};
    use scenario::Strategy;

    use super::*;

    #[test]
    fn a_trial_comes_back_as_it_went() {
        let mut spend = Spend::default();
        let line = SpendLine {
            calls: 3,
            tokens: Tokens { input: 10, output: 20, cached_input: 4, cache_write: 3, reasoning: 6 },
            cost: Usd(7),
            unpriced_calls: 1,
            estimated_calls: 2,
            tries: 9,
            throttled_tries: 5,
            wait_micros: 11,
            plain_priced_calls: 2,
            cut_calls: 1,
            reported_cost: Usd(8),
        };
        let mut call_times = CallTimes::default();
        call_times.add_line(
            Role::Judge,
            "m",
            CallTimesLine {
                waits: vec![0, 3],
                services: vec![5],
                wholes: vec![8],
                limits: [(LimitOf::Tokens, LimitRange { lowest: 5, highest: 9 })].into(),
                ttfts: vec![2],
                inter_tokens: vec![1, 4],
                per_tokens: vec![6],
            },
        );
        spend.add_line(Role::Judge, "m", line);
        spend.add_line(Role::Agent, "m", line);
        for (scope, verdict) in [
            (Scope::Turn { step: 1, turn: 2 }, Verdict::Fail),
            (Scope::Conversation { step: 1 }, Verdict::Error),
            (Scope::Step { step: 2 }, Verdict::Pass),
        ] {
            let judgment = Judgment {
                check: "llm_judge".into(),
                name: Some("tone".to_owned()),
                description: Some("polite".into()),
                scope,
                finding: Finding::Fail,
                score: Some(0.25),
                reason: "rude".into(),
                evidence: None,
                failure: Some(FailureKind::JudgeMalformed),
                line: 12,
                required: verdict != Verdict::Pass,
                weight: 2.5,
                ballots: vec![Ballot {
                    criterion: "polite".into(),
                    model: "m".into(),
                    digest: "0123456789abcdef".into(),
                    judge: "fedcba9876543210".into(),
                    shortened_turns: 4,
                    verdict: "not met".into(),
                    confidence: Some(0.75),
                    reason: "rude".into(),
                }],
                jury: Some(Jury { words: 17, uncalibrated: (verdict == Verdict::Pass).then(|| "kappa is 0.3".into()) }),
                custom: Some(CustomRun {
                    check: "totals".into(),
                    program: "0011223344556677".into(),
                    transcript: "8899aabbccddeeff".into(),
                    differs: (verdict != Verdict::Error).then_some(verdict == Verdict::Fail),
                }),
            };
            let trial = Trial {
                number: 9,
                trial_id: TrialId::new("t"),
                case_id: CaseId::new("c"),
                case: 3,
                repeat: 1,
                epoch: 2,
                seed: u64::MAX,
                verdict,
                failure: Some(Failure::new(FailureKind::CheckFailed, "rude").in_step(1).in_turn(2)),
                strategy: Strategy::AnyPass,
                termination_reason: Some("goal_achieved".into()),
                stop: (verdict == Verdict::Fail).then(|| Stop {
                    who: Stopper::Script,
                    signal: "gave_up".into(),
                    turn: 4,
                }),
                turns: 4,
                conversations: 1,
                duration_ms: 77,
                start: Some(Start { at_micros: 7_000_001, late_micros: 80 }),
                began_at_ms: 1_790_000_000_123,
                latencies: vec![
                    TurnLatency { total_micros: 5, ..TurnLatency::default() },
                    TurnLatency {
                        total_micros: 6,
                        ttft_micros: Some(1),
                        response_micros: Some(0),
                        wait_micros: 2,
                        inter_token_micros: Some(3),
                        per_token_micros: Some(4),
                        estimated: true,
                        number: 7,
                        ended_micros: 8,
                    },
                ],
                unanswered: 2,
                spend: spend.clone(),
                call_times: call_times.clone(),
                judgments: vec![judgment],
                user: (verdict == Verdict::Fail).then(user),
                examined: (verdict == Verdict::Fail).then(examined),
                keep_transcript: true,
                exhausted: verdict == Verdict::Fail,
                past: Past { failed: 2, broken: 1 },
            };
            assert_eq!(from_wire(to_wire(trial.clone(), vec![])), Ok(trial));
        }
    }

    fn user() -> Box<UserConduct> {
        Box::new(UserConduct {
            persona: Some("shy".into()),
            lines: 7,
            unknown: 2,
            faults: vec![KindCount { kind: FaultKind::ToldEarly, refused: 3, sent: 1 }],
            despite_fault: Some(DespiteFault { verdict: Verdict::Error, blame: Some(Blame::Agent) }),
        })
    }

    fn examined() -> Box<Examined> {
        let json = br#"{"head":{"requirements":["typos"],"examination":{"turns":[null],"sets":[]},
            "thresholds":{"similarity":0.6,"stutter":0.33,"toxicity":0.1,"coherence":-6.0},
            "shown":{"interpretation":true,"detail":true,"verdict":true},"compat":null,"saved":false},
            "replies":[{"turn":2,"finding":"pass","cell":{"requirement":"typos","detail":0.75,"counted":true}}]}"#;
        Box::new(Examined::from_json(json).unwrap())
    }

    #[test]
    fn trials_of_the_last_version_are_read_and_invalid_examinations_refused() {
        // Number, ids, case, repeat, epoch, seed, verdict and strategy, as the version before wrote them.
        let sent: &[u8] = b"\x08\x09\x12\x01t\x1a\x01c\x20\x03\x28\x01\x30\x02\x38\x07\x42\x04PASS\x52\x08all_pass";
        let wire: v1::Trial = prost::Message::decode(sent).unwrap();
        let trial = from_wire(wire.clone()).unwrap();
        assert_eq!((trial.number, trial.epoch, trial.verdict, &trial.examined), (9, 2, Verdict::Pass, &None));
        assert_eq!(prost::Message::encode_to_vec(&to_wire(trial, vec![])), sent, "and is still written so");
        let broken = v1::Trial { examined: b"{}".as_slice().into(), ..wire };
        let error = from_wire(broken).unwrap_err().to_string();
        assert!(error.contains("examined: missing field `head`"), "{error}");
    }

    #[test]
    fn a_failure_of_a_worker_that_knows_no_step_can_be_read() {
        // `kind`, `blame`, `message` and `turn`, as the version before wrote them.
        let sent: &[u8] = b"\x0a\x0ccheck_failed\x12\x05agent\x1a\x04rude\x20\x02";
        let wire: v1::Failure = prost::Message::decode(sent).unwrap();
        let failure = failure_from_wire(wire).unwrap();
        assert_eq!(failure, Failure::new(FailureKind::CheckFailed, "rude").in_turn(2));
    }

    #[test]
    fn nan_is_refused_because_it_could_not_be_read_back() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let scored = v1::Judgment { finding: "pass".into(), score: Some(number), ..v1::Judgment::default() };
            let weighed = v1::Judgment { finding: "pass".into(), weight: Some(number), ..v1::Judgment::default() };
            for (what, judgment) in [("score", scored), ("weight", weighed)] {
                let error = judgment_from_wire(judgment).unwrap_err().to_string();
                assert!(error.starts_with(&format!("{what} {number} on the wire")), "{error}");
            }
        }
    }

    #[test]
    fn an_unknown_word_is_an_error_and_not_a_verdict() {
        let wire = v1::Trial { verdict: "GREAT".into(), ..v1::Trial::default() };
        assert_eq!(from_wire(wire).unwrap_err().to_string(), "unknown verdict \"GREAT\" on the wire");
    }
}

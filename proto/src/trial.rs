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
        custom: judgment.custom.map(|v1::CustomRun { check, program, transcript, differs }| {
            Box::new(CustomRun { check, program, transcript, differs })
        }),
    })
}

/// Trials are stored as JSON, which has no other numbers.
fn finite(what: &'static str, number: f64) -> Result<f64, Error> {
    if number.is_finite() { Ok(number) } else { Err(Error::NotFinite { what, number: number.to_string() }) }
}

#[cfg(test)]
mod tests;

//! Redacts keys in records: every turn and trial passes through here before it leaves the worker, and so before it is
//! stored, exported or reported. Only the worker has the keys, so only the worker can redact them.
//!
//! A record is destructured completely, so that a new field does not compile until it is handled here.

use std::{borrow::Cow, sync::Arc};

use record::{
    Ballot, Call, CustomRun, Failure, Judgment, Jury, Simulated, Stop, Trial, Turn,
    call::Spend,
    call_times::CallTimes,
    turn::{Note, Said, ToolCall},
    user_fault::{UserConduct, UserFault},
};
use redact::Redactor;

pub(crate) fn turn(turn: &mut Turn) {
    Cleaner::new().turn(turn);
}

/// Of a call that is in no turn.
pub(crate) fn call(call: &mut Call) {
    Cleaner::new().call(call);
}

pub(crate) fn trial(trial: &mut Trial) {
    Cleaner::new().trial(trial);
}

struct Cleaner {
    redactor: Arc<Redactor>,
}

impl Cleaner {
    fn new() -> Self {
        Self { redactor: redact::known() }
    }

    fn turn(&self, turn: &mut Turn) {
        let Turn {
            number,
            step,
            speaker,
            user,
            agent,
            messages,
            exit_code,
            tool_calls,
            actions,
            started_micros,
            duration_micros,
            response_micros,
            calls,
            notes,
            simulated,
        } = turn;
        holds_no_text((*number, *step, *speaker, *exit_code, *started_micros, *duration_micros));
        holds_no_text(*response_micros);
        self.text(user);
        self.texts(agent);
        messages.iter_mut().for_each(|said| self.said(said));
        self.texts(actions);
        tool_calls.iter_mut().for_each(|call| self.tool_call(call));
        calls.iter_mut().for_each(|call| self.call(call));
        notes.iter_mut().for_each(|note| self.note(note));
        simulated.iter_mut().for_each(|simulated| self.simulated(simulated));
    }

    fn simulated(&self, simulated: &mut Simulated) {
        let Simulated { sent_back, summed_up, parts_done, faults, untyped, state, failed_asks, calls } = simulated;
        calls.iter_mut().for_each(|call| self.tool_call(call));
        self.texts(untyped);
        self.texts(state);
        for UserFault { kind, severity, sent, evidence } in faults {
            holds_no_text((*kind, *severity, *sent));
            self.text(evidence);
        }
        holds_no_text((*sent_back, *summed_up, *failed_asks));
        self.texts(parts_done);
    }

    fn trial(&self, trial: &mut Trial) {
        let Trial {
            number,
            // The plan's own text: it identifies the trial, and no server can change it.
            trial_id: _,
            case_id: _,
            case,
            repeat,
            epoch,
            seed,
            verdict,
            failure,
            strategy,
            termination_reason,
            stop,
            turns,
            conversations,
            duration_ms,
            start,
            began_at_ms,
            latencies,
            unanswered,
            spend,
            call_times,
            judgments,
            user,
            examined,
            keep_transcript,
            exhausted,
            // Only the coordinator's store knows this.
            past: _,
        } = trial;
        holds_no_text((*number, *case, *repeat, *epoch, *seed, *verdict, *strategy));
        holds_no_text((*turns, *conversations, *duration_ms, *unanswered, *keep_transcript, *exhausted));
        holds_no_text(*start);
        holds_no_text(*began_at_ms);
        latencies.iter().copied().for_each(holds_no_text);
        self.texts(termination_reason);
        stop.iter_mut().for_each(|stop| self.stop(stop));
        self.spend(spend);
        self.call_times(call_times);
        failure.iter_mut().for_each(|failure| self.failure(failure));
        judgments.iter_mut().for_each(|judgment| self.judgment(judgment));
        user.iter_mut().for_each(|user| self.user(user));
        examined.iter_mut().for_each(|examined| examined.each_text(&mut |text| self.text(text)));
    }

    fn stop(&self, stop: &mut Stop) {
        let Stop { who, signal, turn } = stop;
        holds_no_text((*who, *turn));
        self.text(signal);
    }

    fn said(&self, said: &mut Said) {
        let Said { text, tool_calls_before } = said;
        holds_no_text(*tool_calls_before);
        self.text(text);
    }

    fn tool_call(&self, call: &mut ToolCall) {
        let ToolCall { id, name, arguments, result } = call;
        [id, name, arguments].into_iter().for_each(|text| self.text(text));
        self.texts(result);
    }

    fn call(&self, call: &mut Call) {
        let Call {
            role,
            endpoint,
            model,
            started_micros,
            wait_micros,
            connect_micros,
            ttft_micros,
            inter_token_micros,
            total_micros,
            retried_micros,
            tokens,
            texts,
            estimated,
            cost,
            plain_priced,
            reported_cost,
            finish,
            tries,
            throttled_tries,
            lost_tries,
            error,
            error_kind,
            of_trial,
            limits,
        } = call;
        // Limits are numbers, by words of gabfest's own.
        limits.iter().for_each(|(of, limit)| holds_no_text((*of, *limit)));
        holds_no_text((*role, *started_micros, *wait_micros, *connect_micros, *ttft_micros, *inter_token_micros));
        holds_no_text((*total_micros, *retried_micros, *tokens, *estimated, *cost, *tries, *throttled_tries));
        holds_no_text((*lost_tries, *error_kind, *of_trial, *plain_priced, *reported_cost, *finish));
        // For the trace of this worker alone, which has them already.
        *texts = None;
        self.text(endpoint);
        self.text(model);
        self.texts(error);
    }

    fn note(&self, note: &mut Note) {
        let Note { kind, text } = note;
        self.text(kind);
        self.text(text);
    }

    fn failure(&self, failure: &mut Failure) {
        let Failure { kind, blame, message, step, turn } = failure;
        holds_no_text((*kind, *blame, *step, *turn));
        self.text(message);
    }

    fn judgment(&self, judgment: &mut Judgment) {
        let Judgment {
            check,
            name,
            description,
            scope,
            finding,
            score,
            reason,
            evidence,
            failure,
            line,
            required,
            weight,
            ballots,
            jury,
            custom,
        } = judgment;
        holds_no_text((*scope, *finding, *score, *failure, *line, *required, *weight));
        self.text(check);
        self.texts(name);
        self.texts(description);
        self.text(reason);
        self.texts(evidence);
        ballots.iter_mut().for_each(|ballot| self.ballot(ballot));
        if let Some(Jury { words, uncalibrated }) = jury {
            holds_no_text(*words);
            self.texts(uncalibrated);
        }
        if let Some(CustomRun { check, program, transcript, differs }) = custom {
            holds_no_text(*differs);
            [check, program, transcript].into_iter().for_each(|text| self.text(text));
        }
    }

    fn ballot(&self, ballot: &mut Ballot) {
        let Ballot { criterion, model, digest, judge, verdict, confidence, reason, shortened_turns } = ballot;
        holds_no_text((*confidence, *shortened_turns));
        [criterion, model, digest, judge, verdict, reason].into_iter().for_each(|text| self.text(text));
    }

    fn user(&self, user: &mut UserConduct) {
        let UserConduct { persona, lines, unknown, faults, despite_fault } = user;
        holds_no_text((*lines, *unknown, *despite_fault));
        faults.iter().copied().for_each(holds_no_text);
        self.texts(persona);
    }

    /// Merges lines whose model names are equal after redaction.
    fn spend(&self, spend: &mut Spend) {
        let Spend { lines } = spend;
        if lines.keys().all(|(_, model)| matches!(self.redactor.redact(model), Cow::Borrowed(_))) {
            return;
        }
        let mut clean = Spend::default();
        for ((role, model), line) in std::mem::take(lines) {
            clean.add_line(role, &self.redactor.redact(&model), line);
        }
        *spend = clean;
    }

    fn call_times(&self, call_times: &mut CallTimes) {
        let CallTimes { lines } = call_times;
        if lines.keys().all(|(_, model)| matches!(self.redactor.redact(model), Cow::Borrowed(_))) {
            return;
        }
        let mut clean = CallTimes::default();
        for ((role, model), line) in std::mem::take(lines) {
            clean.add_line(role, &self.redactor.redact(&model), line);
        }
        *call_times = clean;
    }

    fn texts<'a>(&self, texts: impl IntoIterator<Item = &'a mut String>) {
        texts.into_iter().for_each(|text| self.text(text));
    }

    fn text(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.redactor.redact(text) {
            *text = clean;
        }
    }
}

/// A `Copy` value owns no text: the compiler checks it.
fn holds_no_text<T: Copy>(_: T) {}

#[cfg(test)]
mod tests {
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
                custom: Some(CustomRun { check: said(), program: said(), transcript: said(), differs: Some(false) }),
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
}

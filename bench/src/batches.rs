//! A plan and its results, as a worker encodes them: conversations of four turns with a check each, in a load of slots.

use std::ops::Range;

use bytes::Bytes;
use proto::v1::{self, worker_message::Body as Word};
use record::{
    Failure, FailureKind, Judgment, Trial, Turn, Verdict,
    call::Spend,
    call_times::CallTimes,
    trial::{Start, TurnLatency},
};
use scenario::{
    Plan,
    plan::{Gates, Transcripts, VERSION},
};
use serde_json::{Value, json};

pub(super) const RUN: &str = "intake";
/// Turns of a conversation.
pub(super) const TURNS: u64 = 4;
/// Conversations that run at once.
pub(super) const SLOTS: u32 = 4_096;
/// Conversations of a batch.
pub(super) const CONVERSATIONS: u64 = 64;
/// How far apart conversations start.
const APART_MICROS: u64 = 200;
/// When the load began, in unix milliseconds.
const BEGAN_MS: u64 = 1_790_000_000_000;

/// A batch as it goes onto the stream.
pub(super) struct Encoded {
    /// Its conversations are those before this one.
    pub(super) end: u64,
    pub(super) sequence: u64,
    pub(super) words: Vec<Word>,
}

/// A closed load of ten scenarios with everything that is counted: steps, slices, goodput and an objective.
pub(super) fn plan(conversations: u64, transcripts: Transcripts) -> anyhow::Result<Plan> {
    let group = |number: usize| {
        json!({
            "key": format!("bench/s{number}"), "name": format!("s{number}"), "format": "eliza",
            "source": { "path": "bench.scenario.yaml", "line": 1 }, "document": null, "lines": {}, "tags": ["bench"],
            "weight": 1.0, "required_pass_rate": null, "axes": [], "personas": [null], "repeats": 1, "selection": null,
        })
    };
    let slots = json!({ "slots": [{ "micros": 1_000_000, "from": SLOTS, "to": SLOTS }], "trials": conversations });
    let mix: Vec<Value> = (0..10).map(|group| json!({ "group": group, "weight": 1 })).collect();
    let plan = json!({
        "version": VERSION, "name": "intake", "seed": 7, "groups": (0..10).map(group).collect::<Vec<_>>(),
        "personas": {}, "agents": ["bench"], "live": false, "gates": Gates::default(), "plays_on": true,
        "goodput": { "response_micros": 100_000, "ttft_micros": 10_000 }, "transcripts": transcripts,
        "load": {
            "groups": [{ "name": "load", "pace": { "slots": slots }, "mix": mix }], "drop_after_micros": 1_000_000,
        },
    });
    Ok(Plan::from_json(&plan.to_string())?)
}

/// The batches of these conversations, which begin with the first of a batch.
pub(super) fn encode(plan: &Plan, conversations: Range<u64>) -> anyhow::Result<Vec<Encoded>> {
    let templates = Templates::new()?;
    let starts = conversations.clone().step_by(usize::try_from(CONVERSATIONS)?);
    let batches = starts.map(|first| {
        let (end, sequence) = (conversations.end.min(first + CONVERSATIONS), first / CONVERSATIONS + 1);
        let batch = templates.batch(plan, sequence, first..end)?;
        Ok(Encoded { end, sequence, words: parts(&batch) })
    });
    batches.collect()
}

/// A batch in the parts that a worker sends.
fn parts(batch: &v1::Batch) -> Vec<Word> {
    let mut rest: Bytes = proto::batch_to_bytes(batch);
    let mut words = Vec::new();
    while !rest.is_empty() {
        let data = rest.split_to(rest.len().min(proto::PART_BYTES));
        words.push(Word::Part(v1::Part { data, last: rest.is_empty() }));
    }
    words
}

/// What all turns have in common.
struct Templates {
    turn: Turn,
    judgment: Judgment,
}

impl Templates {
    fn new() -> anyhow::Result<Self> {
        let call = json!({
            "role": "agent", "endpoint": "bench", "model": "bench", "started_micros": 0, "wait_micros": 0, "connect_micros": null,
            "ttft_micros": 0, "inter_token_micros": 0, "total_micros": 0, "tokens": { "input": 40, "output": 16 },
            "cost": 1_000, "finish": "stop", "tries": 1, "lost_tries": 0, "error": null,
        });
        let turn = json!({
            "number": 1, "step": 1, "speaker": "scripted", "agent": "turn=1 word1 word2 word3 word4 word5 word6 word7 word8 word9",
            "user": "Please say hello to me, this is message 1 about order 1234.", "exit_code": null, "tool_calls": [],
            "actions": [], "started_micros": 0, "duration_micros": 0, "calls": [call], "notes": [],
        });
        let judgment = json!({
            "check": "string_contains", "description": null, "scope": { "turn": { "step": 1, "turn": 1 } },
            "finding": "pass", "score": null, "reason": "the answer contains \"turn=1\"", "evidence": null,
            "failure": null, "line": 5,
        });
        Ok(Self { turn: serde_json::from_value(turn)?, judgment: serde_json::from_value(judgment)? })
    }

    fn batch(&self, plan: &Plan, sequence: u64, numbers: Range<u64>) -> anyhow::Result<v1::Batch> {
        let played: Vec<(Trial, Vec<Turn>)> =
            numbers.map(|number| self.trial(plan, number)).collect::<anyhow::Result<_>>()?;
        let words = played.iter().map(|(trial, turns)| (trial.number, trial.epoch, turns.iter().cloned().collect()));
        let (segment, lengths) = proto::segment::encode(words);
        let mut spend = Spend::default();
        played.iter().for_each(|(trial, _)| spend.add(&trial.spend));
        let turns = u32::try_from(played.iter().map(|(_, turns)| turns.len()).sum::<usize>())?;
        let ended = played.into_iter().zip((0..).zip(lengths)).map(|((trial, _), (place, bytes))| {
            proto::trial::to_wire(trial, vec![v1::Piece { sequence, place, bytes }])
        });
        let (ended, spend) = (ended.collect(), proto::trial::spend_to_wire(spend));
        Ok(v1::Batch { sequence, run: RUN.to_owned(), ended, turns, spend, segment, purse: None })
    }

    fn trial(&self, plan: &Plan, number: u64) -> anyhow::Result<(Trial, Vec<Turn>)> {
        let planned = plan.trial(number).ok_or_else(|| anyhow::anyhow!("no trial {number}"))?;
        let turns: Vec<Turn> = (0..TURNS).map(|turn| self.turn(&planned, turn)).collect();
        let (mut spend, mut call_times) = (Spend::default(), CallTimes::default());
        turns.iter().flat_map(|turn| &turn.calls).for_each(|call| {
            spend.add_call(call);
            call_times.add_call(call);
        });
        let latencies = turns.iter().map(|turn| TurnLatency::of(turn, turn.started_micros + turn.duration_micros));
        let latencies: Vec<TurnLatency> = latencies.collect();
        let trial = Trial {
            failure: None,
            turns: turns.len().try_into()?,
            conversations: 1,
            duration_ms: latencies.last().map_or(0, |last| last.ended_micros / 1_000),
            start: Some(Start { at_micros: number * APART_MICROS, late_micros: 0 }),
            began_at_ms: BEGAN_MS + number * APART_MICROS / 1_000,
            latencies,
            spend,
            call_times,
            judgments: vec![self.judgment.clone(); turns.len()],
            ..Trial::unplayed(&planned, 1, Verdict::Pass, Failure::new(FailureKind::CheckFailed, ""))
        };
        Ok((trial, turns))
    }

    /// Times between 1 and 65 ms, mostly short.
    fn turn(&self, planned: &scenario::Trial, index: u64) -> Turn {
        let drawn = planned.seed.rotate_left(u32::try_from(index * 16).unwrap_or(0)) & 0xffff;
        let total = 1_000 + drawn * drawn / 0xffff;
        let mut turn = self.turn.clone();
        turn.number = u32::try_from(index + 1).unwrap_or(1);
        turn.step = turn.number;
        turn.started_micros = index * 70_000;
        (turn.duration_micros, turn.response_micros) = (total, Some(total));
        for call in &mut turn.calls {
            call.started_micros = turn.started_micros;
            (call.total_micros, call.ttft_micros, call.inter_token_micros) = (total, Some(total / 4), Some(total / 32));
        }
        turn
    }
}

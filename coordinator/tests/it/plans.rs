//! Plans, turns and trials that need no scenario file: the coordinator never looks into one.

use std::collections::BTreeMap;

use record::{
    Call, Failure, FailureKind, Role, Tokens, Trial, Turn, Usd, Verdict, call::Spend, call_times::CallTimes,
    trial::TurnLatency, turn::Origin,
};
use scenario::{
    Plan, Source, Strategy,
    plan::{Gates, Group, VERSION},
};
use serde_json::Value;

/// Scenarios `s0`, `s1`, … with as many repeats each.
pub(crate) fn plan(scenarios: usize, repeats: u32) -> Plan {
    let group = |index: usize| Group {
        key: format!("file/s{index}"),
        name: format!("s{index}"),
        format: "eliza".to_owned(),
        source: Source { path: "scenarios/file.scenario.yaml".to_owned(), line: 1 },
        document: Value::Null,
        lines: BTreeMap::new(),
        tags: Vec::new(),
        weight: 1.0 + index as f64,
        required_pass_rate: None,
        axes: Vec::new(),
        personas: vec![None],
        repeats,
        selection: None,
        extra: Vec::new(),
        exclude: Vec::new(),
        excluded: 0,
        cover: None,
        environment: Default::default(),
        rows: None,
    };
    Plan {
        version: VERSION,
        name: "nightly".to_owned(),
        seed: 7,
        groups: (0..scenarios).map(group).collect(),
        personas: BTreeMap::new(),
        agents: vec!["mock".to_owned()],
        live: false,
        plays_on: false,
        gates: Gates::default(),
        replays: 2,
        pass_k: None,
        endpoints: std::collections::BTreeMap::new(),
        transcripts: scenario::plan::Transcripts::All,
        think_time: false,
        load: None,
        decide: None,
        origin: None,
        goodput: None,
    }
}

/// An exchange with one call to the agent, which costs 1000 nano-dollars.
pub(crate) fn turn(number: u32, agent: &str) -> Turn {
    let call = Call {
        role: Role::Agent,
        endpoint: "mock".to_owned(),
        model: "m".to_owned(),
        started_micros: 0,
        wait_micros: 0,
        connect_micros: None,
        ttft_micros: None,
        inter_token_micros: None,
        total_micros: 2_000,
        retried_micros: 0,
        tokens: Tokens { input: 3, output: 5, ..Tokens::default() },
        texts: None,
        estimated: false,
        cost: Some(Usd(1_000)),
        plain_priced: false,
        limits: record::named_limits::NamedLimits::default(),
        reported_cost: None,
        finish: None,
        tries: 1,
        throttled_tries: 0,
        lost_tries: 0,
        error: None,
        error_kind: None,
        of_trial: false,
    };
    Turn {
        number,
        step: 1,
        speaker: Origin::Scripted,
        user: "hello".to_owned(),
        agent: Some(agent.to_owned()),
        messages: Vec::new(),
        exit_code: None,
        tool_calls: Vec::new(),
        actions: Vec::new(),
        started_micros: 0,
        duration_micros: 2_000,
        response_micros: None,
        calls: vec![call],
        notes: Vec::new(),
        simulated: None,
    }
}

pub(crate) fn spend(turns: &[Turn]) -> Spend {
    let mut spend = Spend::default();
    turns.iter().flat_map(|turn| &turn.calls).for_each(|call| spend.add_call(call));
    spend
}

pub(crate) fn call_times(turns: &[Turn]) -> CallTimes {
    let mut call_times = CallTimes::default();
    turns.iter().flat_map(|turn| &turn.calls).for_each(|call| call_times.add_call(call));
    call_times
}

/// The trial as a worker would report it.
pub(crate) fn trial(plan: &Plan, number: u64, epoch: u32, verdict: Verdict, turns: &[Turn]) -> Trial {
    let planned = plan.trial(number).unwrap();
    Trial {
        number,
        trial_id: planned.id,
        case_id: planned.case_id,
        case: planned.case,
        repeat: planned.repeat,
        epoch,
        seed: planned.seed,
        verdict,
        failure: (verdict == Verdict::Fail).then(|| Failure::new(FailureKind::CheckFailed, "no greeting").in_turn(1)),
        strategy: Strategy::AllPass,
        termination_reason: None,
        stop: None,
        turns: turns.len() as u32,
        conversations: 0,
        duration_ms: 4,
        began_at_ms: 0,
        latencies: turns.iter().map(|_| TurnLatency { total_micros: 2_000, ..TurnLatency::default() }).collect(),
        unanswered: 0,
        spend: spend(turns),
        call_times: call_times(turns),
        start: None,
        judgments: Vec::new(),
        keep_transcript: true,
        exhausted: false,
        user: None,
        examined: None,
        past: record::trial::Past::default(),
    }
}

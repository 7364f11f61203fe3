//! Hand-made runs: a small one whose pages are snapshots, and a nightly run of a realistic size for browsers.

mod words;

use std::collections::{BTreeMap, BTreeSet};

use record::{
    Failure, FailureKind, Finding, Judgment, Role, Scope, Summary, Tally, Trial, Turn, Verdict,
    call::Spend,
    call_times::CallTimes,
    decision::Decided,
    histogram::Histogram,
    latency::Quantiles,
    slices::{Series, SeriesSlice},
    summary::{
        AgentSummary, Attempts, AxisSummary, CaseSummary, CheckSummary, Cost, FailureCount, Gate, KneeUnit, Latencies,
        LeftOut, Load, LoadSlice, LoadStep, Losses, MetricSummary, ModelSpend, PartSummary, PersonaSummary, RateScope,
        Run, RunDecision, RunState, RunVerdict, SCHEMA_VERSION, ScenarioSummary, Sustained, TagSummary, Totals, Trials,
        Wall,
    },
    trial::TurnLatency,
};
use report::{Form, Screen, Selection, forms};
use scenario::{CaseId, Digest, RunId, Strategy, TrialId};
use statistics::{
    flakiness::{is_flaky, pass_hat_k, usual_k},
    success::{bounds, judged_pass_rate, success_rate},
};

/// A summary and its trials, in the plan's order.
pub(crate) struct Sample {
    pub(crate) summary: Summary,
    pub(crate) trials: Vec<(Trial, Vec<Turn>)>,
}

impl Sample {
    pub(crate) fn selection(&self) -> Selection {
        let mut selection = Selection::default();
        for (trial, turns) in &self.trials {
            selection.add(trial, turns);
        }
        selection
    }

    /// Every form that is one page, by its name.
    pub(crate) fn pages(&self) -> Vec<(&'static str, String)> {
        let selection = self.selection();
        let page = |form: &Form| Some((form.name, form.page(&self.summary, &selection, Screen::PLAIN)?.unwrap()));
        forms::ALL.iter().filter_map(page).collect()
    }
}

/// A case before it is played.
pub(crate) struct Cell {
    pub(crate) scenario: &'static str,
    pub(crate) persona: Option<&'static str>,
    pub(crate) combination: Option<&'static str>,
    pub(crate) parameters: &'static [(&'static str, &'static str)],
    /// How its repeats end.
    pub(crate) ends: &'static [End],
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum End {
    Pass,
    /// A check of a turn fails.
    Fail,
    /// A judge of the whole conversation finds it failing.
    FailAfter,
    Timeout,
    JudgeLost,
    SimulatorLost,
    Skipped,
    Cancelled,
}

use End::{Cancelled, Fail, FailAfter, JudgeLost, Pass, SimulatorLost, Skipped, Timeout};

/// Three cases: one that passes, one that is flaky, one that fails in every way.
pub(crate) fn small() -> Sample {
    play(
        "support agent",
        &[
            Cell { scenario: "greeting", persona: None, combination: None, parameters: &[], ends: &[Pass, Pass, Pass] },
            Cell {
                scenario: "refund",
                persona: Some("impatient"),
                combination: Some("combo-000-59fc3c"),
                parameters: &[("run.0.input", "Where is my money?"), ("name", "short")],
                ends: &[Fail, Pass, FailAfter],
            },
            Cell {
                scenario: "refund",
                persona: Some("polite"),
                combination: Some("combo-000-59fc3c"),
                parameters: &[("run.0.input", "Where is my money?"), ("name", "short")],
                ends: &[Timeout, JudgeLost, SimulatorLost, Skipped, Cancelled],
            },
        ],
    )
}

/// 5 scenarios, 4 personas, 4 repeats.
pub(crate) fn night() -> Sample {
    const ALL: &[End] = &[Pass, Pass, Pass, Pass];
    const ONE: &[End] = &[Pass, Fail, Pass, Pass];
    const HALF: &[End] = &[Fail, Pass, FailAfter, Pass];
    const NONE: &[End] = &[Fail, FailAfter, Fail, Timeout];
    const OURS: &[End] = &[Pass, JudgeLost, Pass, SimulatorLost];
    let ends = [
        ("order status", [ALL, ALL, ALL, ALL]),
        ("refund over the limit", [ALL, HALF, NONE, ONE]),
        ("change of address", [ALL, ONE, ALL, ALL]),
        ("cancels twice, then changes their mind", [ONE, ALL, HALF, OURS]),
        ("asks for a human", [ALL, ALL, ALL, ONE]),
    ];
    let personas = ["polite", "impatient", "confused newcomer", "expert"];
    let cells: Vec<Cell> = ends
        .iter()
        .flat_map(|(scenario, row)| {
            personas.iter().zip(row).map(|(persona, ends)| Cell {
                scenario,
                persona: Some(persona),
                combination: None,
                parameters: &[("simulator.temperature", "0.7")],
                ends,
            })
        })
        .collect();
    play("nightly support agent, main@4f2a91c", &cells)
}

pub(crate) fn play(name: &str, cells: &[Cell]) -> Sample {
    let mut trials = Vec::new();
    for (case, cell) in cells.iter().enumerate() {
        for (repeat, end) in cell.ends.iter().enumerate() {
            trials.push(trial(trials.len() as u64, case as u64, repeat as u32, cell, *end));
        }
    }
    let summary = summary(name, cells, &trials);
    Sample { summary, trials }
}

fn trial(number: u64, case: u64, repeat: u32, cell: &Cell, end: End) -> (Trial, Vec<Turn>) {
    let turns = match end {
        Skipped | Cancelled => Vec::new(),
        SimulatorLost => words::turns(number, 2, end),
        _ => words::turns(number, 4, end),
    };
    let failing = turns.len() as u32;
    let mut judgments: Vec<Judgment> = turns.iter().map(|turn| passing(turn.number)).collect();
    let (verdict, failure) = match end {
        Pass => (Verdict::Pass, None),
        Fail => {
            judgments[2] = Judgment {
                finding: Finding::Fail,
                reason: "\"refund\" does not occur in the reply".to_owned(),
                evidence: Some("You can read about that in our help centre.".to_owned()),
                ..passing(3)
            };
            let message = "string_contains: \"refund\" does not occur in the reply";
            (Verdict::Fail, Some(Failure::new(FailureKind::CheckFailed, message).in_step(1).in_turn(3)))
        }
        FailAfter => {
            judgments.push(Judgment {
                check: "llm_judge".to_owned(),
                name: None,
                description: Some("Does the agent solve the problem without asking the same thing twice?".to_owned()),
                scope: Scope::Conversation { step: 1 },
                finding: Finding::Fail,
                score: Some(0.35),
                reason: "the agent asks for the order number in turn 1 and again in turn 4".to_owned(),
                evidence: Some(
                    "{\"score\": 0.35, \"reason\": \"asks for the order number in turn 1 and again in turn 4\"}"
                        .to_owned(),
                ),
                failure: None,
                line: 31,
                required: true,
                weight: 1.0,
                ballots: Vec::new(),
                jury: None,
                custom: None,
            });
            let message = "llm_judge: the agent asks for the order number in turn 1 and again in turn 4";
            (Verdict::Fail, Some(Failure::new(FailureKind::CheckFailed, message).in_step(1)))
        }
        Timeout => {
            judgments.truncate(3);
            let failure = Failure::new(FailureKind::AgentTimeout, "no reply within 30 s").in_step(1).in_turn(failing);
            (Verdict::Error, Some(failure))
        }
        JudgeLost => {
            judgments.push(Judgment {
                check: "llm_judge".to_owned(),
                name: None,
                description: None,
                scope: Scope::Conversation { step: 1 },
                finding: Finding::Inconclusive,
                score: None,
                reason: "the judge answered three times without a score".to_owned(),
                evidence: Some("I would say that this is fine!".to_owned()),
                failure: Some(FailureKind::JudgeMalformed),
                line: 31,
                required: true,
                weight: 1.0,
                ballots: Vec::new(),
                jury: None,
                custom: None,
            });
            let message = "llm_judge: the judge answered three times without a score";
            (Verdict::Inconclusive, Some(Failure::new(FailureKind::JudgeMalformed, message).in_step(1)))
        }
        SimulatorLost => {
            judgments.clear();
            let failure =
                Failure::new(FailureKind::SimulatorFailed, "endpoint sim: 503 three times").in_step(1).in_turn(2);
            (Verdict::Error, Some(failure))
        }
        Skipped => {
            judgments.clear();
            let message = "step 1 runs a program, and this worker does not allow it";
            (Verdict::Skipped, Some(Failure::new(FailureKind::ExecutionNotAllowed, message)))
        }
        Cancelled => {
            judgments.clear();
            (Verdict::Cancelled, Some(Failure::new(FailureKind::Cancelled, "the run was cancelled")))
        }
    };
    let mut spend = Spend::default();
    let mut call_times = CallTimes::default();
    for call in turns.iter().flat_map(|turn| &turn.calls) {
        spend.add_call(call);
        call_times.add_call(call);
    }
    let latencies = turns
        .iter()
        .filter(|turn| turn.agent.is_some())
        .map(|turn| TurnLatency::of(turn, turn.started_micros + turn.duration_micros))
        .collect();
    let case_id = CaseId::new(format!("{:016x}", 0x5eed_0000 + case));
    let trial = Trial {
        number,
        trial_id: TrialId::new(format!("{:016x}", 0xabc0_0000_0000 + number)),
        case_id,
        case,
        repeat,
        epoch: if number == 1 { 2 } else { 1 },
        seed: 9_007_199_254_740_993 + number,
        verdict,
        failure,
        strategy: Strategy::AllPass,
        termination_reason: cell.persona.filter(|_| !turns.is_empty()).map(|_| "user_satisfied".to_owned()),
        stop: None,
        turns: turns.len() as u32,
        conversations: u32::from(cell.persona.is_some() && !turns.is_empty()),
        duration_ms: turns.iter().map(|turn| turn.duration_micros / 1_000).sum(),
        began_at_ms: 0,
        latencies,
        unanswered: turns.iter().filter(|turn| turn.agent.is_none()).count() as u32,
        spend,
        call_times,
        start: None,
        judgments,
        keep_transcript: repeat == 0,
        exhausted: false,
        user: None,
        examined: None,
        past: record::trial::Past::default(),
    };
    (trial, turns)
}

fn passing(turn: u32) -> Judgment {
    Judgment {
        check: "string_contains".to_owned(),
        name: None,
        description: None,
        scope: Scope::Turn { step: 1, turn },
        finding: Finding::Pass,
        score: None,
        reason: "the text occurs in the reply".to_owned(),
        evidence: None,
        failure: None,
        line: 18,
        required: true,
        weight: 1.0,
        ballots: Vec::new(),
        jury: None,
        custom: None,
    }
}

fn summary(name: &str, cells: &[Cell], trials: &[(Trial, Vec<Turn>)]) -> Summary {
    let distinct = cells.iter().map(|cell| cell.scenario).collect::<BTreeSet<_>>().len() as u64;
    let mut tally = Tally::default();
    let mut spend = Spend::default();
    for (trial, _) in trials {
        tally.add(trial);
        spend.add(&trial.spend);
    }
    let total = tally.total;
    let planned = trials.len() as u64;
    let cases: Vec<CaseSummary> = cells
        .iter()
        .enumerate()
        .map(|(number, cell)| {
            let counts = tally.cases[&(number as u64)];
            CaseSummary {
                id: CaseId::new(format!("{:016x}", 0x5eed_0000 + number)),
                number: number as u64,
                scenario: cell.scenario.to_owned(),
                title: cell.scenario.to_owned(),
                format: "eliza".to_owned(),
                source: format!("scenarios/{}.scenario.yaml", cell.scenario.replace(' ', "-")),
                combination: cell.combination.map(str::to_owned),
                variant: None,
                persona: cell.persona.map(str::to_owned),
                agent: "mock".to_owned(),
                parameters: cell.parameters.iter().map(|(path, value)| ((*path).to_owned(), (*value).into())).collect(),
                weight: 1.0,
                trials: cell.ends.len() as u64,
                pass: counts.pass,
                fail: counts.fail,
                inconclusive: counts.inconclusive,
                error: counts.error,
                agent_errors: counts.agent_errors,
                replayed_failures: counts.replayed_failures,
                doubtful: counts.doubtful,
                skipped: counts.skipped,
                cancelled: counts.cancelled,
                quarantine: None,
                success_rate: success_rate(&counts),
                success_bounds: bounds(&counts, cell.ends.len() as u64),
                judged_pass_rate: judged_pass_rate(&counts),
                flaky: is_flaky(&counts),
                pass_hat_k: pass_hat_k(&counts),
                verdict: if counts.held_against_agent() > 0 {
                    RunVerdict::Fail
                } else if counts.pass == cell.ends.len() as u64 {
                    RunVerdict::Pass
                } else {
                    RunVerdict::Inconclusive
                },
            }
        })
        .collect();
    let models: Vec<ModelSpend> = spend
        .lines
        .iter()
        .map(|((role, model), line)| ModelSpend {
            role: *role,
            model: model.clone(),
            calls: line.calls,
            tokens: line.tokens,
            cost_usd: line.cost.dollars(),
            unpriced_calls: line.unpriced_calls,
            estimated_calls: line.estimated_calls,
            plain_priced_calls: line.plain_priced_calls,
            cut_calls: line.cut_calls,
            reported_usd: None,
            throttling: tally.call_times.summary(*role, model, line),
        })
        .collect();
    let of_cell = |of: &dyn Fn(&Cell) -> bool| figures(trials, &|case| of(&cells[case as usize]));
    let mut values: Vec<(&str, &str)> = cells.iter().flat_map(|cell| cell.parameters).copied().collect();
    values.sort_unstable();
    values.dedup();
    let by_axis = values.into_iter().map(|(parameter, value)| AxisSummary {
        parameter: parameter.to_owned(),
        value: value.into(),
        figures: of_cell(&|cell| cell.parameters.contains(&(parameter, value))),
    });
    let by_tag = [("money", true), ("service", false)].into_iter().map(|(tag, money)| TagSummary {
        tag: tag.to_owned(),
        figures: of_cell(&|cell| cell.scenario.contains("refund") == money),
    });
    let mut scenarios: Vec<&str> = cells.iter().map(|cell| cell.scenario).collect();
    scenarios.dedup();
    let by_scenario = scenarios.into_iter().map(|scenario| ScenarioSummary {
        scenario: scenario.to_owned(),
        figures: of_cell(&|cell| cell.scenario == scenario),
    });
    let mut personas: Vec<&str> = cells.iter().filter_map(|cell| cell.persona).collect();
    personas.sort_unstable();
    personas.dedup();
    let by_persona = personas.into_iter().map(|persona| PersonaSummary {
        persona: persona.to_owned(),
        figures: of_cell(&|cell| cell.persona == Some(persona)),
    });
    let by_check = tally.breakdown.checks.iter().map(|((check, required), findings)| CheckSummary {
        check: check.clone(),
        required: *required,
        pass: findings.pass,
        fail: findings.fail,
        not_judged: findings.not_judged,
    });
    let metrics = tally.breakdown.metrics.iter().map(|(name, metric)| MetricSummary {
        name: name.to_owned(),
        pass: metric.pass,
        fail: metric.fail,
        not_judged: metric.not_judged,
        not_applicable: metric.not_applicable,
        rate: statistics::interval(metric.pass, metric.pass + metric.fail),
        mean_score: metric.mean_score(),
        scores: metric.scores,
    });
    let by_role = |role: Role| (role.name().to_owned(), spend.of(role));
    let unpriced_calls = spend.unpriced_calls();
    Summary {
        load: None,
        sequential: None,
        past: None,
        transcripts: None,
        schema_version: SCHEMA_VERSION,
        run: Run {
            id: RunId::new("20260314-020000-7f3a"),
            name: name.to_owned(),
            started_at: "2026-03-14T02:00:00Z".to_owned(),
            ended_at: Some("2026-03-14T02:04:31Z".to_owned()),
            seed: 42,
            plan_digest: Digest::of(name.as_bytes()),
            gabfest_version: "0.1.0".to_owned(),
            state: RunState::Finished,
            exhausted: false,
            stopped: None,
            decisions: Vec::new(),
            contents: None,
            origin: None,
        },
        verdict: RunVerdict::Fail,
        gates: vec![
            Gate {
                name: "every_case_passes".to_owned(),
                verdict: RunVerdict::Fail,
                reason: format!(
                    "required: every case passes; found: {} of {} cases failed",
                    cases.iter().filter(|case| case.verdict == RunVerdict::Fail).count(),
                    cases.len()
                ),
            },
            Gate {
                name: "enough_evidence".to_owned(),
                verdict: if total.unjudged() > 0 { RunVerdict::Inconclusive } else { RunVerdict::Pass },
                reason: format!("required: at most 0 trials without a verdict; found: {}", total.unjudged()),
            },
        ],
        summary: Totals {
            trials: Trials {
                planned,
                pass: total.pass,
                fail: total.fail,
                inconclusive: total.inconclusive,
                error: total.error,
                agent_errors: total.agent_errors,
                replayed_failures: total.replayed_failures,
                doubtful: total.doubtful,
                skipped: total.skipped,
                cancelled: total.cancelled,
                not_started: 0,
            },
            completed_rate: total.judged() as f64 / planned as f64,
            conversations: tally.conversations,
            turns: tally.turns,
            success_rate: success_rate(&total),
            success_rate_scope: Some(RateScope { scenarios: distinct, clustered: false, design_effect: None }),
            success_bounds: bounds(&total, planned),
            judged_pass_rate: judged_pass_rate(&total),
            weighted_success_rate: None,
            pass_k: usual_k(cells.iter().map(|cell| cell.ends.len() as u64)),
            flaky_cases: cases.iter().filter(|case| case.flaky).count() as u64,
            latency: Latencies { times: tally.times.figures(), unanswered_turns: tally.unanswered },
            tokens: Role::ALL
                .map(by_role)
                .into_iter()
                .map(|(role, line)| (role, line.tokens))
                .collect::<BTreeMap<_, _>>(),
            cost: Cost {
                total_usd: spend.cost().dollars(),
                complete: false,
                unpriced_calls,
                estimated_calls: spend.estimated_calls(),
                plain_priced_calls: spend.plain_priced_calls(),
                unknown_attempts: 1,
            },
            llm_calls: Role::ALL.map(by_role).into_iter().map(|(role, line)| (role, line.calls)).collect(),
            preflight: None,
            models,
            attempts: Attempts { total: planned + 1, lost: 1, ..Attempts::default() },
            unsettled_usd: 0.0031,
            budget: None,
            failures: tally
                .failures
                .iter()
                .map(|((kind, blame), trials)| FailureCount { kind: *kind, blame: *blame, trials: *trials })
                .collect(),
        },
        cases,
        wall: Some(Wall::of(
            271_000,
            LeftOut::default(),
            tally.conversations,
            tally.turns,
            spend.of(Role::Agent).tokens.output,
        )),
        by_agent: vec![AgentSummary { agent: "mock".to_owned(), figures: figures(trials, &|_| true) }],
        by_scenario: by_scenario.collect(),
        by_persona: by_persona.collect(),
        by_tag: if cells.is_empty() { Vec::new() } else { by_tag.collect() },
        by_axis: by_axis.collect(),
        other_parts: Vec::new(),
        goodput: None,
        by_turn: tally.by_number.figures().collect(),
        series: tally.slices.figures(),
        by_check: by_check.collect(),
        simulated_user: None,
        judges: None,
        custom_checks: Vec::new(),
        metrics: metrics.collect(),
        losses: Vec::new(),
        unreadable: record::summary::Unreadable::default(),
    }
}

/// The figures of some cases.
pub(crate) fn figures(trials: &[(Trial, Vec<Turn>)], of: &dyn Fn(u64) -> bool) -> PartSummary {
    let (mut tally, mut spend) = (Tally::default(), Spend::default());
    for (trial, _) in trials.iter().filter(|(trial, _)| of(trial.case)) {
        tally.add(trial);
        spend.add(&trial.spend);
    }
    let counts = tally.total;
    PartSummary {
        trials: counts.ended(),
        pass: counts.pass,
        fail: counts.fail,
        agent_errors: counts.agent_errors,
        replayed_failures: counts.replayed_failures,
        doubtful: counts.doubtful,
        inconclusive: counts.inconclusive,
        error: counts.error,
        skipped: counts.skipped,
        cancelled: counts.cancelled,
        success_rate: success_rate(&counts),
        latency: Some(tally.times.figures()),
        unanswered_turns: tally.unanswered,
        goodput: None,
        cost_usd: spend.cost().dollars(),
        unpriced_calls: spend.unpriced_calls(),
        estimated_calls: spend.estimated_calls(),
        failures: tally
            .failures
            .iter()
            .map(|((kind, blame), trials)| FailureCount { kind: *kind, blame: *blame, trials: *trials })
            .collect(),
    }
}

fn quantiles(millis: impl Iterator<Item = u64>) -> Quantiles {
    let mut micros = Histogram::default();
    millis.for_each(|millis| micros.record(millis * 1_000));
    Quantiles::of(&micros)
}

/// Stairs of five rates, each 20 s long, and an agent that fails from 4/s on.
pub(crate) fn load() -> Load {
    let step = |(number, pass): (u64, u64)| {
        let (ends, from) = (20 * number, 20.0 * (number - 1) as f64);
        let times = quantiles((0..ends * 2).map(|turn| 400 + turn * number));
        LoadStep {
            from_seconds: from,
            until_seconds: Some(from + 20.0),
            rate: Some(number as f64),
            slots: None,
            ends,
            dropped: 0,
            pass,
            fail: ends - pass,
            agent_errors: 0,
            other_ends: 0,
            success_rate: statistics::interval(pass, ends),
            simulator_faults: 0,
            simulated: 0,
            turns: ends * 2,
            unanswered_turns: 0,
            response: times,
            turn: times,
            ttft: Quantiles::default(),
            cost_usd: 0.01 * ends as f64,
            cost_per_pass_usd: Some(0.01 * ends as f64 / pass as f64),
        }
    };
    let steps: Vec<LoadStep> = (1..=5).zip([19, 39, 59, 40, 30]).map(step).collect();
    let slice = |from_seconds: u64| {
        let due = 2 * (from_seconds / 20 + 1);
        LoadSlice { from_seconds, offered: due, started: due, dropped: 0 }
    };
    Load {
        scheduled: 300,
        sent: 300,
        dropped: 0,
        lost: 0,
        rescheduled: 0,
        warm_up: 0,
        late: None,
        runner: None,
        drift: None,
        invalid: None,
        groups: Vec::new(),
        slice_seconds: 2,
        slices: (0..50).map(|slice_number| slice(slice_number * 2)).collect(),
        knee: statistics::knee::of(&steps).ok(),
        no_knee: statistics::knee::of(&steps).err(),
        sustained: Some(Sustained {
            unit: KneeUnit::Rate,
            requirements: vec!["pass_rate >= 90%".to_owned()],
            load: Some(3.0),
            broken_at: Some(4.0),
            undecided: vec![1.0, 2.0],
        }),
        search: None,
        steps,
    }
}

/// 100 s under that load: the agent becomes slower, and one worker is lost.
pub(crate) fn under_load() -> Sample {
    let mut sample = small();
    let load = load();
    let quantiles = |number: u64| quantiles((0..700).map(|turn| 300 + number * 12 + turn * (2 + number / 8)));
    let slice = |number: u64| {
        let starts = load.slices[usize::try_from(number).unwrap()].started;
        SeriesSlice {
            from_ms: number * 2_000,
            starts,
            ends: starts.min(6) + number % 3,
            pass: 0,
            fail: 0,
            agent_errors: 0,
            other_ends: 0,
            unanswered_turns: 0,
            response: quantiles(number + number / 2),
            turn: quantiles(number),
            ttft: quantiles(number / 3),
            turns_met: Some(700 - number * 9),
            output_tokens: 0,
            cost_usd: 0.0,
        }
    };
    sample.summary.series = Some(Series { width_ms: 2_000, slices: (0..50).map(slice).collect() });
    sample.summary.losses =
        vec![Losses { after_ms: 61_000, conversations: 3 }, Losses { after_ms: 62_000, conversations: 1 }];
    // It stood still for a minute and a half.
    let decided = |after_ms: u64, load_ms: u64, what| RunDecision {
        at: format!("2026-03-14T02:{:02}:{:02}.000Z", after_ms / 60_000, after_ms / 1_000 % 60),
        after_ms,
        load_ms: Some(load_ms),
        by: matches!(what, Decided::Paused).then(|| "ada".to_owned()),
        what,
    };
    let rate = Decided::Rate { group: None, rate: 3.0, from_micros: 33_000_000 };
    sample.summary.run.decisions = vec![
        decided(5_000, 5_000, Decided::Paused),
        decided(95_000, 5_000, Decided::Resumed),
        decided(119_000, 29_000, rate),
        decided(180_000, 90_000, Decided::Restarted),
    ];
    sample.summary.wall = sample.summary.wall.map(|wall| Wall { duration_ms: 100_500, ..wall });
    sample.summary.load = Some(load);
    sample
}

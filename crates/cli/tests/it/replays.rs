//! Trials that our side broke are played again: within the run, by `resume`, and after a used-up quota.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    process::{Ended, Place},
    server::{says, serve},
};

const SCENARIO: &str = "
name: talk
description: d
environment: { type: local }
run:
  - input: hello
    evaluations: CHECKS
judgment: { strategy: all_pass }
";
const JUDGED: &str = "[{ type: llm_judge, prompt: Is it polite?, expected: 'yes' }]";
/// The first check fails whatever the judge says, and the judge is asked nevertheless.
const FAILS: &str =
    "[{ type: string_contains, value: never said }, { type: llm_judge, prompt: Is it polite?, expected: 'yes' }]";

/// A judge that can be broken, and that counts its calls.
#[derive(Default)]
struct Judge {
    asked: AtomicU64,
    /// From this question on it does not judge.
    good_until: AtomicU64,
    /// From this one on it does again.
    good_from: AtomicU64,
}

impl Judge {
    fn answer(&self, broken: &(u16, Value)) -> (u16, Value) {
        let question = self.asked.fetch_add(1, Ordering::SeqCst);
        let good_until = self.good_until.load(Ordering::SeqCst);
        if (good_until..self.good_from.load(Ordering::SeqCst)).contains(&question) {
            return broken.clone();
        }
        says(&json!({ "reasoning": "polite", "quotes": [], "judgment": "yes", "confidence": 0.9 }).to_string())
    }

    fn is_broken(&self, questions: std::ops::Range<u64>) {
        self.good_until.store(questions.start, Ordering::SeqCst);
        self.good_from.store(questions.end, Ordering::SeqCst);
    }

    fn asked(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }
}

fn place(checks: &str, more: &str, broken: (u16, Value), judge: &Arc<Judge>) -> Place {
    let asked = Arc::clone(judge);
    let address = serve(move |_| asked.answer(&broken));
    let place = Place::new();
    place.write("talk.scenario.yaml", &SCENARIO.replace("CHECKS", checks));
    let settings = format!(
        "endpoints:\n  strict: {{ kind: openai, url: \"{address}\", model: m }}\nroles: {{ judge: strict }}\n{more}\n"
    );
    place.write("gabfest.yaml", &settings);
    place
}

fn no_money() -> (u16, Value) {
    (429, json!({ "error": { "message": "you are out of credit", "code": "insufficient_quota" } }))
}

fn totals(place: &Place) -> Value {
    place.json("out/report.json")["summary"].clone()
}

fn run(place: &Place, repeats: &str, slots: &str) -> Ended {
    // The preflight would ask the judge a question more.
    place.run(&["run", "talk.scenario.yaml", "--no-preflight", "--repeats", repeats, "--slots", slots, "--out", "out"])
}

#[test]
fn a_judge_that_fails_for_a_while_costs_attempts_and_no_verdict() {
    let judge = Arc::new(Judge::default());
    judge.is_broken(3..12);
    let place = place(JUDGED, "", says("I would rather not say."), &judge);
    let ended = run(&place, "10", "1");
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    let totals = totals(&place);
    assert_eq!((&totals["trials"]["pass"], &totals["trials"]["inconclusive"]), (&json!(10), &json!(0)));
    let attempts = &totals["attempts"];
    let replayed = attempts["replayed"].as_u64().unwrap();
    assert!(replayed > 0 && attempts["replayed_trials"].as_u64().unwrap() > 0, "{attempts}");
    assert_eq!((attempts["total"].as_u64().unwrap(), &attempts["lost"]), (10 + replayed, &json!(0)));
    assert_eq!(totals["llm_calls"]["judge"].as_u64().unwrap(), judge.asked(), "all attempts are paid for");
    assert!(ended.stdout.contains("played again"), "{}", ended.stdout);
}

#[test]
fn a_resume_replays_only_trials_that_our_side_broke() {
    let judge = Arc::new(Judge::default());
    judge.is_broken(0..1_000);
    let place = place(JUDGED, "replays: 0", says("I would rather not say."), &judge);
    assert_eq!(run(&place, "4", "2").code, 3);
    assert_eq!(totals(&place)["trials"]["inconclusive"], 4);
    assert_eq!(totals(&place)["attempts"]["replayed"], 0, "`replays: 0` turns it off");
    judge.is_broken(0..0);
    let resumed = place.run(&["resume", "out"]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    assert!(resumed.stderr.contains("0 of 4 trials are done, 4 trials are played again"), "{}", resumed.stderr);
    assert_eq!((&totals(&place)["trials"]["pass"], &totals(&place)["attempts"]["replayed"]), (&json!(4), &json!(4)));
    let again = place.run(&["resume", "out"]);
    assert_eq!(again.code, 0);
    assert!(again.stderr.contains("has nothing left to play: 4 of 4 trials are done"), "{}", again.stderr);
}

#[test]
fn failures_are_replayed_only_on_request() {
    let judge = Arc::new(Judge::default());
    let place = place(FAILS, "", no_money(), &judge);
    assert_eq!(run(&place, "3", "2").code, 1);
    let asked = judge.asked();
    let kept = place.run(&["resume", "out"]);
    assert!(kept.stderr.contains("has nothing left to play"), "{}", kept.stderr);
    assert_eq!((kept.code, judge.asked()), (1, asked));
    let resumed = place.run(&["resume", "out", "--failed"]);
    assert_eq!(resumed.code, 1, "it fails again: {}", resumed.stderr);
    assert!(resumed.stderr.contains("3 trials are played again"), "{}", resumed.stderr);
    assert_eq!((totals(&place)["attempts"]["replayed"].as_u64(), judge.asked()), (Some(3), 2 * asked));
}

#[test]
fn failures_are_replayed_on_a_coordinator_too() {
    let judge = Arc::new(Judge::default());
    let place = place(FAILS, "", no_money(), &judge);
    let (_coordinator, address) = place.serve(&["coordinator", "--listen", "127.0.0.1:0"]);
    let _worker = place.start(&["worker", "--coordinator", &address]);
    let submit = ["submit", "talk.scenario.yaml", "--repeats", "2", "--coordinator", &address, "--run", "r"];
    assert_eq!(place.run(&submit).code, 0);
    let watch = ["watch", "r", "--coordinator", &address, "--out", "out"];
    assert_eq!(place.run(&watch).code, 1);
    let resumed = place.run(&["resume", "r", "--failed", "--coordinator", &address]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    assert!(resumed.stderr.contains("2 trials are played again"), "{}", resumed.stderr);
    assert_eq!(place.run(&watch).code, 1);
    assert_eq!(totals(&place)["attempts"]["replayed"], 2);
}

#[test]
fn a_used_up_quota_is_the_same_exit_code_for_any_number_of_slots() {
    for slots in ["1", "32"] {
        let judge = Arc::new(Judge::default());
        judge.is_broken(20..1_000_000);
        let place = place(JUDGED, "", no_money(), &judge);
        // As many trials as slots: the quota may break the last of them.
        let ended = run(&place, "32", slots);
        assert_eq!(ended.code, 4, "{slots} slots: {}\n{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains("gabfest resume"), "{}", ended.stderr);
        assert_eq!(place.json("out/report.json")["run"]["state"], "interrupted");
        assert_eq!(totals(&place)["trials"]["pass"], 20, "{slots} slots");
        let still = place.run(&["resume", "out"]);
        assert_eq!(still.code, 4, "nobody paid: {}", still.stderr);
        judge.is_broken(0..0);
        let resumed = place.run(&["resume", "out"]);
        assert_eq!(resumed.code, 0, "{}", resumed.stderr);
        assert_eq!(totals(&place)["trials"]["pass"], 32, "{slots} slots");
    }
}

#[test]
fn a_used_up_quota_stops_the_run_although_every_trial_fails_anyway() {
    for slots in ["1", "32"] {
        let judge = Arc::new(Judge::default());
        judge.is_broken(5..1_000_000);
        let place = place(FAILS, "", no_money(), &judge);
        let ended = run(&place, "2000", slots);
        assert_eq!(ended.code, 4, "{slots} slots: {}\n{}", ended.stdout, ended.stderr);
        let trials = totals(&place)["trials"].clone();
        assert!(trials["not_started"].as_u64().unwrap() > 0, "{slots} slots: {trials}");
        assert_eq!(trials["error"], 0, "a FAIL stays one: {trials}");
    }
}

#[test]
fn an_interrupt_after_a_resumed_quota_stop_is_an_interrupt() {
    let judge = Arc::new(Judge::default());
    judge.is_broken(2..1_000_000);
    let place = place(JUDGED, "", no_money(), &judge);
    assert_eq!(run(&place, "2000", "1").code, 4);
    judge.is_broken(0..0);
    let asked = judge.asked();
    let mut resumed = place.start(&["resume", "out", "--slots", "1"]);
    while judge.asked() < asked + 5 {
        std::thread::sleep(Duration::from_millis(10));
    }
    resumed.signal("INT");
    assert_eq!(resumed.wait(Duration::from_secs(30)), 130);
    assert_eq!(place.json("out/report.json")["run"]["state"], "interrupted");
}

/// An agent that answers as its number among all calls says, and a judge that answers as its number says.
fn with_agent(
    gates: &str,
    checks: &str,
    agent: impl Fn(u64) -> (u16, Value) + Send + Sync + 'static,
    judge: impl Fn(u64) -> (u16, Value) + Send + Sync + 'static,
) -> Place {
    let numbered = |answer: Box<dyn Fn(u64) -> (u16, Value) + Send + Sync>| {
        let asked = AtomicU64::new(0);
        serve(move |_| answer(asked.fetch_add(1, Ordering::SeqCst)))
    };
    let (agent, judge) = (numbered(Box::new(agent)), numbered(Box::new(judge)));
    let place = Place::new();
    place.write("talk.scenario.yaml", &SCENARIO.replace("CHECKS", checks));
    let settings = format!(
        "endpoints:\n  ag: {{ kind: openai, url: \"{agent}\", model: a }}\n  ju: {{ kind: openai, url: \"{judge}\", model: j }}\n\
         agents: {{ ag: {{ endpoint: ag }} }}\nroles: {{ agent: ag, judge: ju }}\ngates: {gates}\n"
    );
    place.write("gabfest.yaml", &settings);
    place
}

const SAYS_RIGHT: &str = "[{ type: string_contains, value: right }]";

fn read(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path().join(name)).unwrap()
}

fn polite() -> (u16, Value) {
    says(&json!({ "reasoning": "polite", "quotes": [], "judgment": "yes", "confidence": 0.9 }).to_string())
}

/// Playing failures again until they pass is no evidence that the agent does.
#[test]
fn failures_that_are_played_again_until_they_pass_stay_failures() {
    // 7 of the first 20 fail, 3 of the 7 fail again, then all pass.
    let agent = |number| match number {
        0..7 | 20..23 => says("wrong"),
        _ => says("right"),
    };
    let place = with_agent("{ pass_rate: 0.9 }", SAYS_RIGHT, agent, |_| polite());
    assert_eq!(run(&place, "20", "1").code, 1);
    assert!(place.run(&["resume", "out", "--failed"]).code == 1);
    let ended = place.run(&["resume", "out", "--failed"]);
    assert_eq!(ended.code, 1, "{}\n{}", ended.stdout, ended.stderr);
    let report = place.json("out/report.json");
    assert_eq!(report["verdict"], "FAIL");
    let totals = &report["summary"];
    let trials = &totals["trials"];
    assert_eq!((&trials["pass"], &trials["fail"], &trials["replayed_failures"]), (&json!(13), &json!(7), &json!(7)));
    assert_eq!((&totals["success_rate"]["estimate"], &totals["success_rate"]["n"]), (&json!(0.65), &json!(20)));
    let attempts = &totals["attempts"];
    assert_eq!((&attempts["replayed"], &attempts["replayed_failed"]), (&json!(10), &json!(10)));
    let case = &report["cases"][0];
    assert_eq!((&case["flaky"], &case["pass"], &case["fail"]), (&json!(true), &json!(13), &json!(7)));
    for page in [ended.stdout.clone(), read(&place, "out/report.md")] {
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!page.contains("Not the agent's fault"), "{page}");
        assert!(page.contains("10 failed attempts played again, which count as failures"), "{page}");
        assert!(page.contains("7 trials did not fail in the last attempt"), "{page}");
    }
    let junit = read(&place, "out/junit.xml");
    assert!(junit.contains("<failure") && junit.contains("replayed_failures"), "{junit}");
    let lines = read(&place, "out/trials.jsonl");
    let failed_before = |line: &&str| serde_json::from_str::<Value>(line).unwrap()["past_failures"] != 0;
    assert_eq!(lines.lines().filter(failed_before).count(), 7);
}

/// An error of the agent needs no judge and a success does: a broken judge breaks successes, and each replay of one is
/// a new chance to fail. Four fifths of the first attempts are right, and the bounds say so.
#[test]
fn a_broken_judge_does_not_become_the_agents_failure() {
    let agent = |number| if number % 5 == 4 { (500, json!({ "error": "down" })) } else { says("right") };
    let sittings = std::sync::Mutex::new((0_u64, 0_u64));
    // It answers each question three times in prose, and every seventh question at once.
    let judge = move |_| {
        let mut sittings = sittings.lock().unwrap();
        let (sitting, tries) = &mut *sittings;
        if *sitting % 7 == 0 {
            *sitting += 1;
            return polite();
        }
        *tries += 1;
        *sitting += u64::from(*tries % 3 == 0);
        says("sorry, I am overloaded")
    };
    let place = with_agent("{ pass_rate: 0.72, max_unjudged: 0.5 }", JUDGED, agent, judge);
    let ended = run(&place, "60", "1");
    let report = place.json("out/report.json");
    let (trials, bounds) = (&report["summary"]["trials"], &report["summary"]["success_bounds"]);
    assert!(trials["doubtful"].as_u64().unwrap() > 5, "{trials}");
    assert!(report["summary"]["success_rate"]["estimate"].as_f64().unwrap() < 0.72, "{trials}");
    assert!(bounds["low"].as_f64().unwrap() <= 0.8 && bounds["high"].as_f64().unwrap() >= 0.8, "{bounds}");
    assert_eq!((ended.code, &report["verdict"]), (3, &json!("INCONCLUSIVE")), "{}", ended.stdout);
    let page = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("failed only after our side broke an attempt"), "{page}");
}

/// The report of an unfinished run does not say PASS, whatever is tolerated: its exit code is 4.
#[test]
fn a_run_that_met_a_used_up_quota_is_no_pass_however_much_is_forgiven() {
    let forgiving = "{ pass_rate: 0.3, max_unjudged: 0.9, max_unjudged_cases: 5 }";
    let place =
        with_agent(forgiving, JUDGED, |_| says("right"), |number| if number < 5 { polite() } else { no_money() });
    assert_eq!(run(&place, "10", "10").code, 4);
    let report = place.json("out/report.json");
    assert_eq!(report["summary"]["trials"]["pass"], 5);
    assert_eq!(report["verdict"], "INCONCLUSIVE", "{}", report["gates"]);
}

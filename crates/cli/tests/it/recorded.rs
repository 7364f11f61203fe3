//! `run --record`, `run --replay` and `rejudge`: no live call, the same verdicts, and the verdicts of another judge.

use std::{
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};

use crate::{
    process::{Ended, Place, Process},
    server::{Asked, says, serve, streams},
};

const SCENARIO: &str = "
name: parcel
description: a customer waits for a parcel
run:
  - name: greet
    input: Hello
    evaluations:
      - { type: string_contains, value: note }
      - { type: latency, max_total_ms: 60000 }
      - { type: llm_judge, prompt: Is the agent polite?, expected: 'yes' }
  - name: talk
    input: My parcel has not arrived.
    conversation:
      max_turns: 3
      user_simulator: { persona: A customer who waits for a parcel, objective: Find out where the parcel is }
    evaluations:
      - { type: llm_judge, prompt: Is the agent polite?, expected: 'yes', votes: 3 }
judgment: { strategy: all_pass }
";

const WORDS: [&str; 8] = ["warehouse", "van", "depot", "office", "garden", "station", "harbour", "shop"];

/// A server that never says the same twice, and counts its calls.
fn shop(asked: &Arc<AtomicU64>) -> String {
    let asked = Arc::clone(asked);
    serve(move |request: &Asked| {
        let number = asked.fetch_add(1, Ordering::SeqCst);
        let word = WORDS[number as usize % WORDS.len()];
        match request.header("x-gabfest-role").as_str() {
            "agent" => streams(&format!("It may be in the {word}, see note {number}.")),
            "user_sim" => says(&format!("Is it perhaps in the {word} of my neighbour?")),
            // Every fifth answer is a no.
            _ => verdict(if number.is_multiple_of(5) { "no" } else { "yes" }),
        }
    })
}

fn verdict(word: &str) -> (u16, Value) {
    says(&json!({ "reasoning": "so it is", "quotes": [], "judgment": word, "confidence": 0.9 }).to_string())
}

fn place(address: &str) -> Place {
    let place = Place::new();
    place.write("parcel.scenario.yaml", SCENARIO);
    settings(&place, address, "");
    place
}

fn settings(place: &Place, address: &str, more: &str) {
    let endpoint = |model: &str, stream: bool| {
        format!(
            "{{ kind: openai, url: \"{address}\", model: {model}, stream: {stream}, key: env:GABFEST_TEST_SHOP_KEY }}"
        )
    };
    let text = format!(
        "endpoints:\n  shop: {}\n  user: {}\n  strict: {}\n{more}\
         agents:\n  streamed: {{ endpoint: shop, system: Be brief. }}\n  plain:\n    http:\n      url: \"{address}\"\n      \
         body: {{ text: '{{{{ message }}}}', session: '{{{{ conversation }}}}' }}\n      \
         reply: {{ delta: '$.choices[0].delta.content' }}\n\
         roles: {{ agent: streamed, user_sim: user, judge: strict }}\ngates: {{ pass_rate: 0, case_pass_rate: 0 }}\n",
        endpoint("m-agent", true),
        endpoint("m-user", false),
        endpoint("m-judge", false),
    );
    place.write("gabfest.yaml", &text);
}

const KEY: &str = "shop-key-5f3a9c1e77d24b";

fn run(place: &Place, args: &[&str]) -> Ended {
    Ended::from(place.gabfest(args).env("GABFEST_TEST_SHOP_KEY", KEY).output().unwrap())
}

fn record(place: &Place, repeats: &str) -> Ended {
    let both = ["--agent", "streamed", "--agent", "plain"];
    let args = ["run", "parcel.scenario.yaml", "--no-preflight", "--record", "--repeats", repeats, "--out", "night"];
    run(place, &[&args[..], &both].concat())
}

/// What must be the same byte for byte.
fn verdicts(place: &Place, run: &str) -> Vec<String> {
    let lines = std::fs::read_to_string(place.path().join(run).join("trials.jsonl")).unwrap();
    let view = |line: &str| {
        let trial: Value = serde_json::from_str(line).unwrap();
        let parts = ["trial_id", "verdict", "failure", "blame", "turns", "judgments"];
        parts.map(|part| trial[part].to_string()).join(" ")
    };
    let mut views: Vec<String> = lines.lines().map(view).collect();
    views.sort();
    views
}

#[test]
fn a_replay_makes_no_call_and_gives_every_verdict_byte_for_byte() {
    let asked = Arc::new(AtomicU64::new(0));
    let place = place(&shop(&asked));
    let recorded = record(&place, "6");
    assert_eq!(recorded.code, 0, "{}\n{}", recorded.stdout, recorded.stderr);
    let calls = asked.load(Ordering::SeqCst);
    assert!(calls > 100, "agent, user and judges were asked: {calls}");
    let cassette = std::fs::read_to_string(place.path().join("night/calls.jsonl")).unwrap();
    assert_eq!(cassette.lines().count() as u64, calls + 1, "a head and a line for each call");
    assert!(!cassette.contains(KEY), "no key is recorded");
    let summary = place.json("night/report.json")["summary"]["trials"].clone();
    assert!(summary["pass"].as_u64().unwrap() > 0 && summary["fail"].as_u64().unwrap() > 0, "both ends: {summary}");

    // Without a key, and with the scenarios or without.
    for (args, out) in [
        (vec!["run", "--replay", "night"], "again"),
        (
            vec![
                "run",
                "parcel.scenario.yaml",
                "--replay",
                "night",
                "--repeats",
                "6",
                "--agent",
                "streamed",
                "--agent",
                "plain",
            ],
            "files",
        ),
    ] {
        let replayed = place.run(&[&args[..], &["--slots", "3", "--out", out]].concat());
        assert_eq!(replayed.code, 0, "{}\n{}", replayed.stdout, replayed.stderr);
        assert!(
            replayed.stdout.contains("12 of 12 verdicts are the same byte for byte; no call was made"),
            "{}",
            replayed.stdout
        );
        assert_eq!(verdicts(&place, out), verdicts(&place, "night"));
        let name = place.json(&format!("{out}/report.json"))["run"]["name"].as_str().unwrap().to_owned();
        let origin = place.json("night/report.json")["run"]["id"].as_str().unwrap().to_owned();
        assert!(name.contains(&format!("replay of run {origin}")), "{name}");
    }
    assert_eq!(asked.load(Ordering::SeqCst), calls, "zero live calls");
    let nights = place.run(&["history", "--json"]);
    assert!(!nights.stdout.contains("replay of"), "a replay is no night: {}", nights.stdout);
    let resumed = place.run(&["resume", "again"]);
    assert_eq!(resumed.code, 2);
    assert!(resumed.stderr.contains("start it again with `gabfest run --replay"), "{}", resumed.stderr);
}

/// Two workers record; one of them is killed while it plays.
#[test]
fn a_recorded_run_of_a_fleet_is_replayed_and_judged_again() {
    let asked = Arc::new(AtomicU64::new(0));
    let place = place(&shop(&asked));
    let (_coordinator, address) = place.serve(&["coordinator", "--listen", "127.0.0.1:0", "--data", "data"]);
    let at = ["--coordinator", &address];
    let worker = |name: &str| {
        let args = ["worker", "--name", name, "--slots", "4", "--record", "calls", "--config", "gabfest.yaml"];
        let mut command = place.gabfest(&[&args[..], &at].concat());
        Process(command.env("GABFEST_TEST_SHOP_KEY", KEY).stderr(Stdio::null()).spawn().unwrap())
    };
    let mut first = worker("rack/1");
    let _second = worker("rack/2");
    let args = ["submit", "parcel.scenario.yaml", "--repeats", "30", "--run", "night", "--agent", "streamed"];
    assert_eq!(run(&place, &[&args[..], &at].concat()).code, 0);
    let play = (0..12_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        asked.load(Ordering::SeqCst) >= 60
    });
    assert!(play, "the workers play");
    first.kill();
    let watched = place.run(&[&["watch", "night", "--quiet", "--out", "night"], &at[..]].concat());
    assert_eq!(watched.code, 0, "{}\n{}", watched.stdout, watched.stderr);
    let files: Vec<String> = std::fs::read_dir(place.path().join("calls"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(files.len() == 2 && files.contains(&"night.rack=2f1.calls.jsonl".to_owned()), "{files:?}");
    let calls = asked.load(Ordering::SeqCst);

    let missing = place.run(&[&["run", "--replay", "night"], &at[..]].concat());
    assert!(missing.code == 2 && missing.stderr.contains("--calls"), "{}", missing.stderr);
    let replayed = place.run(&[&["run", "--replay", "night", "--calls", "calls", "--out", "again"], &at[..]].concat());
    assert_eq!(replayed.code, 0, "{}\n{}", replayed.stdout, replayed.stderr);
    assert!(
        replayed.stdout.contains("30 of 30 verdicts are the same byte for byte; no call was made"),
        "{}",
        replayed.stdout
    );
    assert_eq!(verdicts(&place, "again"), verdicts(&place, "night"));
    assert_eq!(asked.load(Ordering::SeqCst), calls, "zero live calls");
    let nowhere = place.run(&[&["run", "--replay", "night", "--calls", "again"], &at[..]].concat());
    assert!(nowhere.code == 2 && nowhere.stderr.contains("no worker has recorded a call"), "{}", nowhere.stderr);

    let judged = run(&place, &[&["rejudge", "night", "--judge", "mock", "--out", "judged"], &at[..]].concat());
    assert_eq!(judged.code, 0, "{}\n{}", judged.stdout, judged.stderr);
    assert_eq!(asked.load(Ordering::SeqCst), calls, "the mock judges, and nobody else is asked");
    let noise = run(&place, &[&["noise", "night", "--judge", "mock", "--judge-rounds", "2"], &at[..]].concat());
    assert!(noise.code == 0 && noise.stdout.contains("judge"), "{}\n{}", noise.stdout, noise.stderr);
    assert_eq!(asked.load(Ordering::SeqCst), calls);
}

#[test]
fn a_call_without_a_recording_is_our_error_and_names_the_nearest_one() {
    let asked = Arc::new(AtomicU64::new(0));
    let place = place(&shop(&asked));
    assert_eq!(record(&place, "2").code, 0);
    let calls = asked.load(Ordering::SeqCst);
    place.write("parcel.scenario.yaml", &SCENARIO.replace("My parcel has not arrived.", "My letter has not arrived."));
    let args = [
        "run",
        "parcel.scenario.yaml",
        "--replay",
        "night",
        "--repeats",
        "2",
        "--agent",
        "streamed",
        "--agent",
        "plain",
    ];
    let replayed = place.run(&[&args[..], &["--out", "again"]].concat());
    assert_eq!(asked.load(Ordering::SeqCst), calls);
    assert_eq!(replayed.code, 3, "{}\n{}", replayed.stdout, replayed.stderr);
    let trials = place.json("again/report.json")["summary"]["trials"].clone();
    // A greeting that the recorded judge refused stays a FAIL: nothing that was still to come would have changed it.
    let (error, fail) = (trials["error"].as_u64().unwrap(), trials["fail"].as_u64().unwrap());
    assert_eq!((error + fail, &trials["pass"]), (4, &json!(0)), "{trials}");
    assert!(error > 0, "{trials}");
    let lines = std::fs::read_to_string(place.path().join("again/trials.jsonl")).unwrap();
    assert!(
        lines.contains("recorded \\\"My parcel has not arrived.\\\", asked \\\"My letter has not arrived.\\\"")
            || lines.contains("My letter has not arrived."),
        "{lines}"
    );
    assert!(lines.contains("is not recorded"), "{lines}");
    for line in lines.lines().filter(|line| line.contains("\"verdict\":\"ERROR\"")) {
        assert!(!line.contains("\"blame\":\"agent\""), "{line}");
    }
}

#[test]
fn a_run_without_a_recording_and_what_no_recording_holds_are_refused() {
    let place = Place::new();
    place.write(
        "plain.scenario.yaml",
        "
name: plain
description: d
run: [{ input: hello, evaluations: [{ type: string_contains, value: a }] }]
judgment: { strategy: all_pass }
",
    );
    place.write("file.scenario.yaml", "
name: file
description: d
run:
  - { input: hello, evaluations: [{ type: file_exists, path: a.txt }, { type: llm_judge, prompt: Is it polite?, expected: 'yes' }] }
judgment: { strategy: all_pass }
");
    place.run(&["run", "plain.scenario.yaml", "--out", "plain"]);
    let refused = place.run(&["run", "--replay", "plain"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("has no recording") && refused.stderr.contains("--record"), "{}", refused.stderr);
    let refused = place.run(&["run", "--replay", "plain", "--repeats", "3"]);
    assert!(refused.stderr.contains("--repeats selects from scenarios"), "{}", refused.stderr);
    let refused = place.run(&["run"]);
    assert_eq!((refused.code, refused.stderr.contains("no scenario is named")), (2, true), "{}", refused.stderr);
    place.run(&["run", "file.scenario.yaml", "--record", "--out", "file"]);
    let refused = place.run(&["run", "--replay", "file", "--out", "never"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("file: check file_exists"), "{}", refused.stderr);
    assert!(!place.path().join("never").exists(), "before anything is played");
}

#[test]
fn a_cut_recording_is_said_and_a_broken_one_is_refused() {
    let place = Place::new();
    place.write(
        "plain.scenario.yaml",
        "
name: plain
description: d
run: [{ input: hello, evaluations: [{ type: string_contains, value: e }] }]
judgment: { strategy: all_pass }
",
    );
    assert_eq!(
        place.run(&["run", "plain.scenario.yaml", "--repeats", "3", "--slots", "1", "--record", "--out", "night"]).code,
        0
    );
    let whole = std::fs::read_to_string(place.path().join("night/calls.jsonl")).unwrap();
    place.write("night/calls.jsonl", &whole[..whole.len() - 10]);
    let cut = place.run(&["run", "--replay", "night", "--out", "cut"]);
    assert!(cut.stderr.contains("the last line of night/calls.jsonl is cut"), "{}", cut.stderr);
    assert_eq!(cut.code, 3, "{}", cut.stdout);
    assert_eq!(place.json("cut/report.json")["summary"]["trials"]["error"], 1);
    place.write("night/calls.jsonl", &whole.replacen("\"trial\"", "\"trail\"", 1));
    let broken = place.run(&["run", "--replay", "night", "--out", "broken"]);
    assert_eq!(broken.code, 2);
    assert!(broken.stderr.contains("line 2 of night/calls.jsonl is no call"), "{}", broken.stderr);
}

#[test]
fn a_contrary_judge_changes_the_verdicts_and_nothing_is_played() {
    let (asked, contrary) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let address = shop(&asked);
    let place = place(&address);
    assert_eq!(record(&place, "4").code, 0);
    let (calls, before) = (asked.load(Ordering::SeqCst), place.json("night/report.json")["summary"]["trials"].clone());
    let counted = Arc::clone(&contrary);
    let no = serve(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        verdict("no")
    });
    settings(&place, &address, &format!("  contrary: {{ kind: openai, url: \"{no}\", model: m-no }}\n"));
    let judged = run(&place, &["rejudge", "night", "--judge", "contrary", "--out", "again"]);
    assert_eq!(asked.load(Ordering::SeqCst), calls, "no agent, no user and no other judge is asked");
    // A judge for the greeting and three votes, of 8 trials.
    assert_eq!(contrary.load(Ordering::SeqCst), 8 * 4, "{}\n{}", judged.stdout, judged.stderr);
    let after = place.json("again/report.json")["summary"]["trials"].clone();
    assert_eq!(after["fail"], 8, "{after}");
    let passed = before["pass"].as_u64().unwrap();
    assert!(passed > 0 && judged.stdout.contains(&format!("PASS → FAIL: {passed}")), "{}", judged.stdout);
    let changes = place.json("again/rejudge.json");
    assert_eq!((&changes["judge"], changes["changes"].as_array().unwrap().len() as u64), (&json!("contrary"), passed));
    let origin = place.json("night/report.json")["run"]["id"].clone();
    assert_eq!(changes["run"], origin);
    let name = place.json("again/report.json")["run"]["name"].as_str().unwrap().to_owned();
    assert!(name.contains("judged again by contrary") && name.contains(origin.as_str().unwrap()), "{name}");
    let spend = &place.json("again/report.json")["summary"]["llm_calls"];
    assert_eq!((&spend["judge"], spend["agent"].as_u64().unwrap_or(0)), (&json!(32), 0), "{spend}");

    // The same questions are not asked twice, unless somebody wants it.
    let again = run(&place, &["rejudge", "night", "--judge", "contrary", "--out", "cached"]);
    assert_eq!(contrary.load(Ordering::SeqCst), 32);
    assert!(again.stderr.contains("32 answers are those of an earlier rejudge"), "{}", again.stderr);
    assert_eq!(verdicts(&place, "cached"), verdicts(&place, "again"));
    run(&place, &["rejudge", "night", "--judge", "contrary", "--fresh", "--out", "fresh"]);
    assert_eq!(contrary.load(Ordering::SeqCst), 64);
    let unknown = run(&place, &["rejudge", "night", "--judge", "nobody"]);
    assert_eq!((unknown.code, unknown.stderr.contains("there is no endpoint \"nobody\"")), (2, true));
}

#[test]
fn conversations_that_were_not_kept_are_said_before_anything_is_asked() {
    let asked = Arc::new(AtomicU64::new(0));
    let place = place(&shop(&asked));
    let args = ["run", "parcel.scenario.yaml", "--no-preflight", "--transcripts", "failures", "--repeats", "4"];
    assert_eq!(run(&place, &[&args[..], &["--out", "night"]].concat()).code, 0);
    let calls = asked.load(Ordering::SeqCst);
    let planned = run(&place, &[&args[..], &["--dry-run"]].concat());
    assert!(planned.stdout.contains("`gabfest rejudge` cannot judge them again"), "{}", planned.stdout);
    let refused = run(&place, &["rejudge", "night"]);
    assert_eq!(refused.code, 2);
    let kept = "conversations of run";
    assert!(refused.stderr.contains(kept) && refused.stderr.contains("transcripts: failures"), "{}", refused.stderr);
    let planned = run(&place, &["rejudge", "night", "--partial", "--dry-run"]);
    assert!(planned.stdout.contains("its conversation was not kept"), "{}", planned.stdout);
    assert_eq!(asked.load(Ordering::SeqCst), calls);
}

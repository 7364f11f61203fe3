//! An agent that keeps state by the conversation's id: no id may start twice, whatever is played again.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::{
    process::{Ended, Place, Process},
    server::{says, serve},
};

/// Two turns, so that a reused id shows in the second turn too.
const SCENARIO: &str = "
name: order
description: d
environment: { type: local }
run:
  - input: hello
    evaluations: [{ type: string_contains, value: all fine }]
  - input: and then
    evaluations: [{ type: string_contains, value: all fine }]
judgment: { strategy: all_pass }
";

/// Right as long as no id begins twice.
struct Shop {
    address: String,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    /// Whether a conversation went well so far.
    conversations: BTreeMap<String, bool>,
    keys: Vec<String>,
}

impl Shop {
    fn open(latency: Duration) -> Self {
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let kept = Arc::clone(&seen);
        let address = serve(move |asked| {
            let messages = asked.body["messages"].as_array().unwrap();
            let users = messages.iter().filter(|message| message["role"] == "user").count();
            let good = {
                let mut seen = kept.lock().unwrap();
                seen.keys.push(asked.header("idempotency-key"));
                let id = asked.header("x-gabfest-conversation");
                let known = seen.conversations.contains_key(&id);
                let good = seen.conversations.entry(id).or_insert(true);
                *good &= (users == 1) != known;
                *good
            };
            std::thread::sleep(latency);
            says(if good { "all fine" } else { "you have ordered already" })
        });
        Self { address, seen }
    }

    /// Conversations that began.
    fn conversations(&self) -> usize {
        self.seen.lock().unwrap().conversations.len()
    }

    fn assert_no_id_came_twice(&self) {
        let seen = self.seen.lock().unwrap();
        let bad: Vec<&String> = seen.conversations.iter().filter(|(_, good)| !**good).map(|(id, _)| id).collect();
        assert!(bad.is_empty(), "{bad:?} began twice");
        let mut keys = seen.keys.clone();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), seen.keys.len(), "every call has an idempotency key of its own");
    }
}

fn place(shop: &Shop) -> Place {
    let place = Place::new();
    place.write("order.scenario.yaml", SCENARIO);
    let settings = format!(
        "endpoints:\n  shop: {{ kind: openai, url: \"{}\", model: m }}\nagents:\n  shop: {{ endpoint: shop }}\nroles: {{ agent: shop }}\n",
        shop.address
    );
    place.write("gabfest.yaml", &settings);
    place
}

fn passed(ended: &Ended, place: &Place, out: &str, trials: u64) {
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    assert_eq!(place.json(&format!("{out}/report.json"))["summary"]["trials"]["pass"], trials);
}

#[test]
fn the_same_command_twice_is_two_runs_to_an_agent_with_a_memory() {
    let shop = Shop::open(Duration::ZERO);
    let place = place(&shop);
    for out in ["first", "second"] {
        let ended = place.run(&[
            "run",
            "order.scenario.yaml",
            "--no-preflight",
            "--repeats",
            "20",
            "--seed",
            "7",
            "--out",
            out,
        ]);
        passed(&ended, &place, out, 20);
    }
    assert_eq!(shop.conversations(), 40);
    shop.assert_no_id_came_twice();
}

#[test]
fn a_resumed_run_is_new_to_an_agent_with_a_memory() {
    let shop = Shop::open(Duration::from_millis(150));
    let place = place(&shop);
    let mut run = place.start(&[
        "run",
        "order.scenario.yaml",
        "--no-preflight",
        "--repeats",
        "60",
        "--slots",
        "8",
        "--out",
        "out",
    ]);
    until(|| shop.conversations() >= 16);
    run.kill();
    passed(&place.run(&["resume", "out"]), &place, "out", 60);
    assert!(shop.conversations() > 60, "the kill lost nothing");
    shop.assert_no_id_came_twice();
}

#[test]
fn workers_that_are_killed_change_nothing_for_an_agent_with_a_memory() {
    let shop = Shop::open(Duration::from_millis(100));
    let place = place(&shop);
    let (_coordinator, address) = place.serve(&["coordinator", "--listen", "127.0.0.1:0", "--data", "data"]);
    let worker = || place.start(&["worker", "--coordinator", &address, "--slots", "4"]);
    let mut fleet: Vec<Process> = (0..3).map(|_| worker()).collect();
    let submit = ["submit", "order.scenario.yaml", "--repeats", "150", "--coordinator", &address, "--run", "r"];
    assert_eq!(place.run(&submit).code, 0);
    for (at, begun) in [(0, 20), (1, 50)] {
        until(|| shop.conversations() >= begun);
        fleet[at].kill();
        fleet[at] = worker();
    }
    let watched = place.run(&["watch", "r", "--coordinator", &address, "--out", "out"]);
    passed(&watched, &place, "out", 150);
    assert!(place.json("out/report.json")["summary"]["attempts"]["lost"].as_u64().unwrap() > 0);
    assert!(shop.conversations() > 150, "the kills lost nothing");
    shop.assert_no_id_came_twice();
}

#[test]
fn an_aborted_conversation_gets_a_new_id() {
    let shop = Shop::open(Duration::from_millis(700));
    let place = place(&shop);
    let mut run = place.start(&[
        "run",
        "order.scenario.yaml",
        "--no-preflight",
        "--repeats",
        "16",
        "--slots",
        "8",
        "--out",
        "out",
    ]);
    until(|| shop.conversations() >= 8);
    run.signal("INT");
    std::thread::sleep(Duration::from_millis(300));
    run.signal("INT");
    assert_eq!(run.wait(Duration::from_secs(30)), 130);
    passed(&place.run(&["resume", "out"]), &place, "out", 16);
    assert!(shop.conversations() > 16, "nothing was given up");
    shop.assert_no_id_came_twice();
}

fn until(reached: impl Fn() -> bool) {
    for _ in 0..1_200 {
        if reached() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it was not reached within a minute");
}

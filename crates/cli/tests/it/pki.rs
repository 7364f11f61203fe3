//! A fleet with certificates, as processes: who joins, who is refused and why, and what goes on while certificates change.

mod hostile_plan;
mod sessions;

use std::{
    fs::{self, File},
    path::Path,
    process::Stdio,
    time::Duration,
};

use crate::process::{Ended, Place, Process};

const SCENARIO: &str = "name: good\ndescription: one question\nrun:\n  - input: hello\n    evaluations:\n      - type: string_contains\n        value: you\njudgment:\n  strategy: all_pass\n";

/// A coordinator with certificates in its data folder.
struct Fleet {
    place: Place,
    address: String,
    _coordinator: Process,
}

impl Fleet {
    fn new() -> Self {
        let place = Place::new();
        place.write("good.scenario.yaml", SCENARIO);
        let made = place.run(&["pki", "init", "fleet.example"]);
        assert_eq!(made.code, 0, "{}", made.stderr);
        let log = File::create(place.path().join("coordinator.log")).unwrap();
        let mut command = place.gabfest(&["coordinator", "-v", "--listen", "127.0.0.1:0"]);
        let (coordinator, address) = Process::serve_logging(&mut command, Stdio::from(log));
        assert!(address.starts_with("https://"), "{address}");
        Self { place, address, _coordinator: coordinator }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.place.path().join("coordinator.log")).unwrap()
    }

    /// Waits for what the coordinator logs.
    fn logs(&self, text: &str) {
        self.logs_times(text, 1);
    }

    fn logs_times(&self, text: &str, times: usize) {
        let within = Duration::from_secs(20);
        let said = eventually(within, || self.log().matches(text).count() >= times);
        assert!(said, "{text:?} is not logged {times} times:\n{}", self.log());
    }

    fn token(&self, role: &str, more: &[&str]) -> String {
        let made = self.by("gabfest-data/pki/admin", &[&["pki", "token", "--role", role], more].concat());
        assert_eq!(made.code, 0, "{}", made.stderr);
        made.stdout.trim().to_owned()
    }

    /// Exchanges a token for an identity in this folder.
    fn join(&self, token: &str, identity: &str) -> Ended {
        let args = ["pki", "join", "--coordinator", &self.address, "--identity", identity, "--name", identity];
        let mut command = self.place.gabfest(&args);
        Ended::from(command.env("GABFEST_JOIN_TOKEN", token).output().unwrap())
    }

    /// An identity without a token.
    fn issue(&self, role: &str, out: &str, more: &[&str]) {
        let made = self.place.run(&[&["pki", "issue", "--role", role, "--out", out], more].concat());
        assert_eq!(made.code, 0, "{}", made.stderr);
    }

    fn by(&self, identity: &str, args: &[&str]) -> Ended {
        self.place.run(&[args, &["--coordinator", &self.address, "--identity", identity]].concat())
    }

    fn submit(&self, identity: &str, more: &[&str]) -> Ended {
        self.by(identity, &[&["submit", "good.scenario.yaml"], more].concat())
    }

    fn worker(&self, identity: &str, token: Option<&str>, log: &str) -> Process {
        let args =
            ["worker", "-v", "--slots", "4", "--patience", "5", "--coordinator", &self.address, "--identity", identity];
        let mut command = self.place.gabfest(&args);
        if let Some(token) = token {
            command.env("GABFEST_JOIN_TOKEN", token);
        }
        let log = File::create(self.place.path().join(log)).unwrap();
        Process(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }
}

fn eventually(within: Duration, holds: impl Fn() -> bool) -> bool {
    let began = tokio::time::Instant::now();
    while began.elapsed() < within {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

fn says(ended: &Ended, code: i32, parts: &[&str]) {
    assert_eq!(ended.code, code, "{}{}", ended.stdout, ended.stderr);
    for part in parts {
        assert!(ended.stderr.contains(part), "{part:?} is missing in\n{}", ended.stderr);
    }
    assert!(!ended.stderr.contains("transport error"), "{}", ended.stderr);
}

#[test]
fn workers_and_people_join_with_tokens_and_play_over_tls() {
    let fleet = Fleet::new();
    let joined = fleet.join(&fleet.token("submit", &[]), "nightly");
    assert!(joined.code == 0 && joined.stdout.contains("role          submit"), "{}{}", joined.stdout, joined.stderr);

    let token = fleet.token("worker", &[]);
    let mut worker = fleet.worker("w1", Some(&token), "worker.log");
    let played = fleet.submit("nightly", &["--run", "one", "--repeats", "5", "--watch"]);
    assert_eq!(played.code, 0, "{}", played.stderr);
    assert_eq!(fleet.place.json("gabfest-runs/one/report.json")["summary"]["trials"]["pass"], 5);
    worker.signal("TERM");
    assert_eq!(worker.wait(Duration::from_secs(20)), 0);
    // Without a worker it waits.
    let submitted = fleet.submit("nightly", &["--run", "two"]);
    assert_eq!(submitted.code, 0, "{}", submitted.stderr);
    fleet.issue("admin", "ops", &["--name", "grace"]);
    for (identity, command) in [("nightly", "pause"), ("ops", "resume")] {
        let said = fleet.by(identity, &[command, "two"]);
        assert_eq!(said.code, 0, "{}", said.stderr);
    }
    // The identity is there, so the worker needs no token any more.
    let mut again = fleet.worker("w1", None, "again.log");
    let watched = fleet.by("nightly", &["watch", "two"]);
    assert_eq!(watched.code, 0, "{}", watched.stderr);
    let report = fleet.place.json("gabfest-runs/two/report.json");
    let decisions = report["run"]["decisions"].as_array().unwrap().iter();
    let by: Vec<_> = decisions.map(|decision| (decision["decided"].as_str(), decision["by"].as_str())).collect();
    assert_eq!(by, [(Some("paused"), Some("nightly")), (Some("resumed"), Some("grace"))]);
    let deleted = fleet.by("ops", &["runs", "delete", "one"]);
    assert_eq!(deleted.code, 0, "{}", deleted.stderr);
    fleet.logs("by=\"grace\"");
    fleet.logs_times("worker joined", 2);
    let shown = fleet.by("nightly", &["workers"]);
    assert!(shown.code == 0 && shown.stdout.contains("SLOTS"), "{}{}", shown.stdout, shown.stderr);
    again.signal("TERM");
    assert_eq!(again.wait(Duration::from_secs(20)), 0);
    // Nobody can read a token or a private key out of what was printed.
    let secret = token.split('.').nth(2).unwrap();
    for name in ["coordinator.log", "worker.log"] {
        let text = fs::read_to_string(fleet.place.path().join(name)).unwrap();
        assert!(!text.contains(secret) && !text.contains("PRIVATE KEY"), "{name}: {text}");
    }
}

#[test]
fn who_may_not_join_or_call_is_refused_with_a_reason_on_both_sides() {
    let fleet = Fleet::new();
    let join = "gabfest pki join";

    // No identity, and one of another fleet.
    says(&fleet.submit("nowhere", &[]), 2, &["there is no identity in nowhere", join]);
    let other = Fleet::new();
    other.issue("submit", "x", &[]);
    let foreign = other.place.path().join("x").display().to_string();
    says(&fleet.submit(&foreign, &[]), 2, &["the certificate of the coordinator is from another CA", join]);
    fleet.logs("does not trust the certificate of this coordinator");
    // It trusts this coordinator, but its certificate is of another CA.
    fs::copy(fleet.place.path().join("gabfest-data/pki/ca.pem"), Path::new(&foreign).join("ca.pem")).unwrap();
    says(&fleet.submit(&foreign, &[]), 2, &["refuses the certificate of this identity: it is from another CA", join]);
    fleet.logs("its certificate is from another CA");

    // Expired.
    fleet.issue("submit", "short", &["--lifetime", "1"]);
    std::thread::sleep(Duration::from_millis(2_100));
    says(&fleet.submit("short", &[]), 2, &["refuses the certificate of this identity: it has expired", join]);
    fleet.logs("its certificate has expired");

    // Tokens: used, expired, changed, of another coordinator.
    let token = fleet.token("view", &[]);
    assert_eq!(fleet.join(&token, "viewer").code, 0);
    says(&fleet.join(&token, "again"), 2, &["the join token was used already", "gabfest pki token"]);
    fleet.logs("the join token was used already");
    let late = fleet.token("view", &["--ttl", "1"]);
    std::thread::sleep(Duration::from_millis(1_100));
    says(&fleet.join(&late, "late"), 2, &["the join token has expired", "gabfest pki token"]);
    fleet.logs("the join token has expired");
    let token = fleet.token("worker", &[]);
    let mut parts: Vec<&str> = token.split('.').collect();
    let guessed = "A".repeat(parts[2].len());
    parts[2] = &guessed;
    says(&fleet.join(&parts.join("."), "guess"), 2, &["the join token is unknown"]);
    says(&fleet.join(&token[..token.len() - 5], "cut"), 2, &["fingerprint is cut", "begins with gabfest1"]);
    says(&fleet.join(&other.token("worker", &[]), "astray"), 2, &["is not the one of the join token"]);
    assert!(!fleet.place.path().join("again/identity.pem").exists(), "nothing is written");
    // A token is not used for an identity that cannot be kept.
    says(&fleet.join(&token, "good.scenario.yaml"), 2, &["failed to write the identity"]);
    assert_eq!(fleet.join(&token, "kept").code, 0);

    // The wrong role.
    says(
        &fleet.submit("viewer", &[]),
        3,
        &["the role view may not call Submit; it is for submit or admin", "pki show"],
    );
    fleet.logs("the role view may not call Submit");
    assert_eq!(fleet.by("viewer", &["runs"]).code, 0);
    says(&fleet.by("viewer", &["pki", "token", "--role", "admin"]), 2, &["may not call CreateToken; it is for admin"]);
    let mut worker = fleet.worker("viewer", None, "viewer.log");
    assert_eq!(worker.wait(Duration::from_secs(20)), 3);
    let text = fs::read_to_string(fleet.place.path().join("viewer.log")).unwrap();
    assert!(text.contains("the role view may not call Join; it is for worker or admin"), "{text}");
    fleet.issue("worker", "w", &[]);
    says(&fleet.submit("w", &[]), 3, &["the role worker may not call Submit"]);
}

#[test]
fn a_revoked_identity_is_refused_and_its_worker_goes() {
    let fleet = Fleet::new();
    fleet.issue("worker", "w", &[]);
    let mut worker = fleet.worker("w", None, "w.log");
    fleet.logs("worker joined");
    let shown = fleet.place.run(&["pki", "show", "w"]).stdout;
    let id = shown.lines().find_map(|line| line.strip_prefix("id ")).unwrap().trim();
    assert_eq!(fleet.place.run(&["pki", "revoke", id]).code, 0);
    fleet.logs("its certificate is revoked");
    assert_eq!(worker.wait(Duration::from_secs(60)), 3);
    let text = fs::read_to_string(fleet.place.path().join("w.log")).unwrap();
    assert!(text.contains("the certificate of worker is revoked"), "{text}");
}

#[test]
fn each_side_says_that_the_other_has_or_lacks_tls() {
    let fleet = Fleet::new();
    let plain = fleet.address.replace("https://", "http://");
    says(&fleet.place.run(&["runs", "--coordinator", &plain]), 3, &["needs TLS: use https://", "gabfest pki join"]);
    fleet.logs("it does not speak TLS");
    let began = tokio::time::Instant::now();
    says(&fleet.place.run(&["worker", "--coordinator", &plain]), 2, &["needs TLS: use https://"]);
    assert!(began.elapsed() < Duration::from_secs(15), "it does not try again for its whole patience");

    let log = File::create(fleet.place.path().join("plain.log")).unwrap();
    let mut command = fleet.place.gabfest(&["coordinator", "--listen", "127.0.0.1:0", "--data", "plain"]);
    let (_plain, address) = Process::serve_logging(&mut command, Stdio::from(log));
    let wrong = address.replace("http://", "https://");
    let asked = ["runs", "--coordinator", &wrong, "--identity", "gabfest-data/pki/admin"];
    says(&fleet.place.run(&asked), 2, &["does not speak TLS", "http://"]);
    let text = fs::read_to_string(fleet.place.path().join("plain.log")).unwrap();
    assert!(text.contains("it speaks TLS, and this coordinator has none"), "{text}");
}

#[test]
fn a_coordinator_that_others_can_reach_has_certificates_or_is_told_otherwise_by_name() {
    let place = Place::new();
    let refused = place.run(&["coordinator", "--listen", "0.0.0.0:0"]);
    says(&refused, 2, &["has no certificates", "gabfest pki init", "--insecure-i-know"]);
    let missing = place.run(&["coordinator", "--listen", "127.0.0.1:0", "--tls", "nowhere"]);
    says(&missing, 2, &["there are no certificates in nowhere", "gabfest pki init --pki nowhere"]);
    assert_eq!(place.run(&["pki", "init"]).code, 0);
    let (_coordinator, address) = place.serve(&["coordinator", "--listen", "0.0.0.0:0"]);
    assert!(address.starts_with("https://"), "{address}");
    says(&place.run(&["pki", "init"]), 2, &["has a CA already"]);
    says(&place.run(&["pki", "renew", "a/b"]), 2, &["\"a/b\" is neither a host name nor an IP address"]);
    says(&place.run(&["pki", "show", "nowhere"]), 2, &["there are no certificates in nowhere"]);
    says(&place.run(&["pki", "revoke", "a b"]), 2, &["is not the id of an identity"]);
    says(&place.run(&["pki", "token", "--role", "root"]), 2, &["expected one of worker, view, submit, admin"]);
}

#[test]
fn certificates_change_while_everything_goes_on() {
    let fleet = Fleet::new();
    // It ends in a few seconds, so the worker renews it at once.
    fleet.issue("worker", "w", &["--lifetime", "6"]);
    let worker = fleet.worker("w", None, "w.log");
    fleet.logs("a certificate was renewed");
    let renewed = fleet.place.run(&["pki", "show", "w"]).stdout;
    assert!(!renewed.contains("(over)"), "{renewed}");
    // The connection of the old certificate ends, and the session goes on with the new one.
    fleet.logs("a connection is closed");
    let log = || fs::read_to_string(fleet.place.path().join("w.log")).unwrap();
    assert!(eventually(Duration::from_secs(10), || log().contains("the coordinator is back")), "{}", log());
    assert_eq!(log().matches("joined the coordinator").count(), 1, "{}", log());

    // Another certificate for the coordinator, and another CA.
    assert_eq!(fleet.place.run(&["pki", "renew", "new.example"]).code, 0);
    fleet.logs("the certificates were read again");
    let before = fleet.log().matches("were read again").count();
    let rotated = fleet.place.run(&["pki", "rotate"]);
    assert!(rotated.code == 0 && rotated.stdout.contains("2 CAs are trusted"), "{}{}", rotated.stdout, rotated.stderr);
    fleet.logs_times("were read again", before + 1);
    let token = fleet.token("submit", &[]);
    assert_eq!(fleet.join(&token, "nightly").code, 0);
    let played = fleet.submit("nightly", &["--repeats", "3", "--watch"]);
    assert_eq!(played.code, 0, "{}", played.stderr);
    drop(worker);
}

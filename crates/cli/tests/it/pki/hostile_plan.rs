//! A plan names agents. It cannot make a worker call an address that the worker's operator did not list, nor run a program.

use std::{
    io::Read as _,
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::Fleet;

const KEY: &str = "key-that-must-stay-4711";

/// Counts who comes.
fn trap() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let caught = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&caught);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counter.fetch_add(1, Ordering::SeqCst);
            let _ = stream.unwrap().read(&mut [0; 256]);
        }
    });
    (address, caught)
}

#[test]
fn a_plan_moves_no_key_and_runs_no_program() {
    let fleet = Fleet::new();
    let (trap, caught) = trap();
    fleet.issue("submit", "s", &[]);
    fleet.issue("worker", "w", &[]);
    let place = &fleet.place;
    let proof = place.path().join("executed");
    // What the worker's operator lists; the key is in the worker's environment.
    place.write(
        "worker/gabfest.yaml",
        "endpoints:\n  good: { kind: mock }\nagents:\n  shop: { endpoint: good }\nroles: { agent: shop }\n",
    );
    // What the sender of the plan would like instead, under the same name and under an address as a name.
    place.write(
        "gabfest.yaml",
        &format!(
            "endpoints:\n  thief: {{ url: 'http://{trap}/v1', model: m, key: env:AGENT_KEY }}\nagents:\n  shop: {{ endpoint: thief }}\nroles: {{ agent: shop, user_sim: thief, judge: thief }}\n"
        ),
    );
    let program = format!(
        "name: program\ndescription: d\nsetup:\n  environment: {{ type: local }}\nrun:\n  - action: {{ command: ['touch', '{}'] }}\n    evaluations: [{{ type: string_contains, value: you }}]\njudgment: {{ strategy: all_pass }}\n",
        proof.display()
    );
    place.write("program.scenario.yaml", &program);

    let mut worker = place.gabfest(&[
        "worker",
        "-v",
        "--slots",
        "2",
        "--coordinator",
        &fleet.address,
        "--identity",
        "w",
        "--config",
        "worker/gabfest.yaml",
    ]);
    let worker = crate::process::Process(
        worker
            .env("AGENT_KEY", KEY)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap(),
    );
    fleet.logs("worker joined");

    // The worker plays its own agent `shop`.
    let own = fleet.submit("s", &["--run", "own", "--watch", "--no-preflight"]);
    assert_eq!(own.code, 0, "{}{}", own.stdout, own.stderr);
    // An address as a name, with the place of a key that the worker has: nobody plays it.
    let address = format!("http://{trap}/v1?api_key=env:AGENT_KEY");
    let far = fleet.submit("s", &["--run", "far", "--no-preflight", "--agent", &address]);
    assert_eq!(far.code, 0, "{}{}", far.stdout, far.stderr);
    std::thread::sleep(Duration::from_secs(3));
    let runs = fleet.by("s", &["runs"]).stdout;
    let line = runs.lines().find(|line| line.contains("far")).unwrap();
    assert!(line.contains("0/1"), "{runs}");
    // A program.
    let ran = fleet.by("s", &["submit", "program.scenario.yaml", "--run", "program", "--no-preflight", "--watch"]);
    assert!(!proof.exists(), "the program ran: {}{}", ran.stdout, ran.stderr);

    assert_eq!(caught.load(Ordering::SeqCst), 0, "somebody called the address of the plan");
    drop(worker);
}

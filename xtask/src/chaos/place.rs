//! The folder of a session: the plans, and a folder for each run.

use std::{
    ffi::{OsStr, OsString},
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU16, Ordering},
};

use anyhow::Context as _;

/// Below the ports that systems assign automatically: no other process gets it while the coordinator is away.
const PORTS: std::ops::Range<u16> = 20_000..30_000;

pub(crate) fn debug_build() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/debug/gabfest")
}

/// What to play: scenario files, and the behaviour of the mock that is their agent.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) files: &'static [(&'static str, &'static str)],
    pub(crate) mock: &'static str,
    pub(crate) trials: u64,
}

/// Conversations of several turns and short ones; with 24 slots about 20 s.
pub(crate) const MIXED: Plan = Plan {
    files: &[
        ("turns.scenario.yaml", include_str!("plans/turns.scenario.yaml")),
        ("two.scenario.yaml", include_str!("plans/two.scenario.yaml")),
    ],
    mock: "latency: { kind: uniform, min_ms: 200, max_ms: 600 }, pass: [{ probability: 0.95 }]",
    trials: 300,
};

/// Short conversations; with 8 slots a few seconds.
pub(crate) const BRIEF: Plan = Plan {
    files: &[("brief.scenario.yaml", include_str!("plans/brief.scenario.yaml"))],
    mock: "latency: { kind: uniform, min_ms: 100, max_ms: 300 }, pass: [{ probability: 0.95 }]",
    trials: 80,
};

/// Replies of about 50 KB.
pub(crate) const LONG_REPLIES: Plan = Plan {
    files: &[("long.scenario.yaml", include_str!("plans/long.scenario.yaml"))],
    mock: "latency: { ms: 300 }, tokens: { min: 11000, max: 13000 }",
    trials: 12,
};

/// Of the agent, in US dollars for a million tokens.
pub(crate) const PRICE: (u64, u64) = (1, 2);
/// The mock's own record of the calls, in the folder of a run.
pub(crate) const CALLS: &str = "calls.jsonl";
/// The key of the endpoint, which only the memory of workers may have.
pub(crate) const KEY: &str = "sk-canary-of-chaos-b7e2a94d61";
pub(crate) const KEY_NAME: &str = "SHOP_KEY";

/// Removed on drop, unless it is kept.
#[derive(Debug)]
pub(crate) struct Place {
    folder: tempfile::TempDir,
    pub(crate) binary: PathBuf,
}

impl Place {
    pub(crate) fn new(binary: PathBuf) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("gabfest-chaos-").tempdir()?;
        Ok(Self { folder, binary })
    }

    pub(crate) fn keep(self) -> PathBuf {
        self.folder.keep()
    }

    /// A folder for a run, with the plan's scenarios in `plan/` and settings that name the agent.
    pub(crate) fn prepare(&self, run: &str, plan: &Plan, agent: SocketAddr) -> anyhow::Result<PathBuf> {
        let folder = self.folder.path().join(run);
        std::fs::create_dir_all(folder.join("plan")).context("failed to make the folder of a run")?;
        for (name, text) in plan.files {
            std::fs::write(folder.join("plan").join(name), text)?;
        }
        // The user and the judge are in the worker, the agent is behind a socket.
        let (input, output) = PRICE;
        let settings = format!(
            "endpoints:\n  mock: {{ kind: mock }}\n  shop: {{ url: \"http://{agent}/v1\", model: shop, max_output_tokens: 400,\n\
             \x20         key: \"env:{KEY_NAME}\", price: {{ input_per_million: {input}, output_per_million: {output} }} }}\n\
             agents: {{ shop: {{ endpoint: shop }} }}\nroles: {{ agent: shop }}\n"
        );
        std::fs::write(folder.join("gabfest.yaml"), settings)?;
        let mock = format!("endpoints: {{ mock: {{ kind: mock, mock: {{ {} }} }} }}\n", plan.mock);
        std::fs::write(folder.join("mock.yaml"), mock)?;
        Ok(folder)
    }

    /// The command of the mock that is the agent.
    pub(crate) fn mock(&self, agent: SocketAddr) -> Vec<OsString> {
        self.gabfest(&["mock", "--listen", &agent.to_string(), "--config", "mock.yaml", "--calls", CALLS])
    }

    /// A command of the program under test.
    pub(crate) fn gabfest<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Vec<OsString> {
        let arguments = arguments.iter().map(|argument| argument.as_ref().to_owned());
        std::iter::once(self.binary.clone().into_os_string()).chain(arguments).collect()
    }
}

/// The price of a token, in nano-dollars, from dollars for a million.
pub(crate) const fn nanos((input, output): (u64, u64)) -> (u64, u64) {
    (input * 1_000, output * 1_000)
}

/// An address on loopback that was free a moment ago.
pub(crate) fn free_address() -> anyhow::Result<SocketAddr> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let width = PORTS.end - PORTS.start;
    // Far from the ports of another session, which may have the next process id.
    let first = u16::try_from(std::process::id().wrapping_mul(611) % u32::from(width))?;
    for _ in 0..width {
        let port = PORTS.start + (first + NEXT.fetch_add(1, Ordering::Relaxed) % width) % width;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    anyhow::bail!("no port of {PORTS:?} is free")
}

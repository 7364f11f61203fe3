//! A coordinator, workers behind links, and the mock as their agent: processes of the program under test.

use std::{
    ffi::OsString,
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    process::{Command, Output, Stdio},
    time::Duration,
};

use anyhow::{Context as _, ensure};
use rustix::process::Signal;

use super::{
    clock,
    link::{Link, Weather},
    place::{Place, Plan, free_address},
    process::{Role, tail},
};

/// The run id of each fleet; each has its own coordinator.
pub(crate) const RUN: &str = "chaos";
const SEED: &str = "7";
/// The most that a worker of any session has.
pub(crate) const SLOTS: u32 = 8;
/// A debug build on a busy machine takes its time.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) role: Role,
    pub(crate) link: Link,
}

#[derive(Debug)]
pub(crate) struct Fleet<'a> {
    place: &'a Place,
    pub(crate) folder: PathBuf,
    address: SocketAddr,
    _mock: Role,
    pub(crate) coordinator: Role,
    pub(crate) workers: Vec<Worker>,
    budget: Option<&'static str>,
    crashes: u32,
}

/// How a fleet is set up.
#[derive(Debug, Default)]
pub(crate) struct Setup {
    pub(crate) workers: usize,
    pub(crate) slots: u32,
    /// The prefix of the coordinator's command.
    pub(crate) before: Vec<OsString>,
    /// The place of its store; by default the run's folder.
    pub(crate) data: Option<PathBuf>,
    /// Of the links.
    pub(crate) seed: u64,
    /// The run's, in USD.
    pub(crate) budget: Option<&'static str>,
    pub(crate) crash: Option<Crash>,
}

/// A planned crash of the coordinator, or of the first worker.
#[derive(Debug)]
pub(crate) struct Crash {
    pub(crate) in_worker: bool,
    /// `NAME:N`.
    pub(crate) at: String,
}

impl<'a> Fleet<'a> {
    /// Starts all but the workers, which [`Self::start_workers`] starts.
    pub(crate) fn new(place: &'a Place, name: &str, plan: &Plan, setup: Setup) -> anyhow::Result<Self> {
        let agent = free_address()?;
        let folder = place.prepare(name, plan, agent)?;
        let mut mock = Role::new("mock", &folder, place.mock(agent));
        mock.start()?;
        let address = free_address()?;
        let data = setup.data.unwrap_or_else(|| folder.join("data")).into_os_string();
        let mut command = setup.before;
        command.extend(place.gabfest(&["coordinator", "-v", "--listen", &address.to_string(), "--data"]));
        command.push(data);
        let mut coordinator = Role::new("coordinator", &folder, command);
        let crash = setup.crash.as_ref();
        if let Some(crash) = crash.filter(|crash| !crash.in_worker) {
            coordinator.crash_at(&crash.at);
        }
        coordinator.start()?;
        answers(agent, &mut mock)?;
        answers(address, &mut coordinator)?;
        let mut workers = Vec::new();
        for number in 1..=setup.workers {
            let name = format!("w{number}");
            let link = Link::to(address, setup.seed.wrapping_add(number as u64))?;
            let (url, slots) = (format!("http://{}", link.address), setup.slots.to_string());
            let flags = ["worker", "--coordinator", &url, "--slots", &slots, "--name", &name, "--grace", "5"];
            let command = place.gabfest(&[&flags[..], &["--config", "gabfest.yaml"]].concat());
            let mut role = Role::new(&name, &folder, command);
            if let Some(crash) = crash.filter(|crash| crash.in_worker && number == 1) {
                role.crash_at(&crash.at);
            }
            workers.push(Worker { role, link });
        }
        let budget = setup.budget;
        Ok(Self { place, folder, address, _mock: mock, coordinator, workers, budget, crashes: 0 })
    }

    pub(crate) fn start_workers(&mut self) -> anyhow::Result<()> {
        self.workers.iter_mut().try_for_each(|worker| worker.role.start())
    }

    /// Sends the run and follows it.
    pub(crate) fn submit(&self) -> anyhow::Result<Role> {
        let flags =
            ["submit", "plan", "--seed", SEED, "--run", RUN, "--watch", "--out", "out", "--config", "gabfest.yaml"];
        let budget: Vec<&str> = self.budget.iter().flat_map(|budget| ["--max-cost", budget]).collect();
        self.followed_by(&[&flags[..], &budget].concat())
    }

    /// Starts again what has crashed as planned.
    pub(crate) fn revive(&mut self) -> anyhow::Result<()> {
        let workers = self.workers.iter_mut().map(|worker| &mut worker.role);
        for role in workers.chain([&mut self.coordinator]) {
            if role.has_crashed()? {
                self.crashes += 1;
                role.start()?;
            }
        }
        Ok(())
    }

    /// How many processes have crashed as planned.
    pub(crate) const fn crashes(&self) -> u32 {
        self.crashes
    }

    pub(crate) fn watch(&self) -> anyhow::Result<Role> {
        self.followed_by(&["watch", RUN, "--out", "out"])
    }

    fn followed_by(&self, flags: &[&str]) -> anyhow::Result<Role> {
        let url = self.url();
        let command = self.place.gabfest(&[flags, &["--coordinator", &url]].concat());
        let mut role = Role::new("watcher", &self.folder, command);
        role.start()?;
        Ok(role)
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Runs a short command.
    pub(crate) fn ask(&self, flags: &[&str]) -> anyhow::Result<Output> {
        let command = self.place.gabfest(&[flags, &["--coordinator", &self.url()]].concat());
        let (program, arguments) = command.split_first().context("a command without a program")?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.folder).stdin(Stdio::null()).env("COLUMNS", "200");
        command.output().with_context(|| format!("failed to run {}", flags.join(" ")))
    }

    /// Heals everything: the coordinator answers, no process is stopped, and links are fine.
    pub(crate) fn heal(&mut self) -> anyhow::Result<()> {
        for worker in &self.workers {
            worker.link.set(Weather::Clear);
            worker.role.signal(Signal::CONT);
        }
        self.coordinator.signal(Signal::CONT);
        self.coordinator.ended()?;
        if !self.coordinator.is_there() {
            self.coordinator.start()?;
        }
        answers(self.address, &mut self.coordinator)
    }

    pub(crate) fn view(&self) -> anyhow::Result<String> {
        let output = self.ask(&["report", RUN, "--format", "view"])?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "the view cannot be had: {}", tail(&stderr, 3));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Messages that no log may have.
    pub(crate) fn panics(&self) -> Vec<String> {
        let roles = self.workers.iter().map(|worker| &worker.role).chain([&self.coordinator]);
        let said = |role: &Role| {
            let log = role.logged();
            let line = log.lines().find(|line| line.contains("panicked at"))?;
            Some(format!("{} panicked: {line}", role.name))
        };
        roles.filter_map(said).collect()
    }
}

/// Waits until something listens at the address.
pub(crate) fn answers(address: SocketAddr, role: &mut Role) -> anyhow::Result<()> {
    let answered = clock::until(STARTS_WITHIN, || {
        if let Some(code) = role.ended()? {
            anyhow::bail!("{} ended with {code}: {}", role.name, tail(&role.logged(), 3));
        }
        Ok(TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok())
    })?;
    answered.map(drop).with_context(|| format!("{} does not listen at {address}", role.name))
}

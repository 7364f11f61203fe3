//! The processes: a database, two coordinators, five workers, and the mock as their agent and models.

use std::{
    fmt,
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    net::SocketAddr,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, ensure};
use invariants::Limit;
use rustix::process::Signal;

use crate::chaos::{
    Chaos, clock,
    fleet::answers,
    place::{KEY_NAME, MIXED, Place, Plan, free_address},
    postmaster::Postmaster,
    process::{Role, tail},
    slow_disk::SlowDisk,
};

const WORKERS: usize = 5;
/// Of each worker; a large run has more, so that it does not take long.
const SLOTS: (u64, u64) = (8, 32);
const LARGE: u64 = 1_000;
const SEED: &str = "7";
const RUN: &str = "chaos";
/// The line of a coordinator that has become the one in charge.
const IN_CHARGE: &str = "in charge of the runs\n";
const SUBMITTED_WITHIN: Duration = Duration::from_secs(60);
/// Of the mock, in US dollars for a million tokens.
pub(super) const PRICE: (u64, u64) = (1, 10);

/// A process that may be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    Coordinator(usize),
    Worker(usize),
    Postmaster,
}

impl Target {
    pub(super) const WORKERS: [Self; WORKERS] =
        [Self::Worker(0), Self::Worker(1), Self::Worker(2), Self::Worker(3), Self::Worker(4)];
    pub(super) const ALL: [Self; 8] = [
        Self::Coordinator(0),
        Self::Coordinator(1),
        Self::Worker(0),
        Self::Worker(1),
        Self::Worker(2),
        Self::Worker(3),
        Self::Worker(4),
        Self::Postmaster,
    ];
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Coordinator(number) => write!(f, "coordinator {}", number + 1),
            Self::Worker(number) => write!(f, "worker {}", number + 1),
            Self::Postmaster => write!(f, "postmaster"),
        }
    }
}

/// The requests a minute of a run with so many trials: fewer than its slots could make.
const fn rate(trials: u64) -> u32 {
    match trials {
        0..200 => 3_600,
        200..LARGE => 2_400,
        _ => 12_000,
    }
}

/// What all workers of a run with so many trials may call together.
pub(super) const fn limit(trials: u64) -> Limit {
    Limit { requests_per_minute: rate(trials), workers: WORKERS as u32, late: Duration::from_secs(3) }
}

pub(super) struct Fleet<'a> {
    place: &'a Place,
    pub(super) folder: PathBuf,
    agent: SocketAddr,
    mock: Role,
    postmaster: Postmaster,
    has_database: bool,
    coordinators: Vec<(Role, SocketAddr)>,
    workers: Vec<Role>,
    trials: u64,
    /// How far each coordinator's log was read.
    read_to: Vec<u64>,
    in_charge: Option<usize>,
    crashes: u32,
}

impl<'a> Fleet<'a> {
    /// Nothing but the database runs yet.
    pub(super) fn new(place: &'a Place, name: &str, chaos: &Chaos) -> anyhow::Result<Self> {
        let trials = chaos.trials;
        let agent = free_address()?;
        let plan = Plan { trials, ..MIXED };
        let folder = place.prepare(name, &plan, agent)?;
        let ((input, output), rate) = (PRICE, rate(trials));
        // The mock plays every role behind a socket, so that it counts every call.
        let settings = format!(
            "endpoints:\n  shop:\n    url: \"http://{agent}/v1\"\n    model: shop\n    key: env:{KEY_NAME}\n    trace: true\n    \
             price: {{ input_per_million: {input}, output_per_million: {output} }}\n    max_output_tokens: 400\n    \
             limits: {{ requests_per_minute: {rate} }}\n\
             agents: {{ shop: {{ endpoint: shop }} }}\nroles: {{ agent: shop, user_sim: shop, judge: shop }}\n"
        );
        std::fs::write(folder.join("gabfest.yaml"), settings)?;
        let mock = Role::new("mock", &folder, place.mock(agent));
        let disk = match chaos.slow_fsync {
            0 => None,
            milliseconds => Some(SlowDisk::new(Duration::from_millis(milliseconds))?),
        };
        let postmaster = Postmaster::start(disk)?;
        let mut coordinators = Vec::new();
        for number in 1..=2 {
            let address = free_address()?;
            let listen = address.to_string();
            let flags = ["coordinator", "-v", "--listen", &listen, "--store", &postmaster.address];
            coordinators.push((Role::new(&format!("c{number}"), &folder, place.gabfest(&flags)), address));
        }
        let urls: Vec<String> = coordinators.iter().map(|(_, address)| format!("http://{address}")).collect();
        let slots = if trials < LARGE { SLOTS.0 } else { SLOTS.1 }.to_string();
        let worker = |number| {
            let name = format!("w{number}");
            let mut flags = vec!["worker", "-v", "--slots", &slots, "--name", &name, "--config", "gabfest.yaml"];
            urls.iter().for_each(|url| flags.extend(["--coordinator", url.as_str()]));
            Role::new(&name, &folder, place.gabfest(&flags))
        };
        let workers = (1..=WORKERS).map(worker).collect();
        let read_to = vec![0; coordinators.len()];
        let (has_database, in_charge) = (true, None);
        Ok(Self {
            place,
            folder,
            agent,
            mock,
            postmaster,
            has_database,
            coordinators,
            workers,
            trials,
            read_to,
            in_charge,
            crashes: 0,
        })
    }

    pub(super) fn start(&mut self) -> anyhow::Result<()> {
        self.mock.start()?;
        answers(self.agent, &mut self.mock)?;
        for (role, address) in &mut self.coordinators {
            role.start()?;
            answers(*address, role)?;
            // The first one is in charge before the second one starts.
            if self.in_charge.is_none() {
                let (log, read_to) = (role.log(), &mut self.read_to[0]);
                let found = clock::until(SUBMITTED_WITHIN, || Ok(said(&log, read_to, IN_CHARGE)?.then_some(())))?;
                found.context("the first coordinator is not in charge")?;
                self.in_charge = Some(0);
            }
        }
        self.workers.iter_mut().try_for_each(Role::start)
    }

    fn urls(&self) -> String {
        let urls: Vec<String> = self.coordinators.iter().map(|(_, address)| format!("http://{address}")).collect();
        urls.join(",")
    }

    pub(super) fn submit(&self, max_cost: f64) -> anyhow::Result<Role> {
        let (max_cost, repeats) = (format!("{max_cost:.6}"), (self.trials / 2).to_string());
        let flags =
            ["submit", "plan", "--seed", SEED, "--run", RUN, "--watch", "--out", "out", "--config", "gabfest.yaml"];
        self.followed_by(&[&flags[..], &["--max-cost", &max_cost, "--repeats", &repeats]].concat())
    }

    pub(super) fn watch(&self) -> anyhow::Result<Role> {
        self.followed_by(&["watch", RUN, "--out", "out"])
    }

    fn followed_by(&self, flags: &[&str]) -> anyhow::Result<Role> {
        let urls = self.urls();
        let command = self.place.gabfest(&[flags, &["--coordinator", &urls]].concat());
        let mut role = Role::new("watcher", &self.folder, command);
        role.start()?;
        Ok(role)
    }

    /// Waits until a coordinator has the run.
    pub(super) fn accepted(&mut self, watcher: &mut Role) -> anyhow::Result<()> {
        let accepted = clock::until(SUBMITTED_WITHIN, || {
            self.revive()?;
            let ended = watcher.ended()?;
            ensure!(ended.is_none(), "submit ended with {ended:?}: {}", tail(&watcher.logged(), 3));
            Ok(watcher.logged().contains(" trials ").then_some(()))
        })?;
        accepted.with_context(|| format!("no progress {SUBMITTED_WITHIN:?} after submit"))
    }

    fn role(&mut self, target: Target) -> Option<&mut Role> {
        match target {
            Target::Coordinator(number) => self.coordinators.get_mut(number).map(|(role, _)| role),
            Target::Worker(number) => self.workers.get_mut(number),
            Target::Postmaster => None,
        }
    }

    /// Lets it crash at a point of its code, once: `NAME:N`.
    pub(super) fn crash_at(&mut self, target: Target, point: &str) {
        if let Some(role) = self.role(target) {
            role.crash_at(point);
        }
    }

    /// Starts again what has crashed as planned.
    pub(super) fn revive(&mut self) -> anyhow::Result<()> {
        let coordinators = self.coordinators.iter_mut().map(|(role, _)| role);
        for role in coordinators.chain(&mut self.workers) {
            if role.has_crashed()? {
                self.crashes += 1;
                role.start()?;
            }
        }
        Ok(())
    }

    /// How many processes have crashed as planned.
    pub(super) const fn crashes(&self) -> u32 {
        self.crashes
    }

    /// Returns whether there was a process.
    pub(super) fn signal(&mut self, target: Target, signal: Signal) -> bool {
        let role = self.role(target).filter(|role| role.is_there());
        role.inspect(|role| role.signal(signal)).is_some()
    }

    /// How often the server called fsync, if that is slow.
    pub(super) fn slow_calls(&self) -> Option<u64> {
        self.postmaster.slow_calls()
    }

    /// Of each worker.
    pub(super) const fn slots(&self) -> u64 {
        if self.trials < LARGE { SLOTS.0 } else { SLOTS.1 }
    }

    /// Where the database keeps its files.
    pub(super) fn database(&self) -> PathBuf {
        self.postmaster.place()
    }

    /// The most memory that a coordinator had, in bytes.
    pub(super) fn most_resident(&self) -> u64 {
        self.coordinators.iter().map(|(role, _)| role.most_resident()).max().unwrap_or(0)
    }

    pub(super) fn has_database(&self) -> bool {
        self.has_database
    }

    /// Returns whether there was a process to kill.
    pub(super) fn kill(&mut self, target: Target) -> bool {
        match self.role(target) {
            Some(role) => role.kill(),
            None => {
                let killed = self.has_database && self.postmaster.kill();
                self.has_database &= !killed;
                killed
            }
        }
    }

    /// Starts a process that was killed or has ended.
    pub(super) fn start_one(&mut self, target: Target) -> anyhow::Result<()> {
        match self.role(target) {
            Some(role) if role.is_there() => Ok(()),
            Some(role) => role.start(),
            None => {
                self.postmaster.again()?;
                self.has_database = true;
                Ok(())
            }
        }
    }

    /// Those that ended by themselves, with their codes and last words.
    pub(super) fn ended(&mut self) -> anyhow::Result<Vec<(Target, i32, String)>> {
        let mut ended = Vec::new();
        for target in Target::ALL {
            let Some(role) = self.role(target) else { continue };
            if let Some(code) = role.ended()? {
                ended.push((target, code, tail(&role.logged(), 3)));
            }
        }
        Ok(ended)
    }

    pub(super) fn in_charge(&self) -> Option<Target> {
        self.in_charge.map(Target::Coordinator)
    }

    /// Whether a coordinator has said so since the last look.
    pub(super) fn somebody_new_is_in_charge(&mut self) -> bool {
        let mut found = false;
        for number in 0..self.coordinators.len() {
            let log = self.coordinators[number].0.log();
            if said(&log, &mut self.read_to[number], IN_CHARGE).unwrap_or(false) {
                self.in_charge = Some(number);
                found = true;
            }
        }
        found
    }

    /// Everything runs and answers.
    pub(super) fn heal(&mut self) -> anyhow::Result<()> {
        if !self.has_database {
            self.start_one(Target::Postmaster)?;
        }
        for target in Target::ALL {
            self.signal(target, Signal::CONT);
        }
        self.ended()?;
        for (role, address) in &mut self.coordinators {
            if !role.is_there() {
                role.start()?;
            }
            answers(*address, role)?;
        }
        Ok(())
    }

    pub(super) fn view(&self) -> anyhow::Result<String> {
        let urls = self.urls();
        let command = self.place.gabfest(&["report", RUN, "--format", "view", "--coordinator", &urls]);
        let (program, arguments) = command.split_first().context("a command without a program")?;
        let mut command = Command::new(program);
        let output = command.args(arguments).current_dir(&self.folder).stdin(Stdio::null()).output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "the view cannot be had: {}", tail(&stderr, 3));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Messages that no log may have.
    pub(super) fn panics(&self) -> Vec<String> {
        let roles = self.workers.iter().chain(self.coordinators.iter().map(|(role, _)| role));
        let said = |role: &Role| {
            let log = role.logged();
            let line = log.lines().find(|line| line.contains("panicked at"))?;
            Some(format!("{} panicked: {line}", role.name))
        };
        roles.filter_map(said).collect()
    }
}

/// Whether a file has a whole line with the text after `read_to`, which moves on.
fn said(path: &std::path::Path, read_to: &mut u64, text: &str) -> std::io::Result<bool> {
    let mut file = File::open(path)?;
    if file.metadata()?.len() == *read_to {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(*read_to))?;
    let mut new = Vec::new();
    file.read_to_end(&mut new)?;
    // A line that is half written is read again.
    let whole = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
    *read_to += whole as u64;
    Ok(String::from_utf8_lossy(&new[..whole]).contains(text))
}

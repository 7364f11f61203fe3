//! Builds a worker's resources from the settings: each endpoint is opened once and shared.

pub(crate) mod judging;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use anyhow::{Context as _, anyhow};
use llm::{cassette::Tape, endpoint::Endpoint, limit::Limiter, money::Purses, retry::Policy};
use scenario::{Plan, load::Lane};
use telemetry::Traces;
use worker::{
    Models, Resources,
    custom_check::{self, CustomCheck},
    environment::{Execution, Limits, database},
    state_host::{self, StateHost},
    tool_server::{self, ToolServer},
};

use crate::{
    addresses,
    args::{AllowExec, Capacity, Page},
    clock,
    exit::{UsageError, usage},
    listening,
    observed::Observed,
    scores,
    settings::{MOCK, Read, Settings},
};

/// Builds every agent and model that the settings define, and one more agent for each address.
pub(crate) async fn resources(
    read: &Read,
    addresses: &[String],
    capacity: &Capacity,
    observed: Option<&Observed>,
) -> anyhow::Result<Resources> {
    resources_on(&Tape::Off, read, addresses, capacity, observed).await
}

/// The same with a tape around every call to an agent or a model. In a replay no endpoint is connected and no key is read.
pub(crate) async fn resources_on(
    tape: &Tape,
    read: &Read,
    addresses: &[String],
    capacity: &Capacity,
    observed: Option<&Observed>,
) -> anyhow::Result<Resources> {
    let settings = &read.settings;
    let mut endpoints = Endpoints::new(settings, tape.clone());
    let mut agents = BTreeMap::new();
    let mock = agent::Settings {
        kind: agent::settings::Kind::Mock,
        plugins: agent::settings::Plugins::Body,
        ..Default::default()
    };
    let always_there = (MOCK.to_owned(), mock);
    let defined = settings.agents.iter().map(|(name, agent)| (name.clone(), agent.clone()));
    let surroundings = agent::Surroundings {
        folder: read.folder.clone(),
        may_execute: capacity.allow_exec == Some(AllowExec::Host),
        slots: slots(read, capacity),
        terminal: agent::interactive::OwnTerminal::find(),
        keys: read.keys.clone(),
        tape: tape.clone(),
    };
    for key in read.keys.values() {
        redact::register(secrecy::ExposeSecret::expose_secret(key));
    }
    for (name, agent) in std::iter::once(always_there).chain(defined) {
        let connected = agent::connect(&name, &agent, &surroundings)
            .with_context(|| format!("failed to set up agent {name:?}"))
            .map_err(usage)?;
        if let Some(connected) = connected {
            agents.insert(name, connected);
            continue;
        }
        let endpoint = match (&agent.endpoint, agent.kind) {
            (Some(endpoint), _) => endpoint.as_str(),
            (None, agent::settings::Kind::Mock) => MOCK,
            (None, agent::settings::Kind::Openai) => {
                return Err(usage(anyhow!("agents.{name} names no endpoint")));
            }
        };
        let model = endpoints.of_agent(endpoint)?;
        endpoints.is_agent(endpoint, &name);
        agents.insert(name.clone(), agent::build(&name, &agent, model));
    }
    for address in addresses {
        addresses::check(address)?;
        let endpoint = llm::endpoint::Settings { url: Some(address.clone()), ..Default::default() };
        let model = endpoints.of_agent_as(address, &endpoint)?;
        agents.insert(address.clone(), agent::build(address, &agent::Settings::default(), model));
    }
    let by_type = settings
        .models
        .iter()
        .map(|(model_type, name)| Ok((model_type.clone(), endpoints.chat(name)?)))
        .collect::<anyhow::Result<_>>()?;
    let models = Models {
        user_sim: endpoints.chat(settings.roles.user_sim.as_deref().unwrap_or(MOCK))?,
        judge: endpoints.chat(settings.roles.judge.as_deref().unwrap_or(MOCK))?,
        by_type,
        scores: scores::models(&settings.scores, tape, &mut |name| endpoints.find(name)).await?,
        judge_max_tokens: settings.roles.judge_max_tokens,
    };
    let execution = match capacity.allow_exec {
        // What programs did is not recorded, so a run with programs is not replayed.
        _ if tape.is_replay() => Execution::Off,
        None => Execution::Off,
        Some(AllowExec::Sandbox) => Execution::sandboxed(variables_of_programs(read), Limits::default()),
        Some(AllowExec::Host) => Execution::host(variables_of_programs(read), Limits::default()),
    };
    execution.check().await.map_err(|why| {
        usage(anyhow!("programs cannot be run in a sandbox here: {why}\nhint: install bubblewrap, or say --allow-exec=host for scenarios that you trust"))
    })?;
    let (opened, places) = (endpoints.opened, endpoints.places);
    let opened: Vec<Arc<Endpoint>> = opened.into_values().collect();
    let connected: Vec<_> = agents.values().cloned().collect();
    let limits =
        opened.iter().map(|endpoint| endpoint.limit()).chain(connected.iter().filter_map(|agent| agent.limit()));
    let limits: Vec<Arc<Limiter>> = limits.cloned().collect();
    Ok(Resources {
        agents,
        models,
        hooks: if tape.is_replay() { BTreeMap::new() } else { hooks(settings)? },
        checks: if tape.is_replay() { BTreeMap::new() } else { checks(read, &execution)? },
        state_hosts: if tape.is_replay() { BTreeMap::new() } else { state_hosts(settings)? },
        databases: if tape.is_replay() { BTreeMap::new() } else { databases(settings)? },
        execution,
        tool_server: tool_server(settings, capacity)?,
        now_millis: clock::now_millis,
        traces: observed.map_or_else(Traces::off, Observed::traces).with_endpoints(places.clone()),
        metrics: observed.map(Observed::worker).unwrap_or_default().with_endpoints(places),
        purses: paying(&limits),
        limits,
        unsettled: Box::new(move || {
            let endpoints: i64 = opened.iter().map(|endpoint| endpoint.unsettled_nanos()).sum();
            connected.iter().map(|agent| agent.unsettled_nanos()).sum::<i64>() + endpoints
        }),
        rerun: None,
    })
}

/// The purses from which calls behind these limits pay.
fn paying(limits: &[Arc<Limiter>]) -> Arc<Purses> {
    let purses = Arc::default();
    limits.iter().for_each(|limit| limit.pay_from(&purses));
    purses
}

/// An endpoint of the settings, or its missing key.
pub(crate) fn endpoint(settings: &Settings, name: &str) -> anyhow::Result<Result<Arc<Endpoint>, llm::Absent>> {
    Endpoints::new(settings, Tape::Off).find(name)
}

/// The address and the url come from the same place: an address on the command line does not use the url of the
/// settings.
fn tool_server(settings: &Settings, capacity: &Capacity) -> anyhow::Result<ToolServer> {
    let written = &settings.tool_server;
    let (listen, url) = match (capacity.tools_listen, &capacity.tools_url) {
        (Some(listen), url) => (Some(listen), url.as_deref()),
        (None, Some(url)) => (written.listen, Some(url.as_str())),
        (None, None) => (written.listen, written.url.as_deref()),
    };
    let place = tool_server::ToolAddress::new(listen, url).map_err(|error| {
        usage(anyhow!(
            "tools cannot be served: {error}\nhint: --tools-url says how agents reach them, such as http://this-machine:7500"
        ))
    })?;
    Ok(ToolServer::new(place))
}

/// Opens the tool server before the first trial if its address is set, so that an address in use is reported at once
/// and not in the first conversation that needs it.
pub(crate) async fn open_tool_server(resources: &Resources, page: &Page) -> anyhow::Result<()> {
    if let Some(address) = resources.tool_server.named() {
        listening::allow(address, page.insecure_i_know, "calls of tools are")?;
    }
    resources.tool_server.open_if_named().await.map_err(|error| {
        usage(anyhow!(
            "failed to {error}\nhint: name another address with --tools-listen or as `tool_server.listen` in the settings; port 0 takes a free one"
        ))
    })
}

/// That conversations can begin with all agents that a plan names: under test, or as the tester of a battery.
pub(crate) fn ready(plan: &Plan, resources: &Resources) -> anyhow::Result<()> {
    let testers = plan.groups.iter().filter_map(|group| formats::named(&group.format)?.agents(&group.document));
    for name in plan.agents.iter().map(String::as_str).chain(testers) {
        // An unknown name fails the trials that need it, with a reason.
        if let Some(reason) = resources.agents.get(name).and_then(|agent| agent.unready()) {
            return Err(usage(anyhow!("nothing was played: {reason}")));
        }
    }
    Ok(())
}

/// Conversations at once, if nobody says it.
const USUAL_SLOTS: u32 = 32;

/// How many trials this machine plays at the same time.
pub(crate) fn slots(read: &Read, capacity: &Capacity) -> u32 {
    capacity.slots.or(read.settings.slots).unwrap_or(USUAL_SLOTS)
}

/// How many conversations this machine plays at once for a plan: if nobody said it, as many as the closed paces of its load ask for,
/// and the usual number for its arrivals. Fewer than closed paces ask for would not be their load.
pub(crate) fn slots_for(plan: &Plan, read: &Read, capacity: &Capacity) -> anyhow::Result<u32> {
    let Some(schedule) = plan.schedule() else { return Ok(slots(read, capacity)) };
    let asked = u32::try_from(schedule.most_slots()).unwrap_or(u32::MAX);
    let Some(said) = capacity.slots.or(read.settings.slots) else {
        let arrivals = if schedule.lanes().iter().any(Lane::is_open) { USUAL_SLOTS } else { 0 };
        return Ok(asked.saturating_add(arrivals).max(USUAL_SLOTS));
    };
    if said >= asked {
        return Ok(said);
    }
    let by = if capacity.slots.is_some() { "--slots" } else { "`slots` in the settings" };
    Err(usage(anyhow!(
        "the load plays up to {asked} conversations at once, and {by} allows {said}\nhint: allow {asked}, or write fewer `slots` in the pace"
    )))
}

/// The variables of `--env-file` without those that the settings use as keys: programs of scenarios never get keys.
fn variables_of_programs(read: &Read) -> Vec<(String, String)> {
    let settings = &read.settings;
    let databases = settings.databases.values().map(|database| database.url.clone());
    let secret: BTreeSet<String> = settings.keys().iter().map(ToString::to_string).chain(databases).collect();
    read.variables.iter().filter(|(name, _)| !secret.contains(&format!("env:{name}"))).cloned().collect()
}

struct Endpoints<'a> {
    settings: &'a Settings,
    opened: BTreeMap<String, Arc<Endpoint>>,
    /// The addresses of endpoints for traces and metrics, including agents under their own names.
    places: BTreeMap<String, telemetry::Endpoint>,
    tape: Tape,
}

impl<'a> Endpoints<'a> {
    fn new(settings: &'a Settings, tape: Tape) -> Self {
        Self { settings, opened: BTreeMap::new(), places: BTreeMap::new(), tape }
    }

    /// The chat model of an agent.
    fn of_agent(&mut self, name: &str) -> anyhow::Result<Arc<dyn llm::Chat>> {
        match self.settings.endpoints.get(name) {
            Some(settings) => self.of_agent_as(name, &settings.clone()),
            None => {
                let model = self.open(name)?.chat(Policy::agent());
                Ok(self.tape.chat(model))
            }
        }
    }

    fn of_agent_as(&mut self, name: &str, settings: &llm::endpoint::Settings) -> anyhow::Result<Arc<dyn llm::Chat>> {
        let model = match self.tape.is_replay() {
            true => Endpoint::unasked(name, settings),
            false => self.open_as(name, settings)?.chat(Policy::agent()),
        };
        Ok(self.tape.chat(model))
    }

    /// A chat model for gabfest's own questions. If its key is missing it is [`llm::Absent`]: everything that needs it
    /// is skipped and reported, and the rest is played.
    fn chat(&mut self, name: &str) -> anyhow::Result<Arc<dyn llm::Chat>> {
        let recorded = self.settings.endpoints.get(name).filter(|_| self.tape.is_replay());
        if let Some(settings) = recorded {
            return Ok(self.tape.chat(Endpoint::unasked(name, settings)));
        }
        let model: Arc<dyn llm::Chat> = match self.find(name)? {
            Ok(endpoint) => endpoint.chat(Policy::model()),
            Err(absent) => Arc::new(absent),
        };
        Ok(self.tape.chat(model))
    }

    fn find(&mut self, name: &str) -> anyhow::Result<Result<Arc<Endpoint>, llm::Absent>> {
        match self.open(name) {
            Ok(endpoint) => Ok(Ok(endpoint)),
            Err(error) => match missing_key(&error) {
                Some(reason) => Ok(Err(llm::Absent::new(name, reason))),
                None => Err(error),
            },
        }
    }

    fn open(&mut self, name: &str) -> anyhow::Result<Arc<Endpoint>> {
        let mock = llm::endpoint::Settings { kind: llm::endpoint::Kind::Mock, ..Default::default() };
        match self.settings.endpoints.get(name) {
            Some(settings) => self.open_as(name, &settings.clone()),
            None if name == MOCK => self.open_as(name, &mock),
            None => Err(usage(anyhow!("there is no endpoint {name:?} in the settings"))),
        }
    }

    fn open_as(&mut self, name: &str, settings: &llm::endpoint::Settings) -> anyhow::Result<Arc<Endpoint>> {
        if let Some(endpoint) = self.opened.get(name) {
            return Ok(Arc::clone(endpoint));
        }
        let endpoint = Endpoint::open(name, settings).context("failed to set up an endpoint").map_err(usage)?;
        let endpoint = Arc::new(endpoint);
        self.opened.insert(name.to_owned(), Arc::clone(&endpoint));
        self.places.insert(name.to_owned(), place(settings));
        Ok(endpoint)
    }

    /// Metrics count calls to an agent under its name, with the address of its endpoint.
    fn is_agent(&mut self, endpoint: &str, agent: &str) {
        if let Some(place) = self.places.get(endpoint).cloned() {
            self.places.entry(agent.to_owned()).or_insert(place);
        }
    }
}

fn place(settings: &llm::endpoint::Settings) -> telemetry::Endpoint {
    let url: Option<http::Uri> = settings.address().and_then(|url| url.parse().ok());
    let url = url.as_ref();
    let usual_port = |scheme: &str| if scheme == "https" { 443 } else { 80 };
    telemetry::Endpoint {
        provider: settings.kind.provider().to_owned(),
        model: settings.model.clone(),
        address: url.and_then(|url| url.host()).map(ToOwned::to_owned),
        port: url.and_then(|url| url.port_u16().or_else(|| url.scheme_str().map(usual_port))),
    }
}

/// The message about a missing key, if that is why an endpoint could not be opened.
fn missing_key(error: &anyhow::Error) -> Option<String> {
    let UsageError(error) = error.downcast_ref()?;
    error.downcast_ref::<llm::endpoint::Error>()?.missing_key().map(ToString::to_string)
}

fn hooks(settings: &Settings) -> anyhow::Result<BTreeMap<String, worker::termination::hook::Hook>> {
    settings
        .hooks
        .iter()
        .map(|(name, hook)| Ok((name.clone(), worker::termination::hook::Hook::new(hook).map_err(usage)?)))
        .collect()
}

fn checks(read: &Read, execution: &Execution) -> anyhow::Result<BTreeMap<String, CustomCheck>> {
    let open = |(name, written): (&String, &custom_check::Settings)| {
        let check = CustomCheck::new(written, &read.folder, execution)
            .with_context(|| format!("failed to set up check {name:?}"))
            .map_err(usage)?;
        Ok((name.clone(), check))
    };
    read.settings.checks.iter().map(open).collect()
}

fn state_hosts(settings: &Settings) -> anyhow::Result<BTreeMap<String, StateHost>> {
    let open = |(name, written): (&String, &state_host::Settings)| {
        let host =
            StateHost::new(written).with_context(|| format!("failed to set up state host {name:?}")).map_err(usage)?;
        Ok((name.clone(), host))
    };
    settings.state_hosts.iter().map(open).collect()
}

fn databases(settings: &Settings) -> anyhow::Result<BTreeMap<String, String>> {
    settings
        .databases
        .iter()
        .map(|(name, written)| {
            let address = database::address(&written.url)
                .with_context(|| format!("failed to find database {name:?}"))
                .map_err(usage)?;
            Ok((name.clone(), address))
        })
        .collect()
}

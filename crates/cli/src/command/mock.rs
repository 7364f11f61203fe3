//! `gabfest mock`: the mock model behind a socket.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use llm::mock::server::Extras;

use crate::{
    args::Config,
    clock,
    exit::{Exit, usage},
    knowledge_base, listening,
    settings::{self, Settings},
    signals::Interrupts,
    stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The address to listen on; port 0 picks a free port and prints it
    #[arg(short, long, default_value = "127.0.0.1:8089", value_name = "ADDR")]
    listen: std::net::SocketAddr,
    /// Allow an address that other machines can reach
    #[arg(long)]
    insecure_i_know: bool,
    /// The endpoint in the settings file whose `mock` behaviour is served [default: the only one of kind mock]
    #[arg(short, long, value_name = "NAME")]
    endpoint: Option<String>,
    /// Serve a knowledge base (.qna, .lu or JSON; `-` is stdin) like QnA Maker and custom question answering
    #[arg(long, value_name = "FILE")]
    qna: Option<PathBuf>,
    /// Append a line of JSON for each chat, embedding and moderation to this file
    #[arg(long, value_name = "FILE")]
    calls: Option<PathBuf>,
    #[command(flatten)]
    config: Config,
}

pub(crate) async fn serve(args: Args) -> anyhow::Result<Exit> {
    listening::allow(args.listen, args.insecure_i_know, "the mock is")?;
    let read = settings::read(&args.config, false)?;
    let behaviour = behaviour(&read.settings, args.endpoint.as_deref())?;
    let calls = args.calls.as_deref().map(|path| {
        let file = std::fs::File::options().create(true).append(true).open(path);
        let now_micros = u64::try_from(clock::now_millis()).unwrap_or(0).saturating_mul(1_000);
        file.map(|file| (file, now_micros)).with_context(|| format!("failed to open {}", path.display())).map_err(usage)
    });
    let calls = calls.transpose()?;
    let knowledge_base = args.qna.as_deref().map(knowledge_base::serve).transpose()?;
    let listener = tokio::net::TcpListener::bind(args.listen)
        .await
        .with_context(|| format!("failed to listen on {}", args.listen))
        .map_err(usage)?;
    let address = listener.local_addr().context("failed to read the address")?;
    if knowledge_base.is_some() {
        stdout::line(&format!(
            "knowledge base at http://{address}/qnamaker and http://{address}/language, any key will do"
        ))?;
    }
    stdout::line(&format!("mock model at http://{address}/v1, statistics at http://{address}/stats"))?;
    let interrupts = Interrupts::listen();
    let extras = Extras { qna: knowledge_base, calls };
    llm::mock::server::serve(listener, behaviour, extras, async move { interrupts.reached(1).await }).await;
    Ok(Exit::Held)
}

/// The behaviour of the named endpoint, else of the only one of kind mock, else the default.
fn behaviour(settings: &Settings, name: Option<&str>) -> anyhow::Result<llm::mock::Behaviour> {
    let mocks: Vec<(&String, &llm::endpoint::Settings)> =
        settings.endpoints.iter().filter(|(_, endpoint)| endpoint.kind == llm::endpoint::Kind::Mock).collect();
    let names = || mocks.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    match (name, mocks.as_slice()) {
        (Some(name), _) => mocks
            .iter()
            .find(|(known, _)| known.as_str() == name)
            .map(|(_, endpoint)| endpoint.mock.clone())
            .ok_or_else(|| {
                let hint = if mocks.is_empty() { String::new() } else { format!("\nhint: they have {}", names()) };
                usage(anyhow!("the settings have no endpoint {name:?} of kind mock{hint}"))
            }),
        (None, []) => Ok(llm::mock::Behaviour::default()),
        (None, [(_, only)]) => Ok(only.mock.clone()),
        (None, _) => Err(usage(anyhow!(
            "the settings have several endpoints of kind mock\nhint: choose one with --endpoint: {}",
            names()
        ))),
    }
}

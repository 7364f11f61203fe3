//! A channel to a coordinator: `http://`, or `https://` with an identity. Of several it uses one that answers.

mod address;
mod dial;
mod keyring;
mod renewal;
mod round;

use std::{error::Error as _, path::PathBuf, sync::Arc};

use anyhow::anyhow;
use coordinator::peer::Way;
use pki::{Authority, Credentials, Token};
use proto::v1::{self, certificates_client::CertificatesClient};
use tonic::transport::{Channel, Endpoint};

use self::{address::Address, dial::DialError, round::Round};
pub(crate) use self::{keyring::Keyring, renewal::keep_valid};
use crate::{exit::usage, patience::answered};

/// The coordinators that a command calls.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Coordinators {
    /// The coordinator's address; of several that share a store (repeat it, or commas), one that answers is used
    #[arg(
        long = "coordinator",
        default_value = "http://127.0.0.1:7400",
        value_name = "URL",
        env = "GABFEST_COORDINATOR",
        value_delimiter = ','
    )]
    addresses: Vec<String>,
}

impl Coordinators {
    /// With commas between them.
    pub(crate) fn text(&self) -> String {
        self.addresses.join(",")
    }
}

/// Who a command is to a coordinator with TLS.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Identity {
    /// The folder with the certificate that `gabfest pki join` wrote, for coordinators with TLS (https://)
    #[arg(long, value_name = "DIR", default_value = "gabfest-identity", env = "GABFEST_IDENTITY")]
    pub(crate) identity: PathBuf,
}

/// Where the coordinators of a fleet are, and as whom they are called.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    addresses: Vec<Address>,
    keyring: Option<Keyring>,
}

impl Remote {
    /// `addresses`: one or more, with commas between them.
    pub(crate) fn new(addresses: &str, identity: &Identity) -> anyhow::Result<Self> {
        let addresses = Address::read_all(addresses)?;
        let keyring = if addresses[0].is_tls { Some(Keyring::open(&identity.identity)?) } else { None };
        Ok(Self { addresses, keyring })
    }

    /// With TLS: the credentials.
    pub(crate) fn keyring(&self) -> Option<&Keyring> {
        self.keyring.as_ref()
    }

    /// A channel that connects when it is first used and again after it broke, each time to the next coordinator.
    pub(crate) fn lazy(&self) -> anyhow::Result<Channel> {
        Ok(self.addresses[0].endpoint(self.addresses.len() > 1)?.connect_with_connector_lazy(self.round().connector()))
    }

    fn round(&self) -> Round {
        let config: round::Config = match &self.keyring {
            None => Arc::new(|| None),
            Some(keyring) => {
                let configs = keyring.configs();
                Arc::new(move || Some(configs()))
            }
        };
        Round::new(self.addresses.clone(), config)
    }

    /// Tries a connection, and returns an error if no other try can be better: the two sides do not agree on TLS.
    pub(crate) async fn agree(&self) -> anyhow::Result<()> {
        let mut disagreed = None;
        for address in &self.addresses {
            let agreed = match &self.keyring {
                None => dial::agrees_without_tls(address).await,
                Some(keyring) => dial::encrypted(address, keyring.credentials().config()).await.map(drop),
            };
            match agreed {
                Err(error @ DialError::Trouble { .. }) => disagreed = Some(error),
                _ => return Ok(()),
            }
        }
        disagreed.map_or(Ok(()), |error| Err(usage(refused(&error))))
    }
}

/// A connected channel, or an error that says what to do. A certificate that is due is renewed on the way. `addresses`: one or
/// more, with commas between them.
pub(crate) async fn connect(addresses: &str, identity: &Identity) -> anyhow::Result<Channel> {
    let remote = Remote::new(addresses, identity)?;
    let connected = remote.addresses[0]
        .endpoint(remote.addresses.len() > 1)?
        .connect_with_connector(remote.round().connector())
        .await;
    let channel = connected.map_err(|error| not_connected(addresses, error))?;
    if let Some(keyring) = &remote.keyring {
        renewal::renew_if_due(keyring, &channel).await;
    }
    Ok(channel)
}

/// Exchanges a token for credentials, over a connection to a coordinator of the fleet that made the token.
pub(crate) async fn join(addresses: &str, token: &Token, name: &str) -> anyhow::Result<Credentials> {
    let places = Address::read_all(addresses)?;
    if !places[0].is_tls {
        return Err(usage(anyhow!(
            "a join token is for a coordinator with TLS\nhint: its address begins with https://"
        )));
    }
    let (endpoint, config) = (places[0].endpoint(false)?, pki::joining(token)?);
    let round = Round::new(places, Arc::new(move || Some(config.clone())));
    let channel = endpoint.connect_with_connector(round.connector()).await;
    let channel = channel.map_err(|error| not_connected(addresses, error))?;
    let request = pki::Request::new()?;
    let asked = v1::ExchangeRequest {
        secret: token.secret().to_vec().into(),
        request: request.bytes().to_vec().into(),
        name: name.to_owned(),
    };
    let mut certificates = CertificatesClient::new(channel);
    let reply = answered("the join token was refused", async || certificates.exchange(asked.clone()).await).await;
    Ok(request.answered(&renewal::issued(reply.map_err(usage)?))?)
}

/// The way of a coordinator to another one.
#[derive(Debug, Clone)]
pub(crate) struct Between {
    address: Address,
    endpoint: Endpoint,
    authority: Option<Arc<Authority>>,
}

impl Between {
    /// With TLS, the coordinator's certificate must allow it.
    pub(crate) fn new(address: &str, authority: Option<Arc<Authority>>) -> anyhow::Result<Self> {
        let address = Address::read(address)?;
        anyhow::ensure!(
            address.is_tls == authority.is_some(),
            "one of this coordinator and the one in charge is encrypted, and the other is not"
        );
        if authority.as_ref().is_some_and(|authority| authority.client().is_none()) {
            return Err(anyhow!("the certificate of this coordinator is not for calls to other coordinators"));
        }
        Ok(Self { endpoint: address.endpoint(false)?, address, authority })
    }
}

impl Way for Between {
    fn channel(&self) -> Channel {
        let authority = self.authority.clone();
        let config: round::Config = Arc::new(move || authority.as_ref().and_then(|authority| authority.client()));
        let round = Round::new(vec![self.address.clone()], config);
        self.endpoint.connect_with_connector_lazy(round.connector())
    }

    async fn answers(&self) -> bool {
        dial::tcp(&self.address).await.is_ok()
    }
}

/// Addresses that a flag was repeated for, in one text.
pub(crate) fn listed(addresses: &[String]) -> Option<String> {
    (!addresses.is_empty()).then(|| addresses.join(","))
}

fn not_connected(addresses: &str, error: tonic::transport::Error) -> anyhow::Error {
    let mut cause = error.source();
    while let Some(one) = cause {
        if let Some(trouble) = one.downcast_ref::<DialError>().filter(|one| matches!(one, DialError::Trouble { .. })) {
            return usage(refused(trouble));
        }
        // An io::Error shows the source of what is in it.
        let inner = one.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if let Some(trouble @ DialError::Trouble { .. }) = inner.and_then(|inner| inner.downcast_ref()) {
            return usage(refused(trouble));
        }
        cause = one.source();
    }
    let addresses = addresses.replace(',', " or ");
    anyhow::Error::new(error).context(format!(
        "no coordinator answers at {addresses}\nhint: start one with `gabfest coordinator`, or name it with --coordinator"
    ))
}

fn refused(trouble: &DialError) -> anyhow::Error {
    match trouble {
        DialError::Trouble { what, hint: "" } => anyhow!("{what}"),
        DialError::Trouble { what, hint } => anyhow!("{what}\nhint: {hint}"),
        DialError::Io(error) => anyhow!("{error}"),
    }
}

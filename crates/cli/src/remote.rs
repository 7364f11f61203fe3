//! A channel to a coordinator at an address: `http://`, or `https://` with an identity.

mod address;
mod dial;
mod keyring;
mod renewal;

use std::{error::Error as _, path::PathBuf};

use anyhow::anyhow;
use pki::{Credentials, Token};
use proto::v1::{self, certificates_client::CertificatesClient};
use tonic::transport::Channel;

use self::{address::Address, dial::DialError};
pub(crate) use self::{keyring::Keyring, renewal::keep_valid};
use crate::{exit::usage, refusal};

/// Who a command is to a coordinator with TLS.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Identity {
    /// The folder with the certificate that `gabfest pki join` wrote, for coordinators with TLS (https://)
    #[arg(long, value_name = "DIR", default_value = "gabfest-identity", env = "GABFEST_IDENTITY")]
    pub(crate) identity: PathBuf,
}

/// Where a coordinator is, and as whom it is called.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    address: Address,
    keyring: Option<Keyring>,
}

impl Remote {
    pub(crate) fn new(address: &str, identity: &Identity) -> anyhow::Result<Self> {
        let address = Address::read(address)?;
        let keyring = if address.is_tls { Some(Keyring::open(&identity.identity)?) } else { None };
        Ok(Self { address, keyring })
    }

    /// With TLS: the credentials.
    pub(crate) fn keyring(&self) -> Option<&Keyring> {
        self.keyring.as_ref()
    }

    /// A channel that connects when it is first used and again after it broke.
    pub(crate) fn lazy(&self) -> anyhow::Result<Channel> {
        let endpoint = self.address.endpoint()?;
        Ok(match &self.keyring {
            None => endpoint.connect_lazy(),
            Some(keyring) => {
                endpoint.connect_with_connector_lazy(dial::connector(self.address.clone(), keyring.configs()))
            }
        })
    }

    /// Tries a connection, and returns an error if no other try can be better: the two sides do not agree on TLS.
    pub(crate) async fn agree(&self) -> anyhow::Result<()> {
        let agreed = match &self.keyring {
            None => dial::plain(&self.address).await,
            Some(keyring) => dial::encrypted(&self.address, keyring.credentials().config()).await.map(drop),
        };
        match agreed {
            Err(error @ DialError::Trouble { .. }) => Err(usage(refused(&error))),
            _ => Ok(()),
        }
    }
}

/// A connected channel, or an error that says what to do. A certificate that is due is renewed on the way.
pub(crate) async fn connect(address: &str, identity: &Identity) -> anyhow::Result<Channel> {
    let remote = Remote::new(address, identity)?;
    let endpoint = remote.address.endpoint()?;
    let connected = match &remote.keyring {
        None => endpoint.connect().await,
        Some(keyring) => {
            endpoint.connect_with_connector(dial::connector(remote.address.clone(), keyring.configs())).await
        }
    };
    let channel = connected.map_err(|error| not_connected(address, error))?;
    if let Some(keyring) = &remote.keyring {
        renewal::renew_if_due(keyring, &channel).await;
    }
    Ok(channel)
}

/// Exchanges a token for credentials, over a connection to the coordinator that made the token.
pub(crate) async fn join(address: &str, token: &Token, name: &str) -> anyhow::Result<Credentials> {
    let place = Address::read(address)?;
    if !place.is_tls {
        return Err(usage(anyhow!(
            "a join token is for a coordinator with TLS\nhint: its address begins with https://"
        )));
    }
    let (endpoint, config) = (place.endpoint()?, pki::joining(token)?);
    let channel = endpoint.connect_with_connector(dial::connector(place, move || config.clone())).await;
    let channel = channel.map_err(|error| not_connected(address, error))?;
    let request = pki::Request::new()?;
    let asked = v1::ExchangeRequest {
        secret: token.secret().to_vec().into(),
        request: request.bytes().to_vec().into(),
        name: name.to_owned(),
    };
    let reply = CertificatesClient::new(channel).exchange(asked).await;
    let reply = reply.map_err(|status| usage(refusal::of("the join token was refused", &status)))?;
    Ok(request.answered(&renewal::issued(reply.into_inner()))?)
}

fn not_connected(address: &str, error: tonic::transport::Error) -> anyhow::Error {
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
    anyhow::Error::new(error).context(format!(
        "no coordinator answers at {address}\nhint: start one with `gabfest coordinator`, or name it with --coordinator"
    ))
}

fn refused(trouble: &DialError) -> anyhow::Error {
    match trouble {
        DialError::Trouble { what, hint: "" } => anyhow!("{what}"),
        DialError::Trouble { what, hint } => anyhow!("{what}\nhint: {hint}"),
        DialError::Io(error) => anyhow!("{error}"),
    }
}

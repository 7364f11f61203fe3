//! Renews a certificate well before it expires, over a connection that it opened.

use std::time::Duration;

use proto::v1::{self, certificates_client::CertificatesClient};
use tonic::transport::Channel;

use super::keyring::Keyring;
use crate::clock;

/// Between two looks at the clock, which may jump.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// Renews the certificate whenever it is due, for as long as the process lives. Connections that are open keep the old one
/// until it expires; then the coordinator closes them, and the next ones use the new one.
pub(crate) async fn keep_valid(keyring: Keyring, channel: Channel) {
    loop {
        let left = keyring.credentials().renews_at() - clock::now_millis() / 1_000;
        let left = u64::try_from(left).unwrap_or(0);
        if left > 0 {
            tokio::time::sleep(Duration::from_secs(left).min(LONGEST_SLEEP)).await;
            continue;
        }
        renew_if_due(&keyring, &channel).await;
        // After a failure there is a third of the certificate's life for other tries.
        let life_left = keyring.credentials().expires_at() - clock::now_millis() / 1_000;
        let pause = Duration::from_secs(u64::try_from(life_left / 10).unwrap_or(0).max(1));
        tokio::time::sleep(pause.min(LONGEST_SLEEP)).await;
    }
}

/// A failure is a warning: the certificate is valid for some time yet.
pub(super) async fn renew_if_due(keyring: &Keyring, channel: &Channel) {
    let is_due = || clock::now_millis() / 1_000 >= keyring.credentials().renews_at();
    if !is_due() {
        return;
    }
    keyring.look();
    if !is_due() {
        return;
    }
    match renewed(channel).await {
        Ok(credentials) => {
            tracing::info!(expires_at = credentials.expires_at(), "the certificate was renewed");
            keyring.replace(credentials);
        }
        Err(error) => tracing::warn!(%error, "the certificate could not be renewed"),
    }
}

async fn renewed(channel: &Channel) -> anyhow::Result<pki::Credentials> {
    let request = pki::Request::new()?;
    let asked = v1::RenewRequest { request: request.bytes().to_vec().into() };
    let reply = CertificatesClient::new(channel.clone()).renew(asked).await;
    let reply = reply.map_err(|status| anyhow::anyhow!("{}", proto::reason(&status)))?;
    Ok(request.answered(&issued(reply.into_inner()))?)
}

/// From the wire.
pub(super) fn issued(reply: v1::CertificateReply) -> pki::Issued {
    let authorities = reply.authorities.into_iter().map(Into::into).collect();
    pki::Issued { certificate: reply.certificate.into(), authorities }
}

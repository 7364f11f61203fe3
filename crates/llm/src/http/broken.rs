//! Explains failed connections in terms that help to fix them: names, ports and certificates.

use std::{error::Error, io};

use rustls::{CertificateError, InvalidMessage};

use super::{
    causes::chain,
    request_line::RequestLine,
    resources::{self, Lack},
};

/// What happened, and how to fix it.
#[derive(Debug, PartialEq, Eq)]
pub struct Why {
    pub message: String,
    pub hint: Option<String>,
    /// This machine has run out of something: the other side is fine.
    pub is_ours: bool,
}

/// The target of a call.
#[derive(Debug)]
pub struct Target<'a> {
    pub host: &'a str,
    /// The host with its port.
    pub server: String,
    pub is_tls: bool,
}

impl<'a> Target<'a> {
    pub(crate) fn of(place: &'a RequestLine) -> Self {
        Self { host: place.host(), server: place.server(), is_tls: place.is_tls() }
    }
}

/// Describes an error of a connection or of the calls on it.
#[must_use]
pub fn why(error: &(dyn Error + 'static), target: &Target<'_>) -> Why {
    let causes = causes(error);
    let found = causes.iter().rev().find_map(|cause| known(*cause, target));
    found.unwrap_or_else(|| unexplained(chain(error)))
}

/// The error and all its causes. The payload of an I/O error is not among its sources.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    let mut all = vec![error];
    let mut last = error;
    loop {
        let inner = last.downcast_ref::<io::Error>().and_then(io::Error::get_ref).map(|inner| {
            let inner: &(dyn Error + 'static) = inner;
            inner
        });
        let Some(next) = inner.or_else(|| last.source()) else { return all };
        all.push(next);
        last = next;
    }
}

fn known(cause: &(dyn Error + 'static), target: &Target<'_>) -> Option<Why> {
    if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
        return Some(of_tls(tls, target));
    }
    if let Some(http) = cause.downcast_ref::<hyper::Error>() {
        return of_http(http, target);
    }
    if let Some(io) = cause.downcast_ref::<io::Error>() {
        return of_io(io, target);
    }
    if cause.to_string().starts_with("dns error") {
        return Some(
            resources::lack_of_sockets().map_or_else(|| unresolved(target), |lack| lacking(lack, &cause.to_string())),
        );
    }
    None
}

fn unresolved(target: &Target<'_>) -> Why {
    said(format!("the name {} cannot be resolved", target.host), "check the host in `url`, and the DNS of this machine")
}

fn of_io(error: &io::Error, target: &Target<'_>) -> Option<Why> {
    if let Some(lack) = resources::lack_to_reach(error, target.host) {
        return Some(lacking(lack, &error.to_string()));
    }
    let server = &target.server;
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Some(said(
            format!("nothing listens at {server}: the connection was refused"),
            "start the server, or check host and port of `url`",
        )),
        io::ErrorKind::TimedOut => Some(said(
            format!("{server} accepts no connection: {error}"),
            "check host and port of `url`, and the firewall between here and there",
        )),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            Some(said(format!("there is no route to {server}: {error}"), "check the network and the host in `url`"))
        }
        io::ErrorKind::UnexpectedEof if target.is_tls => Some(said(
            format!("{server} closed the connection during the TLS handshake"),
            "write http:// if the port has no TLS",
        )),
        io::ErrorKind::ConnectionReset => Some(said(format!("{server} reset the connection"), gone(target))),
        _ => None,
    }
}

fn of_http(error: &hyper::Error, target: &Target<'_>) -> Option<Why> {
    let server = &target.server;
    if error.is_parse() {
        let hint = if target.is_tls { "check the port of `url`" } else { "write https:// if the port has TLS" };
        return Some(said(format!("{server} does not answer with HTTP ({error})"), hint));
    }
    error
        .is_incomplete_message()
        .then(|| said(format!("{server} closed the connection without an answer"), gone(target)))
}

/// How to fix a connection that closes without an answer.
fn gone(target: &Target<'_>) -> &'static str {
    if target.is_tls {
        "look into the log of the server"
    } else {
        "look into the log of the server, or write https:// if the port has TLS"
    }
}

const TRUST: &str = "SSL_CERT_FILE=FILE names the certificate of a private authority (PEM)";

fn of_tls(error: &rustls::Error, target: &Target<'_>) -> Why {
    let Target { host, server, .. } = target;
    match error {
        rustls::Error::InvalidCertificate(fault) => of_certificate(fault, host),
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            said(format!("{server} speaks no TLS: the port seems to speak plain HTTP"), "write http:// in `url`")
        }
        rustls::Error::AlertReceived(alert) => said(
            format!("{server} ended the TLS handshake with the alert {alert:?}"),
            "check which versions of TLS and which client certificates the server wants",
        ),
        rustls::Error::General(reason) if reason.contains("CA certificates") => {
            said("this machine has no certificates of authorities that it trusts".to_owned(), TRUST)
        }
        other => unexplained(format!("TLS with {server} failed: {other}")),
    }
}

fn of_certificate(fault: &CertificateError, host: &str) -> Why {
    let text = fault.to_string();
    match fault {
        CertificateError::UnknownIssuer => {
            said(format!("this machine does not trust the authority that signed the certificate of {host}"), TRUST)
        }
        // A server that presents the certificate of its authority as its own.
        _ if format!("{fault:?}").contains("CaUsedAsEndEntity") => {
            said(format!("the certificate of {host} is signed by itself, and this machine does not trust it"), TRUST)
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => said(
            format!("the certificate of {host} has expired ({text})"),
            "renew the certificate, or check the clock of this machine",
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            said(format!("the certificate of {host} is not valid yet ({text})"), "check the clock of this machine")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => said(
            format!("the certificate is for another host than {host} ({text})"),
            "write a host in `url` that the certificate names",
        ),
        _ => unexplained(format!("the certificate of {host} cannot be accepted: {text}")),
    }
}

fn said(message: String, hint: &str) -> Why {
    Why { message, hint: Some(hint.to_owned()), is_ours: false }
}

fn unexplained(message: String) -> Why {
    Why { message, hint: None, is_ours: false }
}

fn lacking(lack: Lack, error: &str) -> Why {
    Why { is_ours: true, ..said(format!("{} ({error})", lack.message()), lack.hint()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(error: &(dyn Error + 'static), is_tls: bool) -> String {
        let Why { message, hint, .. } = why(error, &Target { host: "h", server: "h:1".to_owned(), is_tls });
        crate::hint::with(&message, hint.as_deref())
    }

    #[test]
    fn certificates_and_ports_in_words() {
        let certificate = |fault| rustls::Error::InvalidCertificate(fault);
        let rows = [
            (certificate(CertificateError::UnknownIssuer), "does not trust the authority", "SSL_CERT_FILE"),
            (certificate(CertificateError::Expired), "of h has expired", "renew the certificate"),
            (certificate(CertificateError::NotValidYet), "not valid yet", "clock"),
            (certificate(CertificateError::NotValidForName), "another host than h", "that the certificate names"),
            (rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType), "h:1 speaks no TLS", "write http://"),
        ];
        for (error, message, hint) in rows {
            // As hyper-rustls wraps it.
            let text = words(&io::Error::new(io::ErrorKind::InvalidData, error), true);
            assert!(text.contains(message) && text.contains(hint), "{text}");
        }
        for (kind, message, hint) in [
            (io::ErrorKind::ConnectionRefused, "nothing listens at h:1", "start the server"),
            (io::ErrorKind::TimedOut, "accepts no connection", "firewall"),
            (io::ErrorKind::UnexpectedEof, "during the TLS handshake", "write http://"),
        ] {
            let text = words(&io::Error::from(kind), true);
            assert!(text.contains(message) && text.contains(hint), "{text}");
        }
        assert_eq!(words(&io::Error::other("strange"), false), "strange");
        let target = Target { host: "h", server: "h:1".to_owned(), is_tls: false };
        let full = why(&io::Error::other(io::Error::from(rustix::io::Errno::MFILE)), &target);
        assert!(full.is_ours && full.message.contains("too many files and connections open"), "{full:?}");
        assert!(!why(&io::Error::from(io::ErrorKind::ConnectionRefused), &target).is_ours);
    }
}

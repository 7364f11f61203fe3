//! Why two sides did not agree on a connection, in words for people on either side.

use std::io;

use rustls::{AlertDescription as Alert, CertificateError as Wrong, Error as TlsError};

pub(crate) const OTHER_AUTHORITY: &str = "the CA of the coordinator is not the one of the join token";

/// What a client sees, and what helps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub what: String,
    pub hint: &'static str,
}

/// For the coordinator's log: why it refused a client, or the client refused it.
#[must_use]
pub fn of_client(error: &io::Error) -> String {
    match tls(error) {
        Some(TlsError::InvalidCertificate(Wrong::Expired | Wrong::ExpiredContext { .. })) => {
            "its certificate has expired".to_owned()
        }
        Some(TlsError::InvalidCertificate(Wrong::NotValidYet | Wrong::NotValidYetContext { .. })) => {
            "its certificate is not valid yet: a clock is wrong".to_owned()
        }
        Some(TlsError::InvalidCertificate(Wrong::UnknownIssuer | Wrong::BadSignature)) => {
            "its certificate is from another CA".to_owned()
        }
        Some(TlsError::AlertReceived(Alert::UnknownCA | Alert::BadCertificate | Alert::CertificateUnknown)) => {
            "it does not trust the certificate of this coordinator: another CA, another name, or expired".to_owned()
        }
        Some(TlsError::AlertReceived(Alert::CertificateExpired)) => {
            "it says that the certificate of this coordinator has expired".to_owned()
        }
        Some(TlsError::InvalidMessage(_)) => "it does not speak TLS; it needs an address with https://".to_owned(),
        Some(other) => other.to_string(),
        None => error.to_string(),
    }
}

/// For a client that could not connect.
#[must_use]
pub fn of_coordinator(error: &io::Error) -> Trouble {
    let trouble = |what: &str, hint| Trouble { what: what.to_owned(), hint };
    match tls(error) {
        Some(TlsError::InvalidCertificate(Wrong::Expired | Wrong::ExpiredContext { .. })) => trouble(
            "the certificate of the coordinator has expired",
            "on its machine `gabfest pki renew` makes another",
        ),
        Some(TlsError::InvalidCertificate(Wrong::NotValidForName | Wrong::NotValidForNameContext { .. })) => trouble(
            "the certificate of the coordinator is for other names than this address",
            "on its machine `gabfest pki renew NAME…` makes one for more names",
        ),
        Some(TlsError::InvalidCertificate(_)) => trouble(
            "the certificate of the coordinator is from another CA",
            "the identity is for another coordinator; `gabfest pki join` with a token of this one makes another",
        ),
        Some(TlsError::General(text)) if text == OTHER_AUTHORITY => {
            trouble(OTHER_AUTHORITY, "check the address; if it is right, ask for another token")
        }
        Some(TlsError::AlertReceived(Alert::CertificateExpired)) => trouble(
            "the coordinator refuses the certificate of this identity: it has expired",
            "ask for a join token, and use it with `gabfest pki join`",
        ),
        Some(TlsError::AlertReceived(
            Alert::UnknownCA | Alert::DecryptError | Alert::BadCertificate | Alert::CertificateUnknown,
        )) => trouble(
            "the coordinator refuses the certificate of this identity: it is from another CA",
            "ask for a join token of this coordinator, and use it with `gabfest pki join`",
        ),
        Some(TlsError::InvalidMessage(_)) => no_tls(),
        Some(other) => trouble(&other.to_string(), ""),
        // A server without TLS closes the connection at the first bytes.
        None if error.kind() == io::ErrorKind::UnexpectedEof || error.kind() == io::ErrorKind::ConnectionReset => {
            no_tls()
        }
        None => trouble(&error.to_string(), ""),
    }
}

fn no_tls() -> Trouble {
    Trouble {
        what: "the server at this address does not speak TLS".to_owned(),
        hint: "a coordinator without TLS has an address with http://",
    }
}

fn tls(error: &io::Error) -> Option<&TlsError> {
    error.get_ref()?.downcast_ref()
}

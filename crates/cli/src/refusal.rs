//! Why a coordinator did not do what it was asked to do, and what helps.

use anyhow::anyhow;
use tonic::{Code, Status};

use crate::tls_words::{NEEDS_TLS, TLS_HINT};

/// The error of a call, with a hint if there is one.
pub(crate) fn of(what: &str, status: &Status) -> anyhow::Error {
    let reason = proto::reason(status);
    let hint = match status.code() {
        Code::NotFound if reason.starts_with("run ") => "\nhint: `gabfest runs --coordinator URL` lists its runs",
        Code::AlreadyExists => "\nhint: choose another id with --run",
        _ if needs_tls(status) => return anyhow!("{what}: {NEEDS_TLS}\nhint: {TLS_HINT}"),
        Code::Unimplemented if reason.is_empty() => "\nhint: the coordinator has no TLS, or another version",
        Code::Unauthenticated if reason.contains("token") => {
            "\nhint: ask for another token: `gabfest pki token` makes one"
        }
        Code::Unauthenticated => "\nhint: ask for a join token, and use it with `gabfest pki join`",
        Code::PermissionDenied if reason.contains("revoked") => {
            "\nhint: ask for a join token, and make a new identity with `gabfest pki join --identity DIR`"
        }
        Code::PermissionDenied => {
            "\nhint: `gabfest pki show` prints the role of an identity; --identity names another one"
        }
        _ if speaks_no_grpc(status) => {
            "\nhint: the server at this address may not be a coordinator; name one with --coordinator"
        }
        _ => "",
    };
    anyhow!("{what}: {reason}{hint}")
}

/// Whether the coordinator answers clients with TLS only.
pub(crate) fn needs_tls(status: &Status) -> bool {
    proto::reason(status).contains(NEEDS_TLS)
}

/// Whether the answer is not HTTP/2: a broken connection has another reason.
pub(crate) fn speaks_no_grpc(status: &Status) -> bool {
    proto::reason(status).contains("frame with invalid size")
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use proto::v1;

    use super::*;
    use crate::{client, remote};

    #[test]
    fn a_refusal_says_what_to_do() {
        let unknown = Status::not_found("run nope is unknown");
        let expected = "no: run nope is unknown\nhint: `gabfest runs --coordinator URL` lists its runs";
        assert_eq!(of("no", &unknown).to_string(), expected);
        let other = Status::already_exists("run a exists with another plan");
        let expected = "no: run a exists with another plan\nhint: choose another id with --run";
        assert_eq!(of("no", &other).to_string(), expected);
        assert_eq!(of("no", &Status::unavailable("it stops")).to_string(), "no: it stops");
    }

    #[tokio::test]
    async fn a_server_that_is_no_coordinator_is_called_so() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let _ = socket.read(&mut [0; 1024]).await;
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
            // Open until the client has read the answer.
            let _ = socket.read(&mut [0; 1024]).await;
        });
        let mut client =
            client::of(remote::connect(&address, &remote::Identity { identity: "none".into() }).await.unwrap());
        let status = client.runs.list(v1::ListRequest {}).await.unwrap_err();
        let said = of("no", &status).to_string();
        assert!(said.contains("may not be a coordinator"), "{said}");
    }
}

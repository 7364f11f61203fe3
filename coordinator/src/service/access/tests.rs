use std::{collections::BTreeSet, sync::Arc, time::Duration};

use pki::{Authority, Credentials, Identity};
use prost::Message as _;

use super::*;

const NOW: i64 = 1_700_000_000_000;

/// Every call with the letters of the roles that may make it: worker, view, submit, admin; `-` for no certificate.
const MATRIX: &[(&str, &str)] = &[
    ("/gabfest.v1.Coordinator/Join", "wa"),
    ("/gabfest.v1.Coordinator/Work", "wa"),
    ("/gabfest.v1.Coordinator/GetPlan", "wvsa"),
    ("/gabfest.v1.Runs/Submit", "sa"),
    ("/gabfest.v1.Runs/Watch", "vsa"),
    ("/gabfest.v1.Runs/Cancel", "sa"),
    ("/gabfest.v1.Runs/Resume", "sa"),
    ("/gabfest.v1.Runs/Pause", "sa"),
    ("/gabfest.v1.Runs/SetSlots", "sa"),
    ("/gabfest.v1.Runs/SetRate", "sa"),
    ("/gabfest.v1.Runs/List", "vsa"),
    ("/gabfest.v1.Runs/GetSummary", "vsa"),
    ("/gabfest.v1.Runs/Export", "vsa"),
    ("/gabfest.v1.Runs/GetAttempts", "vsa"),
    ("/gabfest.v1.Runs/GetSpend", "vsa"),
    ("/gabfest.v1.Runs/Delete", "a"),
    ("/gabfest.v1.Runs/ListWorkers", "vsa"),
    ("/gabfest.v1.Certificates/Exchange", "-wvsa"),
    ("/gabfest.v1.Certificates/Renew", "wvsa"),
    ("/gabfest.v1.Certificates/CreateToken", "a"),
    ("/grpc.health.v1.Health/Check", "-wvsa"),
    ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "wvsa"),
    ("/gabfest.v1.Runs/Unheard", ""),
    ("nonsense", ""),
];

fn authority(place: &tempfile::TempDir) -> Arc<Authority> {
    Arc::new(Authority::create(place.path(), &[], "tester", NOW).unwrap())
}

fn caller(role: Role) -> Peer {
    let identity = Identity { id: "1".to_owned(), name: "someone".to_owned(), role };
    Peer::Known(Caller { identity, expires_at: NOW / 1_000 + 60 })
}

#[test]
fn each_role_may_make_exactly_its_calls() {
    let place = tempfile::tempdir().unwrap();
    let gate = Gate::Certificates(authority(&place));
    for (path, roles) in MATRIX {
        for (letter, peer) in [
            ('-', Peer::Unknown),
            ('w', caller(Role::Worker)),
            ('v', caller(Role::View)),
            ('s', caller(Role::Submit)),
            ('a', caller(Role::Admin)),
        ] {
            let may = gate.check(path, Some(&peer), NOW).is_ok();
            assert_eq!(may, roles.contains(letter), "{path} by {letter}");
        }
        assert_eq!(gate.check(path, None, NOW).is_ok(), roles.contains('-'), "{path} over a connection without a peer");
        assert!(Gate::Open.check(path, None, NOW).is_ok(), "{path}");
    }
}

#[test]
fn the_matrix_has_every_call_of_the_protocol() {
    let set = prost_types::FileDescriptorSet::decode(proto::DESCRIPTOR).unwrap();
    let mut calls = BTreeSet::new();
    for file in &set.file {
        for service in &file.service {
            let path = |method: &str| format!("/{}.{}/{method}", file.package(), service.name());
            calls.extend(service.method.iter().map(|method| path(method.name())));
        }
    }
    let listed: BTreeSet<String> = MATRIX.iter().map(|(path, _)| (*path).to_owned()).collect();
    assert!(calls.len() >= 17, "{calls:?}");
    assert_eq!(calls.difference(&listed).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn a_refusal_says_what_is_missing() {
    let place = tempfile::tempdir().unwrap();
    let authority = authority(&place);
    let gate = Gate::Certificates(Arc::clone(&authority));
    let submit = |peer: Option<&Peer>, now| gate.check("/gabfest.v1.Runs/Submit", peer, now).unwrap_err();
    let viewer = submit(Some(&caller(Role::View)), NOW);
    assert_eq!(viewer.message(), "the role view may not call Submit; it is for submit or admin");
    assert_eq!(viewer.code(), tonic::Code::PermissionDenied);
    let unknown = submit(Some(&Peer::Unknown), NOW);
    assert_eq!(unknown.code(), tonic::Code::Unauthenticated);
    assert!(unknown.message().contains("with a certificate only"), "{unknown}");
    let late = submit(Some(&caller(Role::Submit)), NOW + 60_000);
    assert_eq!(late.message(), "the certificate of someone has expired");
}

#[test]
fn who_is_revoked_may_do_nothing_from_then_on() {
    let place = tempfile::tempdir().unwrap();
    let authority = authority(&place);
    let credentials: Credentials = authority.issue(Role::Submit, "lost", Duration::from_secs(3_600), NOW).unwrap();
    let gate = Gate::Certificates(Arc::clone(&authority));
    let peer = Peer::Known(Caller { identity: credentials.identity().clone(), expires_at: credentials.expires_at() });
    let may = |path| gate.check(path, Some(&peer), NOW);
    assert!(may("/gabfest.v1.Runs/List").is_ok());
    authority.revoke(&credentials.identity().id).unwrap();
    for path in ["/gabfest.v1.Runs/List", "/gabfest.v1.Certificates/Renew"] {
        assert_eq!(may(path).unwrap_err().message(), "the certificate of lost is revoked");
    }
}

use std::{
    fs,
    io::{self, Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use rustls::{ClientConfig, ClientConnection, ServerConnection, Stream, pki_types::ServerName};

use super::*;
use crate::{joining, trouble};

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Unix milliseconds. Verifiers read the real clock.
fn now() -> i64 {
    time::OffsetDateTime::now_utc().unix_timestamp() * 1_000
}

fn created(place: &Path) -> Authority {
    Authority::create(place, &["fleet.example".to_owned()], "tester", now()).unwrap()
}

/// A whole connection in memory: what each side sees, and who the server says the client is.
fn meet(
    authority: &Authority,
    client: Arc<ClientConfig>,
    name: &str,
) -> (Result<(), io::Error>, Result<Peer, io::Error>) {
    let (mut ours, mut theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let server = authority.server();
    let serving = std::thread::spawn(move || {
        let mut connection = ServerConnection::new(server).unwrap();
        let mut stream = Stream::new(&mut connection, &mut theirs);
        stream.write_all(b"hello")?;
        stream.flush()?;
        Authority::peer(connection.peer_certificates()).map_err(io::Error::other)
    });
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut connection = ClientConnection::new(client, name).unwrap();
    let heard = Stream::new(&mut connection, &mut ours).read_exact(&mut [0; 5]);
    drop(ours);
    (heard, serving.join().unwrap())
}

#[test]
fn a_token_becomes_a_certificate_of_its_role_and_the_private_key_never_travels() {
    let place = tempfile::tempdir().unwrap();
    let authority = created(place.path());
    let request = Request::new().unwrap();
    let (identity, issued) = authority.admit(Role::Worker, request.bytes(), "rack-7", now()).unwrap();
    let credentials = request.answered(&issued).unwrap();
    assert_eq!(credentials.identity(), &identity);
    assert_eq!((identity.role, identity.name.as_str()), (Role::Worker, "rack-7"));
    let hours = (credentials.expires_at() - now() / 1_000) / 3_600;
    assert!((23..=24).contains(&hours), "{hours}");
    assert!(credentials.renews_at() < credentials.expires_at() - 7 * 3_600);
    let (heard, peer) = meet(&authority, credentials.config(), "fleet.example");
    heard.unwrap();
    let Peer::Known(caller) = peer.unwrap() else { panic!("no caller") };
    assert_eq!((caller.identity, caller.expires_at), (identity.clone(), credentials.expires_at()));

    // The same identity, another key and certificate.
    let again = Request::new().unwrap();
    let caller = Caller { identity, expires_at: 0 };
    let issued = authority.renew(&caller, again.bytes(), now()).unwrap();
    let renewed = again.answered(&issued).unwrap();
    assert_eq!(renewed.identity(), credentials.identity());
    // The next identity is another one, even with the same name.
    let (other, _) = authority.admit(Role::Worker, Request::new().unwrap().bytes(), "rack-7", now()).unwrap();
    assert_ne!(other.id, renewed.identity().id);
}

#[test]
fn what_a_request_says_about_itself_is_ignored() {
    let place = tempfile::tempdir().unwrap();
    let authority = created(place.path());
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["fleet.example".to_owned()]).unwrap();
    params.distinguished_name.push(rcgen::DnType::OrganizationalUnitName, "admin");
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    let request = params.serialize_request(&key).unwrap();
    let (identity, issued) = authority.admit(Role::View, request.der(), "sly, OU=admin", now()).unwrap();
    assert_eq!((identity.role, identity.name.as_str()), (Role::View, "slyOUadmin"));
    let (_, read) = x509_parser::parse_x509_certificate(&issued.certificate).unwrap();
    assert!(!read.is_ca());
    assert!(read.subject_alternative_name().unwrap().is_none());
    let usage = read.extended_key_usage().unwrap().unwrap().value.clone();
    assert!(usage.client_auth && !usage.server_auth);
    assert_eq!(read.subject().iter_organizational_unit().count(), 1);
}

#[test]
fn a_request_that_cannot_be_used_is_known_before_its_token_is_used() {
    let place = tempfile::tempdir().unwrap();
    let authority = created(place.path());
    let good = Request::new().unwrap();
    let mut changed = good.bytes().to_vec();
    // The signature no longer belongs to the key.
    *changed.last_mut().unwrap() ^= 1;
    for wrong in [&b""[..], b"junk", &changed, &vec![7; 1 << 20]] {
        let refused = authority.check(wrong).unwrap_err();
        assert!(matches!(refused, Error::Request(_)), "{refused}");
        assert!(authority.admit(Role::View, wrong, "x", now()).is_err());
    }
    authority.check(good.bytes()).unwrap();
}

#[test]
fn a_client_with_a_token_trusts_the_coordinator_of_the_token_only() {
    let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (authority, impostor) = (created(place.path()), created(other.path()));
    let token = authority.token(Role::Worker).unwrap();
    let (heard, peer) = meet(&authority, joining(&token).unwrap(), "fleet.example");
    heard.unwrap();
    assert_eq!(peer.unwrap(), Peer::Unknown);
    let (heard, _) = meet(&impostor, joining(&token).unwrap(), "fleet.example");
    assert_eq!(trouble::of_coordinator(&heard.unwrap_err()).what, trouble::OTHER_AUTHORITY);
    let (heard, _) = meet(&authority, joining(&token).unwrap(), "elsewhere.example");
    let what = trouble::of_coordinator(&heard.unwrap_err()).what;
    assert!(what.contains("for other names"), "{what}");

    // An impostor that sends the right CA along with its own certificate.
    let own = impostor.folder.join(folder::COORDINATOR);
    let right = fs::read_to_string(place.path().join(folder::CA)).unwrap();
    let forged = format!("{}{right}", fs::read_to_string(&own).unwrap());
    fs::write(&own, forged).unwrap();
    let impostor = Authority::open(other.path()).unwrap();
    let (heard, _) = meet(&impostor, joining(&token).unwrap(), "fleet.example");
    assert!(heard.is_err(), "the certificate itself is verified too");
}

#[test]
fn both_sides_learn_why_they_do_not_agree() {
    let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (authority, stranger) = (created(place.path()), created(other.path()));
    let issued = |authority: &Authority, lifetime, now| authority.issue(Role::Worker, "w", lifetime, now).unwrap();
    let says = |credentials: &Credentials, name: &str, ours: &str, theirs: &str| {
        let (heard, peer) = meet(&authority, credentials.config(), name);
        let what = trouble::of_coordinator(&heard.unwrap_err()).what;
        assert!(what.contains(ours), "{what}");
        let reason = trouble::of_client(&peer.unwrap_err());
        assert!(reason.contains(theirs), "{reason}");
    };
    // A day that ended a day ago.
    let expired = issued(&authority, DAY, now() - 2 * 24 * 3_600 * 1_000);
    says(&expired, "fleet.example", "it has expired", "its certificate has expired");
    // A client that trusts this CA, with a certificate of another.
    let foreign = issued(&stranger, DAY, now());
    says(&foreign, "fleet.example", "certificate of the coordinator is from another CA", "does not trust");
    foreign.save(other.path()).unwrap();
    fs::copy(place.path().join(folder::CA), other.path().join(folder::CA)).unwrap();
    let foreign = Credentials::load(other.path()).unwrap();
    says(
        &foreign,
        "fleet.example",
        "refuses the certificate of this identity: it is from another CA",
        "from another CA",
    );
    let good = issued(&authority, DAY, now());
    says(&good, "elsewhere.example", "for other names", "does not trust");
    // The coordinator's own certificate is not one of a client.
    let copied = tempfile::tempdir().unwrap();
    fs::copy(place.path().join(folder::COORDINATOR), copied.path().join(folder::IDENTITY)).unwrap();
    fs::copy(place.path().join(folder::CA), copied.path().join(folder::CA)).unwrap();
    let refused = Credentials::load(copied.path()).unwrap_err().to_string();
    assert!(refused.contains("no role of gabfest"), "{refused}");
}

#[test]
fn changed_files_are_read_and_files_that_do_not_fit_are_not_used() {
    let place = tempfile::tempdir().unwrap();
    let authority = created(place.path());
    let client = authority.issue(Role::View, "v", DAY, now()).unwrap();
    assert!(!authority.reload().unwrap());
    // By another process.
    Authority::open(place.path()).unwrap().renew_coordinator(&["new.example".to_owned()], now()).unwrap();
    assert!(authority.reload().unwrap());
    assert!(authority.served().names.contains(&"new.example".to_owned()));
    meet(&authority, client.config(), "new.example").0.unwrap();
    let before = authority.served();
    fs::write(place.path().join(folder::COORDINATOR), "-----BEGIN CERTIFICATE-----\nZ").unwrap();
    assert!(authority.reload().is_err());
    assert_eq!(authority.served(), before);
    meet(&authority, client.config(), "new.example").0.unwrap();
}

#[test]
fn another_ca_takes_over_without_a_client_that_is_left_out() {
    let place = tempfile::tempdir().unwrap();
    let authority = created(place.path());
    let old = authority.issue(Role::Worker, "w", DAY, now()).unwrap();
    authority.rotate(now()).unwrap();
    assert_eq!(authority.served().authorities, 2);
    // The coordinator's certificate is still one that the client knows.
    let (heard, peer) = meet(&authority, old.config(), "localhost");
    heard.unwrap();
    let Peer::Known(caller) = peer.unwrap() else { panic!("no caller") };
    // A token that is made meanwhile has the fingerprint of the CA that its client will meet.
    let token = authority.token(Role::View).unwrap();
    meet(&authority, joining(&token).unwrap(), "localhost").0.unwrap();
    let refused = authority.forget_former().unwrap_err().to_string();
    assert!(refused.contains("renew it first"), "{refused}");
    let request = Request::new().unwrap();
    let issued = authority.renew(&caller, request.bytes(), now()).unwrap();
    let renewed = request.answered(&issued).unwrap();
    authority.renew_coordinator(&[], now()).unwrap();
    authority.forget_former().unwrap();
    assert_eq!(authority.served().authorities, 1);
    meet(&authority, renewed.config(), "fleet.example").0.unwrap();
    assert!(meet(&authority, old.config(), "fleet.example").0.is_err());
}

#[test]
fn a_folder_without_the_key_of_the_ca_serves_and_issues_nothing() {
    let place = tempfile::tempdir().unwrap();
    let client = created(place.path()).issue(Role::View, "v", DAY, now()).unwrap();
    fs::remove_file(place.path().join(folder::CA_KEY)).unwrap();
    let authority = Authority::open(place.path()).unwrap();
    meet(&authority, client.config(), "fleet.example").0.unwrap();
    for refused in [
        authority.token(Role::View).unwrap_err().to_string(),
        authority.check(Request::new().unwrap().bytes()).unwrap_err().to_string(),
    ] {
        assert!(refused.contains("no key of its CA"), "{refused}");
    }
    assert!(!authority.served().signs);
}

#[test]
fn secrets_are_for_their_owner_only_and_nothing_is_made_twice() {
    let place = tempfile::tempdir().unwrap();
    let pki = place.path().join("pki");
    created(&pki);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for secret in [pki.join(folder::CA_KEY), pki.join(folder::COORDINATOR), pki.join("admin").join(folder::IDENTITY)] {
        assert_eq!(mode(&secret), 0o600, "{}", secret.display());
    }
    for folder in [pki.clone(), pki.join("admin")] {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
    }
    let again = Authority::create(&pki, &[], "tester", now()).unwrap_err();
    assert!(matches!(again, Error::Exists(_)), "{again}");
    for wrong in ["", "a b", "http://fleet", "fleet:7400", "a/b", &"x".repeat(300)] {
        let refused = Authority::create(&place.path().join("other"), &[wrong.to_owned()], "t", now()).unwrap_err();
        assert!(matches!(refused, Error::Name(_)), "{wrong:?}: {refused}");
    }
    assert!(!place.path().join("other").exists());
}

#[test]
fn who_is_revoked_gets_no_other_certificate() {
    let place = tempfile::tempdir().unwrap();
    let authority = created(place.path());
    let identity = authority.issue(Role::Worker, "lost", DAY, now()).unwrap().identity().clone();
    authority.revoke(&identity.id).unwrap();
    authority.revoke("another").unwrap();
    assert!(Authority::open(place.path()).unwrap().is_revoked(&identity));
    let caller = Caller { identity, expires_at: 0 };
    let refused = authority.renew(&caller, Request::new().unwrap().bytes(), now()).unwrap_err();
    assert_eq!(refused.to_string(), "the certificate of lost is revoked");
}

#[test]
fn a_coordinator_calls_another_as_a_coordinator_and_nobody_else_becomes_one() {
    let place = tempfile::tempdir().unwrap();
    let authority = created(place.path());
    let client = authority.client().expect("the certificate is for both sides");
    let (heard, peer) = meet(&authority, client, "fleet.example");
    heard.unwrap();
    let Peer::Known(caller) = peer.unwrap() else { panic!("no caller") };
    assert_eq!((caller.identity.role, caller.identity.name.as_str()), (Role::Coordinator, "gabfest coordinator"));

    // No token, no identity and no renewal for a client.
    assert!("coordinator".parse::<Role>().is_err() && !Role::ALL.contains(&Role::Coordinator));
    let refused = authority.issue(Role::Coordinator, "x", DAY, now()).unwrap_err();
    assert!(refused.to_string().contains("of a coordinator"), "{refused}");
    let refused = authority.renew(&caller, Request::new().unwrap().bytes(), now()).unwrap_err();
    assert!(refused.to_string().contains("of a coordinator"), "{refused}");
    assert!(authority.admit(Role::Coordinator, Request::new().unwrap().bytes(), "x", now()).is_err());

    // What an older gabfest issued serves as before, and calls no other coordinator.
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["fleet.example".to_owned()]).unwrap();
    params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    let ca = rcgen::KeyPair::from_pem(&fs::read_to_string(place.path().join(folder::CA_KEY)).unwrap()).unwrap();
    let ca_certificate = crate::pem::certificates(&place.path().join(folder::CA)).unwrap().remove(0);
    let issuer = rcgen::Issuer::from_ca_cert_der(&ca_certificate, ca).unwrap();
    let old = params.signed_by(&key, &issuer).unwrap();
    let text = format!("{}{}", key.serialize_pem(), crate::pem::of(&[old.der().clone(), ca_certificate]));
    folder::write_secret(&place.path().join(folder::COORDINATOR), &text).unwrap();
    assert!(Authority::open(place.path()).unwrap().client().is_none());
}

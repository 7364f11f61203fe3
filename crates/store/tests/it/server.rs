//! What only a store on a server can break: other coordinators, lost connections, another version.

use record::Usd;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use store::{Candidate, Error, Held as _, Hold, Lease, Postgres, Store, duty};

use crate::{
    proxy::Proxy,
    samples::{PLAN, batch, id, lease, run, token},
    stand::{OnServer, expire_duty},
};

#[tokio::test]
async fn one_coordinator_writes_at_a_time() {
    let Some(server) = OnServer::server() else { return };
    let address = OnServer::schema(&server).await;
    let first = Postgres::open(&address, "first").await.unwrap();
    first.create_run(&run("run"), PLAN).await.unwrap();
    let session = first.open_session("worker", &token(), 1).await.unwrap();
    first.grant(&[lease(1, session, "run", 0..9, 1)], 1).await.unwrap();

    let refused = Postgres::open(&address, "second").await.unwrap_err();
    assert!(matches!(&refused, Error::InUse(who) if who.contains("of coordinator first")), "{refused}");

    // It was silent for too long. What it writes late changes nothing.
    expire_duty(&address).await;
    let second = Postgres::open(&address, "second").await.unwrap();
    for refused in [
        first.commit(&batch(session, 1, "run", &[(3, 1)]), 2).await.unwrap_err(),
        first.grant(&[lease(2, session, "run", 9..12, 1)], 2).await.unwrap_err(),
        first.check().await.unwrap_err(),
    ] {
        assert!(matches!(refused, Error::TakenOver), "{refused}");
    }
    assert_eq!(second.watermark(session).await.unwrap(), Some(0));
    assert_eq!(second.commit(&batch(session, 1, "run", &[(3, 1)]), 3).await.unwrap().counted, [3]);

    // Handed over, it is free at once.
    second.hand_over().await.unwrap();
    let third = Postgres::open(&address, "third").await.unwrap();
    let done = third.recover(&id("run")).await.unwrap().done;
    assert_eq!((done.len(), done.first()), (1, Some(&(3..4))));
}

#[tokio::test]
async fn a_candidate_sees_who_holds_the_store_and_where() {
    let Some(server) = OnServer::server() else { return };
    let address = OnServer::schema(&server).await;
    let candidate = Candidate::connect(&address).await.unwrap();
    assert_eq!(candidate.look().await.unwrap(), None, "nothing is made by a look");
    let first = candidate.take("first", "http://one:7400").await.unwrap();
    let seen = candidate.look().await.unwrap().unwrap();
    assert_eq!((seen.name.as_str(), seen.address.as_str(), seen.hold), ("first", "http://one:7400", Hold::Held));
    assert!(matches!(candidate.take("second", "http://two:7400").await, Err(Error::InUse(_))));
    assert_eq!(candidate.look().await.unwrap(), Some(seen.clone()), "a refused candidate changes nothing");

    first.hand_over().await.unwrap();
    assert_eq!(candidate.look().await.unwrap().unwrap().hold, Hold::Released);
    let second = candidate.take("second", "http://two:7400").await.unwrap();
    let seen = candidate.look().await.unwrap().unwrap();
    assert_eq!((seen.name.as_str(), seen.address.as_str(), seen.epoch), ("second", "http://two:7400", 2));
    drop(second);
    expire_duty(&address).await;
    assert_eq!(candidate.look().await.unwrap().unwrap().hold, Hold::Expired);
}

/// A coordinator of the version before is still running: the tables change only when it no longer holds them.
#[tokio::test]
async fn the_tables_change_only_for_the_holder() {
    let Some(server) = OnServer::server() else { return };
    let address = OnServer::schema(&server).await;
    Postgres::open(&address, "old").await.unwrap().hand_over().await.unwrap();
    let mut connection = PgConnection::connect(&address).await.unwrap();
    for change in [
        "alter table duty drop column address",
        "delete from _sqlx_migrations where version >= 3",
        "alter table segment drop column pieces",
        "alter table segment drop column spend",
        "drop table join_token",
        "drop table day_requests",
        "drop trigger keep_replaced on trial",
        "drop function keep_replaced",
        "drop table replaced",
        "alter table run drop column deleted",
        "update duty set holder = 'old', lease_until = clock_timestamp() + interval '1 hour'",
    ] {
        sqlx::query(AssertSqlSafe(change)).execute(&mut connection).await.unwrap();
    }
    let candidate = Candidate::connect(&address).await.unwrap();
    let seen = candidate.look().await.unwrap().unwrap();
    assert_eq!((seen.name.as_str(), seen.address.as_str(), seen.hold), ("old", "", Hold::Held));
    assert!(matches!(candidate.take("new", "http://new:7400").await, Err(Error::InUse(_))));
    let newest = async |connection: &mut PgConnection| -> i64 {
        sqlx::query_scalar("select max(version) from _sqlx_migrations").fetch_one(connection).await.unwrap()
    };
    assert_eq!(newest(&mut connection).await, 2);
    sqlx::query("update duty set lease_until = '-infinity'").execute(&mut connection).await.unwrap();
    let _new = candidate.take("new", "http://new:7400").await.unwrap();
    assert!(newest(&mut connection).await >= 3);
    assert_eq!(candidate.look().await.unwrap().unwrap().address, "http://new:7400");
    connection.close().await.unwrap();
}

#[tokio::test]
async fn a_holder_knows_how_long_it_has_been_silent() {
    let Some(server) = OnServer::server() else { return };
    let proxy = Proxy::before(&server).await;
    let store = Postgres::open(&proxy.through(&OnServer::schema(&server).await), "test").await.unwrap();
    tokio::time::sleep(duty::TTL).await;
    assert!(store.silent_for().unwrap() < duty::TTL, "it renews by itself: {:?}", store.silent_for());
    store.hand_over().await.unwrap();
    tokio::time::sleep(duty::TTL).await;
    assert!(store.silent_for().unwrap() >= duty::TTL);
}

#[tokio::test]
async fn a_lost_connection_is_replaced() {
    let Some(server) = OnServer::server() else { return };
    let proxy = Proxy::before(&server).await;
    let store = Postgres::open(&proxy.through(&OnServer::schema(&server).await), "test").await.unwrap();
    store.create_run(&run("run"), PLAN).await.unwrap();
    let session = store.open_session("worker", &token(), 1).await.unwrap();
    store.grant(&[lease(1, session, "run", 0..9, 1)], 1).await.unwrap();
    for sequence in 1..4 {
        proxy.cut();
        assert_eq!(
            store.commit(&batch(session, sequence, "run", &[(sequence, 1)]), 2).await.unwrap().counted,
            [sequence]
        );
        proxy.cut();
        assert_eq!(store.watermark(session).await.unwrap(), Some(sequence));
    }
}

/// The server has committed and the answer is lost: the second try must neither count again nor answer less.
#[tokio::test]
async fn a_lost_answer_changes_nothing() {
    let Some(server) = OnServer::server() else { return };
    let proxy = Proxy::before(&server).await;
    let store = Postgres::open(&proxy.through(&OnServer::schema(&server).await), "test").await.unwrap();
    let swallow = || {
        assert!(proxy.swallowed(), "no commit was seen");
        proxy.swallow_the_next_commit();
    };

    swallow();
    store.create_run(&run("run"), PLAN).await.unwrap();
    let session = store.open_session("worker", &token(), 1).await.unwrap();
    let leases = [lease(1, session, "run", 0..9, 1), Lease { begun: 22, ..lease(2, session, "run", 20..25, 1) }];
    swallow();
    store.grant(&leases, 1).await.unwrap();
    assert_eq!(store.recover(&id("run")).await.unwrap().leases, leases);

    let before = store.spend(&id("run")).await.unwrap();
    let commit = batch(session, 1, "run", &[(3, 1), (4, 1), (77, 1)]);
    swallow();
    let committed = store.commit(&commit, 2).await.unwrap();
    assert_eq!((committed.counted, committed.fenced, committed.duplicate), (vec![3, 4], vec![77], false));
    let mut once = before;
    once.add(&commit.segment.spend);
    assert_eq!(store.spend(&id("run")).await.unwrap(), once, "counted once");
    assert!(store.commit(&commit, 2).await.unwrap().duplicate, "sent again by the worker");

    swallow();
    store.heartbeat(session, Usd(70), &[], 3).await.unwrap();
    swallow();
    let lost = store.end_session(session, "gone", false, &[], 9).await.unwrap();
    let found: Vec<_> = lost.iter().map(|lease| (lease.trials.clone(), lease.epoch, lease.begun_trials())).collect();
    assert_eq!(found, [(0..3, 1, 3), (5..9, 1, 4), (20..22, 1, 2), (22..25, 1, 0)]);
    let recovered = store.recover(&id("run")).await.unwrap();
    assert_eq!((recovered.lost_attempts, recovered.unsettled), (9, Usd(70)));
    assert!(proxy.swallowed(), "no commit was seen");
}

#[tokio::test]
async fn another_version_is_refused() {
    let Some(server) = OnServer::server() else { return };
    let rows = [
        ("insert into _sqlx_migrations values (99, 'later', now(), true, '\\x00', 1)", "was made by a newer gabfest"),
        ("update _sqlx_migrations set checksum = '\\x00'", "was made by a gabfest of another line"),
        ("update _sqlx_migrations set success = false", "was left half changed by an upgrade"),
    ];
    for (change, says) in rows {
        let address = OnServer::schema(&server).await;
        Postgres::open(&address, "test").await.unwrap().hand_over().await.unwrap();
        let mut connection = PgConnection::connect(&address).await.unwrap();
        sqlx::query(AssertSqlSafe(change)).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        let refusal = Postgres::open(&address, "test").await.unwrap_err();
        let named = refusal.to_string().starts_with(&format!("the store in PostgreSQL {says}"));
        assert!(matches!(refusal, Error::Version(_)) && named, "{change}: {refusal}");
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_used_is_named() {
    let refusal = Postgres::open("postgres://nobody@127.0.0.1:1/none", "test").await.unwrap_err();
    assert!(matches!(&refusal, Error::Unavailable(_)), "{refusal}");
    let refusal = Postgres::open("postgres://[", "test").await.unwrap_err();
    assert!(matches!(&refusal, Error::Unwritable(why) if why.contains("address")), "{refusal}");
    let Some(server) = OnServer::server() else { return };
    let (head, _) = server.rsplit_once('/').unwrap();
    let refusal = Postgres::open(&format!("{head}/no_such_database"), "test").await.unwrap_err();
    assert!(refusal.to_string().contains("no_such_database"), "{refusal}");
}

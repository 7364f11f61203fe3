//! A proxy before the server, which cuts connections at bad moments.

use std::{
    net::SocketAddr,
    str::FromStr as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use sqlx::postgres::PgConnectOptions;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

pub(crate) struct Proxy {
    address: SocketAddr,
    server: (String, u16),
    cuts: watch::Sender<u32>,
    swallow: Arc<AtomicBool>,
}

impl Proxy {
    pub(crate) async fn before(server: &str) -> Self {
        let options = PgConnectOptions::from_str(server).unwrap();
        let server = (options.get_host().to_owned(), options.get_port());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (cuts, cut) = watch::channel(0);
        let swallow = Arc::new(AtomicBool::new(false));
        let (target, swallows) = (server.clone(), Arc::clone(&swallow));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(&target).await else { continue };
                tokio::spawn(carry(client, server, cut.clone(), Arc::clone(&swallows)));
            }
        });
        Self { address, server, cuts, swallow }
    }

    /// The address of a store through the proxy.
    pub(crate) fn through(&self, address: &str) -> String {
        let direct = format!("{}:{}", self.server.0, self.server.1);
        assert!(address.contains(&direct), "GABFEST_POSTGRES names its host and port");
        address.replacen(&direct, &self.address.to_string(), 1)
    }

    /// Cuts all connections.
    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Cuts the connection of the next commit after the server has committed and before the client knows.
    pub(crate) fn swallow_the_next_commit(&self) {
        self.swallow.store(true, Ordering::SeqCst);
    }

    pub(crate) fn swallowed(&self) -> bool {
        !self.swallow.load(Ordering::SeqCst)
    }
}

async fn carry(client: TcpStream, server: TcpStream, mut cut: watch::Receiver<u32>, swallow: Arc<AtomicBool>) {
    cut.mark_unchanged();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let mute = Arc::new(AtomicBool::new(false));
    tokio::select! {
        () = requests(from_client, to_server, &swallow, &mute) => {}
        () = answers(from_server, to_client, &mute) => {}
        _ = cut.changed() => {}
    }
}

async fn requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, swallow: &AtomicBool, mute: &AtomicBool) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let commits = bytes[..count].windows(6).any(|word| word.eq_ignore_ascii_case(b"commit"));
        if commits && swallow.swap(false, Ordering::SeqCst) {
            mute.store(true, Ordering::SeqCst);
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

async fn answers(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mute: &AtomicBool) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if mute.load(Ordering::SeqCst) || to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

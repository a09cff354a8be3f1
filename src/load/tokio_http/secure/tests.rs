//! Against rustls' own server, over a pipe that cuts what goes through it.

use futures::future::join;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::*;
use crate::load::spec::TlsOptions;
use crate::load::tls;

/// What is read at once here.
const READ: usize = 64 << 10;

type Served = TlsStream<DuplexStream>;

fn server(version: &'static SupportedProtocolVersion) -> TlsAcceptor {
    let mut config = config(version);
    // Who does not read them would stand in the way of who writes them.
    config.send_tls13_tickets = 0;
    TlsAcceptor::from(Arc::new(config))
}

fn config(version: &'static SupportedProtocolVersion) -> ServerConfig {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.into()], key)
        .unwrap()
}

async fn connect(socket: DuplexStream, insecure: bool) -> io::Result<Tls<DuplexStream>> {
    let config = tls::config(&TlsOptions { insecure, ..TlsOptions::default() }).unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    Tls::connect(socket, Arc::new(config), name, Scratch::default(), READ).await
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Both ends, over a pipe that holds so many bytes.
fn both<T, U>(
    version: &'static SupportedProtocolVersion,
    pipe: usize,
    serve: impl AsyncFnOnce(Served) -> T,
    ask: impl AsyncFnOnce(Tls<DuplexStream>) -> U,
) -> (T, U) {
    let (near, far) = duplex(pipe);
    block_on(join(async { serve(server(version).accept(far).await.unwrap()).await }, async {
        ask(connect(near, true).await.unwrap()).await
    }))
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 % 251) as u8).collect()
}

#[test]
fn bytes_come_through_however_they_are_cut() {
    for version in [&TLS12, &TLS13] {
        for (pipe, length) in
            [(1, 5_000), (7, 40_000), (1000, 200_000), (30_000, 200_000), (1 << 20, 200_000)]
        {
            let (question, answer) = (pattern(length / 4 * 3), pattern(length));
            let serve = async |mut own: Served| {
                let mut asked = vec![0; question.len()];
                own.read_exact(&mut asked).await.unwrap();
                own.write_all(&answer).await.unwrap();
                own.shutdown().await.unwrap();
                asked
            };
            let ask = async |mut own: Tls<DuplexStream>| {
                own.write_all(&question).await.unwrap();
                own.flush().await.unwrap();
                // The first half as hyper takes it, the second as HTTP/2 does.
                let mut half = vec![0; answer.len() / 2];
                own.read_exact(&mut half).await.unwrap();
                loop {
                    let take = |context: &mut Context<'_>| {
                        own.poll_take(context, |part| half.extend_from_slice(part))
                    };
                    if poll_fn(take).await.unwrap() == 0 {
                        break half;
                    }
                }
            };
            let (asked, answered) = both(version, pipe, serve, ask);
            assert!(asked == question && answered == answer, "{version:?} {pipe}");
        }
    }
}

/// Tickets that come in fragments, a few bytes at a time, while a request is written: what
/// is known of them must not be lost sight of.
#[test]
fn one_can_write_while_a_message_of_the_server_is_not_whole() {
    let mut config = config(&TLS13);
    config.max_fragment_size = Some(40);
    config.send_tls13_tickets = 4;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    for pipe in [3, 10, 50] {
        let (near, far) = duplex(pipe);
        let (question, answer) = (pattern(2000), pattern(3000));
        let serve = async {
            let mut own = acceptor.accept(far).await.unwrap();
            let mut asked = vec![0; question.len()];
            own.read_exact(&mut asked).await.unwrap();
            own.write_all(&answer).await.unwrap();
            own.shutdown().await.unwrap();
            asked
        };
        let ask = async {
            let (mut from, mut to) = tokio::io::split(connect(near, true).await.unwrap());
            let mut heard = Vec::new();
            let say = async {
                for part in question.chunks(10) {
                    to.write_all(part).await.unwrap();
                    to.flush().await.unwrap();
                }
            };
            let ((), read) = join(say, from.read_to_end(&mut heard)).await;
            read.unwrap();
            heard
        };
        let (asked, heard) = block_on(join(serve, ask));
        assert!(asked == question && heard == answer, "{pipe}");
    }
}

#[test]
fn a_slow_reader_reads_no_more_at_once() {
    let mut config = config(&TLS13);
    (config.max_fragment_size, config.send_tls13_tickets) = (Some(40), 0);
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let (near, far) = duplex(1 << 20);
    let serve = async {
        let mut own = acceptor.accept(far).await.unwrap();
        own.write_all(&pattern(5000)).await.unwrap();
        own.flush().await.unwrap();
        own
    };
    let ask = async {
        let mut own = connect(near, true).await.unwrap();
        own.most = 100;
        let mut shown = Vec::new();
        while shown.iter().sum::<usize>() < 5000 {
            shown.push(poll_fn(|context| own.poll_take(context, |_| {})).await.unwrap());
        }
        shown
    };
    let (_server, shown) = block_on(join(serve, ask));
    assert!(shown.len() > 50 && shown.iter().all(|shown| *shown <= 100), "{shown:?}");
}

#[test]
fn keys_are_changed_while_bytes_go_both_ways() {
    let serve = async |mut own: Served| {
        own.write_all(b"before").await.unwrap();
        own.get_mut().1.refresh_traffic_keys().unwrap();
        own.write_all(b"after").await.unwrap();
        let mut heard = [0; 5];
        own.read_exact(&mut heard).await.unwrap();
        heard
    };
    let ask = async |mut own: Tls<DuplexStream>| {
        let mut heard = [0; 11];
        own.read_exact(&mut heard).await.unwrap();
        own.write_all(b"heard").await.unwrap();
        own.flush().await.unwrap();
        heard
    };
    let (heard, said) = both(&TLS13, 100, serve, ask);
    assert_eq!((&heard, &said), (b"heard", b"beforeafter"));
}

#[test]
fn an_end_without_a_farewell_is_no_end() {
    for says_farewell in [true, false] {
        let serve = async |mut own: Served| {
            own.write_all(b"some").await.unwrap();
            own.flush().await.unwrap();
            if says_farewell {
                own.shutdown().await.unwrap();
            }
        };
        let ask = async |mut own: Tls<DuplexStream>| {
            let mut heard = Vec::new();
            let end = own.read_to_end(&mut heard).await.map_err(|error| error.kind());
            (heard, end)
        };
        let ((), (heard, end)) = both(&TLS13, 1000, serve, ask);
        let expected = if says_farewell { Ok(4) } else { Err(io::ErrorKind::UnexpectedEof) };
        assert_eq!((heard.as_slice(), end), (b"some".as_slice(), expected));
    }
}

#[test]
fn a_farewell_is_said() {
    for version in [&TLS12, &TLS13] {
        let serve = async |mut own: Served| own.read_to_end(&mut Vec::new()).await.unwrap();
        let ask = async |mut own: Tls<DuplexStream>| {
            own.write_all(b"all").await.unwrap();
            own.shutdown().await.unwrap();
        };
        assert_eq!(both(version, 1000, serve, ask), (3, ()));
    }
}

#[test]
fn a_server_that_nobody_trusts_is_told_so() {
    let (near, far) = duplex(1000);
    let (served, asked) = block_on(join(server(&TLS13).accept(far), connect(near, false)));
    let asked = asked.err().unwrap();
    assert_eq!(asked.kind(), io::ErrorKind::InvalidData);
    assert!(asked.to_string().contains("UnknownIssuer"), "{asked}");
    let served = served.err().unwrap().to_string();
    assert!(served.contains("UnknownCA"), "{served}");
}

#[test]
fn what_is_no_tls_is_refused() {
    for (says, kind) in [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", io::ErrorKind::InvalidData),
        ("", io::ErrorKind::UnexpectedEof),
    ] {
        let (near, mut far) = duplex(4000);
        let serve = async {
            far.write_all(says.as_bytes()).await.unwrap();
            far.shutdown().await.unwrap();
        };
        let ((), asked) = block_on(join(serve, connect(near, true)));
        assert_eq!(asked.err().unwrap().kind(), kind, "{says}");
    }
}

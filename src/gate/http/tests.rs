use std::io::Write;
use std::time::Duration;

use super::*;
use crate::gate::testing::{Server, nobody};
use crate::load::spec::TlsOptions;

fn ask(url: &str, limits: Limits) -> Result<Reply, HttpError> {
    Client::new(limits).unwrap().ask(&Ask::get(url), &Reach::default())
}

fn error(url: &str) -> String {
    ask(url, Limits { time: Duration::from_millis(400), bytes: 1000 }).unwrap_err().to_string()
}

/// A server that writes these bytes, then waits, then closes.
fn raw(bytes: &'static str, wait: Duration) -> Server {
    Server::start(move |_, stream| {
        let _ = stream.write_all(bytes.as_bytes());
        std::thread::sleep(wait);
    })
}

#[test]
fn answers_and_redirects() {
    let server = Server::start(|came, stream| {
        let path = came.path();
        let (head, body) = match path {
            "/keep" => ("307 Again\r\nLocation: /kept", String::new()),
            "/kept" => ("200 OK", format!("{} [{}]", came.method, came.body)),
            _ => ("302 Round\r\nLocation: /round", String::new()),
        };
        let _ = write!(stream, "HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    });
    let client = Client::new(Limits::default()).unwrap();
    let form = |path: &str| Ask::form(server.url(path), &[("QUERY", "a b"), ("n", "1")]);
    let text = |ask: &Ask| {
        let reply = client.ask(ask, &Reach::default()).unwrap();
        assert_eq!(reply.status, 200);
        String::from_utf8(reply.body).unwrap()
    };
    assert_eq!(join("http://h/tap/sync?x", "/done"), "http://h/done");
    assert_eq!(join("http://h/tap/sync?x", "done"), "http://h/tap/done");
    assert_eq!(join("http://h", "done"), "http://h/done");
    assert_eq!(join("https://h/a", "//g/b"), "https://g/b");
    assert_eq!(join("http://h/a", "https://g/b"), "https://g/b");
    assert_eq!(text(&form("/keep")), "POST [QUERY=a+b&n=1]");
    let error = client.ask(&Ask::get(server.url("/round")), &Reach::default()).unwrap_err();
    assert_eq!(error.to_string(), "more than 5 redirects");
}

#[test]
fn a_post_that_is_sent_elsewhere_is_a_get_there() {
    let server = Server::start(|came, stream| {
        let body = format!("{} {} [{}]", came.method, came.target, came.body);
        let head = if came.path() == "/tap/sync" {
            "303 See Other\r\nLocation: /done?x=1"
        } else {
            "200 OK"
        };
        let _ = write!(stream, "HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    });
    let client = Client::new(Limits::default()).unwrap();
    let ask = Ask::form(server.url("/tap/sync"), &[("n", "1")]);
    let reply = client.ask(&ask, &Reach::default()).unwrap();
    assert_eq!(String::from_utf8(reply.body).unwrap(), "GET /done?x=1 []");
}

#[test]
fn chunks_and_bodies_that_end_with_the_connection() {
    let none = Duration::ZERO;
    for head in [
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\nabcde",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde",
    ] {
        let server = raw(head, none);
        assert_eq!(ask(&server.url("/"), Limits::default()).unwrap().body, b"abcde");
    }
}

#[test]
fn whatever_goes_wrong_has_its_own_word() {
    let none = Duration::ZERO;
    let long = Duration::from_millis(700);
    for (bytes, wait, expected) in [
        ("", none, "the connection was closed before an answer came"),
        ("HTTP/1.1 200 OK\r\nContent-Le", none, "the connection was closed before an answer came"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
            none,
            "the connection was closed after 3 of the 9 bytes that Content-Length promised",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc",
            none,
            "the connection was closed inside the body, after 3 bytes",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcde",
            none,
            "more bytes came than the 3 that Content-Length promised",
        ),
        ("", long, "no whole answer within 0.4 s"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
            long,
            "no whole answer within 0.4 s (3 bytes of it came)",
        ),
        ("SSH-2.0-OpenSSH\r\n\r\n", none, "no HTTP: "),
    ] {
        let server = raw(bytes, wait);
        let message = error(&server.url("/"));
        assert!(message.starts_with(expected), "{bytes}: {message}");
    }
    let server = Server::of(|_| (200, "text/plain", "x".repeat(1001)));
    assert_eq!(error(&server.url("/")), "a body of more than 1000 bytes");
    assert!(error(&nobody()).contains(": Connection refused"));
    assert_eq!(error("ftp://h/"), "`ftp://h/` is no URL to ask: expected http:// or https://");
    assert!(error("http://").starts_with("`http://` is no URL to ask: "));
}

/// A server that answers so many connections by TLS, and its certificate in PEM.
fn tls_server(connections: usize) -> (u16, String, std::thread::JoinHandle<()>) {
    use std::io::Read;

    use rustls::pki_types::PrivatePkcs8KeyDer;

    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    let config = std::sync::Arc::new(config);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        for _ in 0..connections {
            let (tcp, _) = listener.accept().unwrap();
            let session = rustls::ServerConnection::new(std::sync::Arc::clone(&config)).unwrap();
            let mut stream = rustls::StreamOwned::new(session, tcp);
            // A client that does not trust us goes away here.
            if stream.read(&mut [0; 4096]).is_ok() {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
    });
    (port, made.cert.pem(), thread)
}

fn judged(tls: TlsOptions) -> Reach {
    Reach { tls, ..Reach::default() }
}

fn trusting(roots: std::path::PathBuf) -> Reach {
    judged(TlsOptions { roots: Some(roots), ..TlsOptions::default() })
}

#[test]
fn certificates_are_judged() {
    let (port, pem, thread) = tls_server(4);
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, pem).unwrap();
    let client = Client::new(Limits::default()).unwrap();
    let ask =
        |host: &str, reach: &Reach| client.ask(&Ask::get(format!("https://{host}:{port}/")), reach);
    let known = trusting(ca);
    assert_eq!(ask("localhost", &known).unwrap().body, b"hi");
    let named = judged(TlsOptions { server_name: Some("localhost".into()), ..known.tls.clone() });
    assert_eq!(ask("127.0.0.1", &named).unwrap().body, b"hi");
    let insecure = judged(TlsOptions { insecure: true, ..TlsOptions::default() });
    assert_eq!(ask("127.0.0.1", &insecure).unwrap().body, b"hi");
    let message = ask("localhost", &Reach::default()).unwrap_err().to_string();
    assert!(message.starts_with(&format!("no TLS with localhost:{port}: ")), "{message}");
    thread.join().unwrap();
    let missing = trusting(folder.path().join("none.pem"));
    let server = Server::of(|_| (200, "text/plain", "x".into()));
    let url = server.url("/").replace("http://", "https://");
    let message = client.ask(&Ask::get(url), &missing).unwrap_err().to_string();
    assert!(message.contains("none.pem: "), "{message}");
}

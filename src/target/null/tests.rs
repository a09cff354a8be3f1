//! The target over raw sockets: what it puts on the wire, byte for byte.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::{Listen, NullTarget, Options};

fn target() -> NullTarget {
    NullTarget::start(&Options::default()).unwrap()
}

fn connect(target: &NullTarget) -> TcpStream {
    let socket = TcpStream::connect(target.address().unwrap()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket
}

fn ask(socket: &mut TcpStream, path: &str) {
    write!(socket, "GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
}

/// Head and body of an answer whose length is told.
fn answer(reader: &mut impl BufRead) -> (String, Vec<u8>) {
    let head = head(reader);
    let length = field(&head, "content-length").parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (head, body)
}

fn head(reader: &mut impl BufRead) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "closed within {head:?}");
    }
    head
}

fn field<'a>(head: &'a str, name: &str) -> &'a str {
    let find = |line: &'a str| line.split_once(": ").filter(|(key, _)| *key == name);
    head.lines().find_map(find).unwrap_or_else(|| panic!("no {name} in {head:?}")).1
}

/// All that comes of one path until the connection ends, and how it ends.
fn whole(path: &str) -> (String, Option<ErrorKind>) {
    let target = target();
    let mut socket = connect(&target);
    ask(&mut socket, path);
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let end = loop {
        match socket.read(&mut piece) {
            Ok(0) => break None,
            Ok(got) => bytes.extend_from_slice(&piece[..got]),
            Err(error) => break Some(error.kind()),
        }
    };
    (String::from_utf8_lossy(&bytes).into_owned(), end)
}

#[test]
fn bodies_have_the_bytes_that_were_asked_for_on_one_connection() {
    let target = target();
    let mut socket = connect(&target);
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    for bytes in [0, 1, 1024, 16_384, 16_385, 1 << 20, 3_386_900] {
        ask(&mut socket, &format!("/bytes/{bytes}"));
        let (head, body) = answer(&mut reader);
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert_eq!(body.len(), bytes);
    }
    let counts = target.counts();
    assert_eq!((counts.connections, counts.requests), (1, 7));
}

#[test]
fn requests_in_one_packet_are_answered_in_order() {
    let target = target();
    let mut socket = connect(&target);
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let one = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
    let asked = [one("/bytes/3"), one("/delay/5ms/bytes/4"), one("/bytes/5"), one("/bytes/5")];
    socket.write_all(asked.concat().as_bytes()).unwrap();
    for bytes in [3, 4, 5, 5] {
        assert_eq!(answer(&mut reader).1.len(), bytes);
    }
}

#[test]
fn a_request_may_come_byte_by_byte_and_have_a_body() {
    let target = target();
    let mut socket = connect(&target);
    let form = "LANG=ADQL&query=SELECT+TOP+3+*+FROM+t&RESPONSEFORMAT=csv&MAXREC=2";
    let length = form.len();
    let text =
        format!("POST /tap/sync HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{form}");
    for byte in text.bytes() {
        socket.write_all(&[byte]).unwrap();
    }
    let (head, body) = answer(&mut BufReader::new(socket));
    assert_eq!(field(&head, "content-type"), "text/csv");
    let text = String::from_utf8(body).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert_eq!(text.lines().next(), Some("id,ra,dec,mag"));
}

#[test]
fn delays_hold_an_answer_back() {
    let target = target();
    let mut socket = connect(&target);
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    for (path, least) in [("/delay/5ms/bytes/1", 5), ("/delay/20ms/delay/10ms/bytes/1", 30)] {
        let start = Instant::now();
        ask(&mut socket, path);
        answer(&mut reader);
        assert!(start.elapsed() >= Duration::from_millis(least), "{path}");
    }
}

#[test]
fn a_stall_holds_back_what_comes_in_it_and_nothing_else() {
    let target = target();
    let mut socket = connect(&target);
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let path = "/stall/bytes/1?at=50ms&for=200ms";
    let start = Instant::now();
    ask(&mut socket, path);
    answer(&mut reader);
    std::thread::sleep(Duration::from_millis(60));
    ask(&mut socket, path);
    answer(&mut reader);
    assert!(start.elapsed() >= Duration::from_millis(249), "{:?}", start.elapsed());
    // The stall is over for good.
    let before = start.elapsed();
    ask(&mut socket, path);
    answer(&mut reader);
    assert!(start.elapsed() - before < Duration::from_millis(200));
}

#[test]
fn chunks_and_trailers_are_framed() {
    let (text, _) = whole("/close/after/trailers/bytes/20000");
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert_eq!(field(head, "transfer-encoding"), "chunked");
    assert_eq!(field(head, "trailer"), "x-null");
    assert!(body.starts_with("4000\r\n"), "{}", &body[..20]);
    assert!(body.ends_with("\r\n0\r\nx-null: end\r\n\r\n"));
    let (text, _) = whole("/close/after/chunked/bytes/5");
    assert!(text.ends_with("\r\n\r\n5\r\nnull \r\n0\r\n\r\n"), "{text:?}");
}

#[test]
fn redirects_count_down_and_keep_what_follows() {
    let target = target();
    let mut socket = connect(&target);
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let mut path = "/delay/1ms/redirect/303/3/bytes/7?x=1".to_owned();
    for left in [2, 1, 0] {
        ask(&mut socket, &path);
        let (head, _) = answer(&mut reader);
        assert!(head.starts_with("HTTP/1.1 303 See Other\r\n"), "{head}");
        path = field(&head, "location").to_owned();
        assert_eq!(path, format!("/delay/1ms/redirect/303/{left}/bytes/7?x=1"));
    }
    ask(&mut socket, &path);
    assert_eq!(answer(&mut reader).1.len(), 7);
}

#[test]
fn bursts_of_429_come_at_the_head_of_every_round() {
    let target = target();
    let mut socket = connect(&target);
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let statuses = [(); 7].map(|()| {
        ask(&mut socket, "/status/429/bytes/1?burst=2&every=5");
        answer(&mut reader).0[9..12].to_owned()
    });
    assert_eq!(statuses, ["429", "429", "200", "200", "200", "429", "429"]);
}

#[test]
fn faults_are_what_they_are_called() {
    let (text, end) = whole("/reset/now");
    assert_eq!((text.as_str(), end), ("", Some(ErrorKind::ConnectionReset)));
    let (text, end) = whole("/reset/head");
    assert!(!text.contains("\r\n\r\n"), "{text:?}");
    assert_eq!(end, Some(ErrorKind::ConnectionReset));
    let (text, end) = whole("/reset/body/bytes/100");
    assert_eq!(text.split_once("\r\n\r\n").unwrap().1.len(), 50);
    assert_eq!(end, Some(ErrorKind::ConnectionReset));
    assert_eq!(whole("/close/before"), (String::new(), None));
    for (path, promised, sent) in [
        ("/close/half/bytes/100", "100", 50),
        ("/close/after/bytes/100", "100", 100),
        ("/length/wrong/bytes/100", "200", 100),
        ("/length/short/bytes/40000", "80000", 40_000),
    ] {
        let (text, end) = whole(path);
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert_eq!(
            (field(head, "content-length"), body.len(), end),
            (promised, sent, None),
            "{path}"
        );
    }
    let (text, end) = whole("/http10/bytes/100");
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.0 200 OK\r\n") && !head.contains("content-length"), "{head}");
    assert_eq!((body.len(), end), (100, None));
    let (text, _) = whole("/garbage");
    assert!(!text.contains("HTTP/1"), "{text}");
}

#[test]
fn a_half_closed_connection_still_takes_what_the_client_sends() {
    let target = target();
    let mut socket = connect(&target);
    ask(&mut socket, "/close/half/bytes/100");
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    ask(&mut socket, "/bytes/1");
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert_eq!(socket.read(&mut [0; 16]).unwrap(), 0);
    assert_eq!(target.counts().requests, 1);
}

#[test]
fn endless_bodies_do_not_end() {
    for path in ["/never", "/never/fast"] {
        let target = target();
        let mut socket = connect(&target);
        ask(&mut socket, path);
        let mut reader = BufReader::new(socket);
        assert!(head(&mut reader).contains("transfer-encoding: chunked"));
        let mut body = vec![0; 20_000];
        reader.read_exact(&mut body).unwrap();
        assert_eq!(target.counts().answers, 0);
    }
    let target = target();
    let mut socket = connect(&target);
    ask(&mut socket, "/never/head");
    socket.set_read_timeout(Some(Duration::from_millis(30))).unwrap();
    assert!(socket.read(&mut [0]).is_err());
}

#[test]
fn slow_bodies_come_in_pieces() {
    let start = Instant::now();
    let (text, _) = whole("/close/after/slow/5ms/10/bytes/45");
    assert_eq!(text.split_once("\r\n\r\n").unwrap().1.len(), 45);
    assert!(start.elapsed() >= Duration::from_millis(20));
}

#[test]
fn http10_clients_are_closed_unless_they_ask_to_be_kept() {
    let target = target();
    let mut socket = connect(&target);
    write!(socket, "GET /bytes/3 HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").unwrap();
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    assert_eq!(field(&answer(&mut reader).0, "connection"), "keep-alive");
    write!(socket, "GET /bytes/3 HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!(field(&answer(&mut reader).0, "connection"), "close");
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
}

#[test]
fn a_target_that_drains_ends_with_the_answers_it_owes() {
    let target = target();
    let mut idle = connect(&target);
    ask(&mut idle, "/bytes/1");
    answer(&mut BufReader::new(idle.try_clone().unwrap()));
    let mut busy = connect(&target);
    ask(&mut busy, "/delay/100ms/bytes/7");
    while target.counts().requests < 2 {
        std::thread::yield_now();
    }
    let address = target.address().unwrap();
    target.drain();
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
    let mut reader = BufReader::new(busy);
    assert_eq!(answer(&mut reader).1.len(), 7);
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    target.wait();
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn instances_share_a_port_and_leave_it_one_by_one() {
    let options = Options { reuse_port: true, ..Options::default() };
    let first = NullTarget::start(&options).unwrap();
    let listen = Listen::Tcp(first.address().unwrap());
    let second = NullTarget::start(&Options { listen, ..options }).unwrap();
    assert_eq!(first.address(), second.address());
    let first_requests = first.counts().requests;
    first.drain();
    first.wait();
    let mut socket = connect(&second);
    ask(&mut socket, "/bytes/1");
    answer(&mut BufReader::new(socket));
    assert_eq!((first_requests, second.counts().requests), (0, 1));
}

#[test]
fn unix_sockets_are_served_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("null.sock");
    let listen = Listen::Unix(path.clone());
    let target = NullTarget::start(&Options { listen, ..Options::default() }).unwrap();
    let mut socket = std::os::unix::net::UnixStream::connect(&path).unwrap();
    socket.write_all(b"GET /bytes/9 HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    assert_eq!(answer(&mut BufReader::new(socket)).1.len(), 9);
    drop(target);
    assert!(!path.exists());
}

#[test]
fn tap_jobs_redirect_run_and_have_results() {
    let target = target();
    let mut socket = connect(&target);
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let query = "QUERY=SELECT+TOP+2+*+FROM+t&WORK=400ms&FORMAT=votable&MAXREC=1";
    ask(&mut socket, &format!("/tap303/sync?{query}"));
    let path = field(&answer(&mut reader).0, "location").to_owned();
    ask(&mut socket, &path);
    let text = String::from_utf8(answer(&mut reader).1).unwrap();
    assert_eq!(text.matches("<TR>").count(), 1, "{text}");
    assert!(text.find("</TABLE>").unwrap() < text.find("OVERFLOW").unwrap());

    ask(&mut socket, &format!("/tap/async?{query}"));
    let job = field(&answer(&mut reader).0, "location").to_owned();
    ask(&mut socket, &format!("{job}/phase"));
    assert_eq!(answer(&mut reader).1, b"EXECUTING");
    ask(&mut socket, &format!("{job}/results/result"));
    assert!(answer(&mut reader).0.starts_with("HTTP/1.1 404"));
    std::thread::sleep(Duration::from_millis(410));
    ask(&mut socket, &format!("{job}/phase"));
    assert_eq!(answer(&mut reader).1, b"COMPLETED");
    ask(&mut socket, &format!("{job}/results/result"));
    assert_eq!(String::from_utf8(answer(&mut reader).1).unwrap(), text);

    ask(&mut socket, "/tap/sync?QUERY=SELECT+TOP+x");
    let (head, body) = answer(&mut reader);
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
    assert!(String::from_utf8(body).unwrap().contains("ERROR"));
}

#[test]
fn what_no_route_knows_says_so() {
    for (path, says) in [
        ("/nonsense", "\"nonsense\" is no route"),
        ("/bytes/-1", "bytes: \"-1\""),
        ("/delay/5/bytes/1", "\"5\" is no duration"),
        ("/redirect/200/1", "redirect: 200"),
        ("/stall/bytes/1", "?at="),
    ] {
        let target = target();
        let mut socket = connect(&target);
        ask(&mut socket, path);
        let (head, body) = answer(&mut BufReader::new(socket));
        let body = String::from_utf8(body).unwrap();
        assert!(head.starts_with("HTTP/1.1 404") && body.contains(says), "{path}: {body}");
    }
}

#[test]
fn tls_carries_the_same_and_ends_as_it_should() {
    let target = NullTarget::start(&Options { tls: true, ..Options::default() }).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    let pem = target.ca_pem().unwrap().as_bytes();
    use rustls::pki_types::pem::PemObject;
    roots.add(rustls::pki_types::CertificateDer::from_pem_slice(pem).unwrap()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let config = std::sync::Arc::new(config);
    let open = || {
        let name = "127.0.0.1".try_into().unwrap();
        let client = rustls::ClientConnection::new(std::sync::Arc::clone(&config), name).unwrap();
        rustls::StreamOwned::new(client, connect(&target))
    };
    let mut reader = BufReader::new(open());
    for bytes in [5, 3_386_900, 0] {
        write!(reader.get_mut(), "GET /bytes/{bytes} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        assert_eq!(answer(&mut reader).1.len(), bytes);
    }
    // What is ended by the connection's end, ends with a farewell.
    let mut stream = open();
    stream.write_all(b"GET /until-close/bytes/99999 HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text.split_once("\r\n\r\n").unwrap().1.len(), 99_999);
    // Pauses work over TLS too.
    let mut stream = open();
    let start = Instant::now();
    stream.write_all(b"GET /close/after/slow/5ms/10/bytes/45 HTTP/1.1\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(20));
}

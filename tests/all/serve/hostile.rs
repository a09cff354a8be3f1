//! Clients that mean no good.

use std::io::{Read, Write};
use std::time::Duration;

use tapstat::target::tap::Options;

use super::client::{form, read};
use super::{Served, within};

/// The server still answers.
fn is_well(served: &Served) {
    assert_eq!(served.value("SELECT COUNT(*) FROM ivoa.obscore"), "3000");
}

#[test]
fn queries_that_are_too_much_are_refused() {
    let served = Served::new();
    let condition = |text: String| format!("SELECT COUNT(*) FROM ivoa.obscore WHERE {text}");
    for query in [
        condition("(".repeat(10_000) + "1 = 1" + &")".repeat(10_000)),
        condition("s_ra < ".to_owned() + &"- ".repeat(20_000) + "1"),
        condition("ABS(".repeat(5_000) + "s_ra" + &")".repeat(5_000) + " > 1"),
        condition(vec!["s_ra > 1"; 5_000].join(" OR ")),
        condition(format!("obs_id = '{}'", "x".repeat(500_000))),
        "SELECT * FROM (".repeat(500) + "SELECT 1 AS a" + &") x".repeat(500),
        vec!["SELECT obs_id FROM ivoa.obscore"; 300].join(" UNION ALL "),
        "SELECT".to_owned(),
        "\u{0}".to_owned(),
        "SELECT \u{1F52D} FROM \u{3b1}".to_owned(),
    ] {
        let (status, message) = served.refused(&query);
        assert_eq!(status, 400, "{message}");
    }
    // Text that doubles thirty times over.
    let doubling = "SELECT c || c AS c FROM (".repeat(9)
        + "SELECT obs_id || obs_id || obs_id || obs_id || access_url || access_url AS c \
           FROM ivoa.obscore"
        + &") AS x".repeat(9);
    let (status, message) = served.refused(&doubling);
    assert_eq!((status, message.as_str()), (400, "|| makes texts that are too long"));
    is_well(&served);
}

#[test]
fn no_statement_and_no_file_is_reached() {
    let served = Served::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret.csv");
    std::fs::write(&file, "a\n1\n").unwrap();
    let path = file.to_str().unwrap();
    for query in [
        format!("COPY ivoa.obscore TO '{path}'"),
        format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{path}'"),
        format!("SELECT * FROM '{path}'"),
        format!("SELECT * FROM \"{path}\""),
        format!("SELECT * FROM \"file://{path}\""),
        format!("SELECT * FROM read_csv('{path}')"),
        format!("SELECT read_text('{path}')"),
        "CREATE TABLE t AS SELECT 1 AS a".to_owned(),
        "CREATE VIEW v AS SELECT 1 AS a".to_owned(),
        "INSERT INTO ivoa.obscore SELECT * FROM ivoa.obscore".to_owned(),
        "DELETE FROM ivoa.obscore".to_owned(),
        "DROP TABLE ivoa.obscore".to_owned(),
        "SET datafusion.execution.batch_size = 1".to_owned(),
        "SHOW ALL".to_owned(),
        "SELECT * FROM information_schema.tables".to_owned(),
        "SELECT * FROM generate_series(1, 1000000000)".to_owned(),
        "SELECT repeat('x', 1000000000)".to_owned(),
        "SELECT version()".to_owned(),
        "SELECT * FROM UNNEST(ARRAY[1, 2])".to_owned(),
        "SELECT 1; DROP TABLE ivoa.obscore".to_owned(),
        "PREPARE p AS SELECT 1".to_owned(),
        "EXPLAIN ANALYZE SELECT 1".to_owned(),
    ] {
        let (status, message) = served.refused(&query);
        assert_eq!(status, 400, "{query}: {message}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "a\n1\n");
    for path in ["/tap/../../etc/passwd", "/tap/tables/..%2F..%2Fetc%2Fpasswd", "/etc/passwd"] {
        assert_eq!(served.client.get(path).status, 404, "{path}");
    }
    is_well(&served);
}

#[test]
fn bodies_are_bounded() {
    let served = Served::with(Options { body: 10_000, ..Options::default() });
    let long = "x".repeat(50_000);
    assert_eq!(served.ask(&[("QUERY", &long)]).status, 413);
    assert_eq!(served.client.post("/tap/async", &[("QUERY", &long)]).status, 413);
    is_well(&served);
}

#[test]
fn slow_clients_are_left_alone() {
    let short = Duration::from_millis(200);
    let options = Options { header_timeout: short, body_timeout: short, ..Options::default() };
    let served = Served::with(options);
    // A head that never ends: the connection is closed.
    let mut head = served.client.connect();
    head.write_all(b"GET /tap/sync HTTP/1.1\r\nHost: local").unwrap();
    let mut rest = Vec::new();
    let _ = head.read_to_end(&mut rest);
    assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"), "{rest:?}");
    // A body that never comes.
    let mut body = served.client.connect();
    let text = "POST /tap/sync HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\
        Content-Type: application/x-www-form-urlencoded\r\n\r\nQUERY";
    body.write_all(text.as_bytes()).unwrap();
    assert_eq!(read(body).status, 408);
    is_well(&served);
}

#[test]
fn broken_requests_are_refused() {
    let served = Served::new();
    for request in ["nonsense\r\n\r\n", "GET\r\n\r\n", "GET /tap HTTP/9.9\r\n\r\n"] {
        let mut stream = served.client.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 400"), "{request:?}");
    }
    let kind = "multipart/form-data; boundary=xx";
    for body in ["", "--xx", "--xx\r\nno head", "--xx\r\nX: y\r\n\r\nz\r\n--xx--"] {
        assert_eq!(served.client.send("POST", "/tap/sync", kind, body).status, 400, "{body:?}");
    }
    is_well(&served);
}

#[test]
fn a_client_that_goes_away_gives_back_its_place() {
    let served = Served::with(Options { pool: 1, ..within(Duration::from_secs(50)) });
    let slow = "SELECT COUNT(*) FROM ivoa.obscore a, ivoa.obscore b, ivoa.obscore c \
         WHERE a.s_ra + b.s_ra + c.s_ra > 1";
    let body = form(&[("QUERY", slow), ("FORMAT", "csv")]);
    let mut stream = served.client.connect();
    let head = format!(
        "POST /tap/sync HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // It has the only place once another has to wait.
    std::thread::sleep(Duration::from_millis(200));
    drop(stream);
    is_well(&served);
}

#[test]
fn memory_is_bounded() {
    let served = Served::with(Options { memory: 4 << 20, ..Options::default() });
    let (status, message) = served.refused(
        "SELECT a.obs_id, b.access_url, COUNT(*) FROM ivoa.obscore a, ivoa.obscore b \
         GROUP BY a.obs_id, b.access_url",
    );
    assert_eq!(status, 503, "{message}");
    assert!(message.contains("memory"), "{message}");
    is_well(&served);
}

#[test]
fn the_queue_is_bounded() {
    let served = Served::with(Options {
        pool: 1,
        queue: 1,
        delay: Duration::from_millis(1500),
        ..Options::default()
    });
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let asking: Vec<_> =
            (0..6).map(|_| scope.spawn(|| served.query("csv", "SELECT 1 AS a").status)).collect();
        asking.into_iter().map(|asking| asking.join().unwrap()).collect()
    });
    let count = |wanted| statuses.iter().filter(|&&status| status == wanted).count();
    assert!(count(200) >= 1 && count(503) >= 1 && count(200) + count(503) == 6, "{statuses:?}");
}

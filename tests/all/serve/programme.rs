//! The program that serves: how it starts, its other shapes, how it stops.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tapstat::target::tap::{Options, TapServer};

use super::client::Client;
use super::{Served, table};
use crate::support::{PROGRAM, Sandbox};

/// Ends the program if a test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn it_says_where_it_is_and_stops_when_told() {
    let sandbox = Sandbox::new();
    table::write(&sandbox.path("corpus"), &table::obscore());
    for signal in ["TERM", "INT"] {
        let mut command = Command::new(PROGRAM);
        command.arg("serve").arg("--corpus").arg(sandbox.path("corpus"));
        let mut running = Running(command.stdout(Stdio::piped()).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(running.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim_end();
        let port = url.strip_prefix("http://localhost:").unwrap().strip_suffix("/tap").unwrap();
        let client = Client::new(([127, 0, 0, 1], port.parse().unwrap()).into());
        let form = [("QUERY", "SELECT COUNT(*) AS n FROM ivoa.obscore"), ("FORMAT", "csv")];
        assert_eq!(client.post("/tap/sync", &form).text(), "n\r\n3000\r\n");
        let told = Command::new("kill")
            .arg(format!("-{signal}"))
            .arg(running.0.id().to_string())
            .status()
            .unwrap();
        assert!(told.success());
        assert_eq!(running.0.wait().unwrap().code(), Some(0), "SIG{signal}");
    }
}

#[test]
fn what_cannot_be_served_is_refused() {
    let sandbox = Sandbox::new();
    let start = |directory: &str| {
        TapServer::start(&sandbox.path(directory), Options::default()).unwrap_err().to_string()
    };
    assert!(start("none").ends_with("obscore.parquet: cannot open the table of the corpus"));
    std::fs::create_dir(sandbox.path("text")).unwrap();
    std::fs::write(sandbox.path("text/obscore.parquet"), "no table").unwrap();
    assert!(start("text").contains("obscore.parquet: "));
    let whole = table::obscore();
    let part = whole.project(&(0..29).collect::<Vec<_>>()).unwrap();
    table::write(&sandbox.path("part"), &part);
    let message = start("part");
    assert!(
        message.ends_with("the column `instrument_name` is missing, which ObsCore 1.1 requires")
    );
    let none = Options { pool: 0, ..Options::default() };
    let error = TapServer::start_with(&whole, none).unwrap_err();
    assert_eq!(error.to_string(), "pool is 0: expected a number from 1 up");
    let served = Served::new();
    let taken = Options { port: served.server.address().port(), ..Options::default() };
    let error = TapServer::start_with(&whole, taken).unwrap_err();
    assert!(error.to_string().starts_with("cannot listen on 127.0.0.1:"), "{error}");
}

#[test]
fn it_can_send_on_to_the_answer() {
    let served = Served::with(Options { redirect: true, ..Options::default() });
    let response = served.query("csv", "SELECT COUNT(*) AS n FROM ivoa.obscore");
    assert_eq!(response.status, 303);
    let url = response.header("location").unwrap();
    let path = url.strip_prefix(served.server.base_url()).unwrap();
    let answer = served.client.get(&format!("/tap{path}"));
    assert_eq!((answer.status, answer.text().as_str()), (200, "n\r\n3000\r\n"));
    assert_eq!(served.client.get(&format!("/tap{path}")).status, 404, "once");
}

#[test]
fn a_pool_of_one_answers_one_after_the_other() {
    let delay = Duration::from_millis(50);
    let served = Served::with(Options { pool: 1, delay, ..Options::default() });
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(served.query("csv", "SELECT 1 AS a").status, 200));
        }
    });
    // Each of them waits in its place: no machine is so fast.
    assert!(start.elapsed() >= delay * 4);
}

#[test]
fn it_stops_while_a_query_runs_and_its_port_is_free() {
    let served = Served::new();
    let slow = "SELECT COUNT(*) FROM ivoa.obscore a, ivoa.obscore b, ivoa.obscore c \
         WHERE a.s_ra + b.s_ra + c.s_ra > 1";
    let form = [("QUERY", slow), ("PHASE", "RUN")];
    assert_eq!(served.client.post("/tap/async", &form).status, 303);
    let address = served.server.address();
    drop(served.server);
    let again = Options { port: address.port(), ..Options::default() };
    let server = TapServer::start_with(&table::obscore(), again).unwrap();
    assert_eq!(Client::new(address).get("/tap/availability").status, 200);
    server.stop();
    assert!(std::net::TcpStream::connect(address).is_err());
}

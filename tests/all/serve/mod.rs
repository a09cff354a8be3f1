//! The embedded TAP server, asked over the loopback by a raw client.

mod adql;
mod client;
mod hostile;
mod jobs;
mod programme;
mod shapes;
mod sync;
mod table;
mod votable;

use std::time::Duration;

use tapstat::target::tap::{Options, TapServer};

use client::{Client, Response};

/// A server of the table of the tests, and a client of it.
struct Served {
    server: TapServer,
    client: Client,
}

impl Served {
    fn new() -> Self {
        Self::with(Options::default())
    }

    fn with(options: Options) -> Self {
        let options = Options { threads: 2, ..options };
        let server = TapServer::start_with(&table::obscore(), options).unwrap();
        let client = Client::new(server.address());
        Self { server, client }
    }

    /// The answer to a query, in a format.
    fn query(&self, format: &str, query: &str) -> Response {
        self.ask(&[("LANG", "ADQL"), ("RESPONSEFORMAT", format), ("QUERY", query)])
    }

    /// The answer to a form of parameters.
    fn ask(&self, form: &[(&str, &str)]) -> Response {
        self.client.post("/tap/sync", form)
    }

    /// The lines of the answer in CSV, without the header.
    fn rows(&self, query: &str) -> Vec<Vec<String>> {
        let response = self.query("csv", query);
        assert_eq!(response.status, 200, "{query}: {}", response.text());
        let mut reader = csv::Reader::from_reader(&response.body[..]);
        let rows = reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect());
        rows.collect()
    }

    /// The one value of an answer.
    fn value(&self, query: &str) -> String {
        let rows = self.rows(query);
        assert_eq!(rows.len(), 1, "{query}");
        assert_eq!(rows[0].len(), 1, "{query}");
        rows[0][0].clone()
    }

    /// What an error says, and its status.
    fn refused(&self, query: &str) -> (u16, String) {
        let response = self.query("csv", query);
        (response.status, votable::status(&response.text()).unwrap().1)
    }
}

/// Options under which a query may take so long.
fn within(timeout: Duration) -> Options {
    Options { timeout, ..Options::default() }
}

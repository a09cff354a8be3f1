//! The targets file: where each target is, how it is started, checked and
//! stopped, and which containers or processes are its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::commands::{Command, Hooks};
use super::error::CampaignError;
use crate::load::LoadError;
use crate::load::sampler::Source;
use crate::load::spec::{self, Endpoint, TlsOptions};

/// A targets file as it is read.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Targets {
    /// The targets by name.
    #[serde(default)]
    pub target: BTreeMap<String, Target>,
    /// The folder that relative paths start from, and that hooks run in.
    #[serde(skip)]
    pub folder: PathBuf,
    /// The file's text, for the run directory.
    #[serde(skip)]
    pub text: String,
}

/// What a target speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// TAP: ADQL, MAXREC and RESPONSEFORMAT on every request.
    #[default]
    Tap,
    /// Plain HTTP: method, path, headers and body as the corpus has them.
    Http,
}

/// The version of HTTP that is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
pub enum HttpVersion {
    /// HTTP/1.1.
    #[default]
    #[serde(rename = "1.1")]
    One,
    /// HTTP/2: over TLS by ALPN, in the clear by prior knowledge.
    #[serde(rename = "2")]
    Two,
}

/// One deployed server.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The software that it runs; the target's own name where it is left out.
    pub server: Option<String>,
    /// Where it is: of a TAP service, the URL that `/sync` is appended to.
    pub base_url: String,
    /// Anything that readers of the run should know.
    pub notes: Option<String>,
    /// What it speaks.
    #[serde(default)]
    pub kind: Kind,
    /// The version of HTTP.
    #[serde(default)]
    pub http_version: HttpVersion,
    /// A Unix socket to connect to, in place of the URL's host.
    pub unix_socket: Option<PathBuf>,
    /// How its certificate is judged, if the URL is `https:`.
    #[serde(default)]
    pub tls: Tls,
    /// Headers of every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Its containers and process groups by name: those that are sampled.
    #[serde(default)]
    pub containers: BTreeMap<String, Source>,
    /// The one of them that answers HTTP.
    pub api: Option<String>,
    /// Whether the processes of `api` at a window's end are recorded as the
    /// rung's instances.
    #[serde(default)]
    pub count_instances: bool,
    /// Event loops of each instance, where instances are counted and their number
    /// is prescribed; where a scaler decides on it, this is left out.
    pub instance_loops: Option<i64>,
    /// The log of whatever adds and removes instances: its new lines become events.
    pub scaler_log: Option<PathBuf>,
    /// What is run around its rungs.
    #[serde(default)]
    pub hooks: Hooks,
    /// Commands whose output is kept under `pins/`, by name.
    #[serde(default)]
    pub pins: BTreeMap<String, Command>,
}

/// How a certificate is judged.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    /// A PEM file of certificates to trust beside the system's.
    pub ca: Option<PathBuf>,
    /// The name to ask for, in place of the URL's host.
    pub server_name: Option<String>,
    /// Trust any certificate.
    pub insecure: bool,
}

impl Targets {
    /// Reads a targets file.
    ///
    /// # Errors
    /// If it cannot be read, is no TOML, has an unknown key, or says what cannot be.
    pub fn read(path: &Path) -> Result<Self, CampaignError> {
        let text = std::fs::read_to_string(path).map_err(CampaignError::io(path))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        Self::parse(text, &path.display().to_string(), folder.unwrap_or(Path::new(".")))
    }

    /// Parses a targets file; `origin` names it in errors.
    ///
    /// # Errors
    /// As [`Targets::read`].
    pub fn parse(text: String, origin: &str, folder: &Path) -> Result<Self, CampaignError> {
        let wrong = |message: String| CampaignError::Targets { origin: origin.to_owned(), message };
        let mut targets: Self = toml::from_str(&text)
            .map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
        for (name, target) in &targets.target {
            if let Some((key, message)) = target.problem(name) {
                let key = if key.is_empty() { String::new() } else { format!(".{key}") };
                return Err(wrong(format!("`target.{name}{key}` {message}")));
            }
        }
        targets.check_containers().map_err(wrong)?;
        folder.clone_into(&mut targets.folder);
        targets.text = text;
        Ok(targets)
    }

    /// A name means one container: two targets may share it, if they agree on
    /// what it is.
    fn check_containers(&self) -> Result<(), String> {
        let mut known: BTreeMap<&str, (&str, &Source)> = BTreeMap::new();
        for (name, target) in &self.target {
            for (container, source) in &target.containers {
                let (first, other) = *known.entry(container).or_insert((name, source));
                if other != source {
                    return Err(format!(
                        "`target.{name}.containers.{container}` is another container than \
                         `target.{first}` has under this name"
                    ));
                }
            }
        }
        Ok(())
    }

    /// A container of the file, with its path from the file's folder.
    pub fn source(&self, source: &Source) -> Source {
        let pid_file = source.pid_file.as_ref().map(|path| self.path(path));
        Source { pid_file, ..source.clone() }
    }

    /// A path of the file, from its folder.
    pub fn path(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }
}

impl Target {
    /// The software that it runs.
    pub fn server<'a>(&'a self, name: &'a str) -> &'a str {
        self.server.as_deref().unwrap_or(name)
    }

    /// Where requests go: the base URL, or another one of the same server, by
    /// the target's socket and with its judgement of certificates. Relative
    /// paths start from `folder`.
    ///
    /// # Errors
    /// If the URL cannot be used.
    pub fn endpoint(&self, url: &str, folder: &Path) -> Result<Endpoint, LoadError> {
        let mut endpoint = Endpoint::parse(url)?;
        if let Some(socket) = &self.unix_socket {
            endpoint.unix = Some(folder.join(socket));
        }
        endpoint.http = match self.http_version {
            HttpVersion::One => spec::HttpVersion::Http1,
            HttpVersion::Two => spec::HttpVersion::Http2,
        };
        endpoint.tls = TlsOptions {
            roots: self.tls.ca.as_ref().map(|path| folder.join(path)),
            insecure: self.tls.insecure,
            server_name: self.tls.server_name.clone(),
        };
        Ok(endpoint)
    }

    /// What of it decides what is measured, for the run's environment.
    pub fn description(&self, name: &str) -> Value {
        json!({
            "server": self.server(name), "base_url": self.base_url, "notes": self.notes,
            "kind": self.kind, "http_version": self.http_version,
            "unix_socket": self.unix_socket, "headers": self.headers.keys().collect::<Vec<_>>(),
            "api": self.api, "count_instances": self.count_instances,
            "containers": self.containers,
        })
    }

    /// The first thing that cannot be, as (key, message).
    fn problem(&self, name: &str) -> Option<(String, String)> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if name.is_empty() || !name.bytes().all(fits) {
            let message = "is not fit for a file's name: expected letters, digits, `.`, `_`, `-`";
            return Some((String::new(), message.to_owned()));
        }
        let problem = |key: &str, message: String| Some((key.to_owned(), message));
        if let Err(message) = check_url(&self.base_url) {
            return problem("base_url", format!("cannot be used: {message}"));
        }
        if let Some(api) = &self.api
            && !self.containers.contains_key(api)
        {
            return problem("api", format!("is `{api}`, which is none of its containers"));
        }
        if self.count_instances && self.api.is_none() {
            return problem("count_instances", "needs `api`, whose processes are counted".into());
        }
        if let Some(loops) = self.instance_loops
            && (loops < 1 || !self.count_instances)
        {
            let message = format!("is {loops}: expected 1 or more, beside `count_instances`");
            return problem("instance_loops", message);
        }
        for (container, source) in &self.containers {
            if let Err(message) = source.check() {
                return problem(&format!("containers.{container}"), message);
            }
        }
        if let Some(pin) = self.pins.keys().find(|pin| pin.is_empty() || !pin.bytes().all(fits)) {
            return problem("pins", format!("has `{pin}`, which is not fit for a file's name"));
        }
        self.hooks.problem()
    }
}

/// Refuses what cannot be measured.
pub(super) fn check_url(url: &str) -> Result<(), String> {
    Endpoint::parse(url).map(|_| ()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::commands::{PATIENCE, Ready};
    use super::*;

    fn parse(text: &str) -> Result<Targets, String> {
        let text = format!("[target.a]\n{text}\n");
        Targets::parse(text, "targets.toml", Path::new("/x")).map_err(|error| error.to_string())
    }

    const URL: &str = "base_url = \"http://localhost:80/tap\"";

    #[test]
    fn a_url_is_enough() {
        let targets = parse(URL).unwrap();
        let target = &targets.target["a"];
        assert_eq!((target.server("a"), target.kind), ("a", Kind::Tap));
        assert_eq!(targets.path(Path::new("b")), Path::new("/x/b"));
    }

    #[test]
    fn hooks_are_texts_or_tables() {
        let targets = parse(&format!(
            "{URL}\n[target.a.hooks]\nstart = \"up\"\nstop = {{ run = \"down\", timeout_seconds = 5 }}\n\
             ready = \"http://localhost/ok\"\nverify = [{{ name = \"n\", run = \"x\", equals = \"1\" }}]"
        ))
        .unwrap();
        let hooks = &targets.target["a"].hooks;
        let (start, stop) = (hooks.start.as_ref().unwrap(), hooks.stop.as_ref().unwrap());
        assert_eq!((start.run(), start.timeout_seconds()), ("up", PATIENCE));
        assert_eq!((stop.run(), stop.timeout_seconds()), ("down", 5.0));
        let ready = hooks.ready.as_ref().unwrap();
        assert_eq!((ready.url(), ready.run()), (Some("http://localhost/ok"), None));
        assert_eq!(hooks.verify[0].timeout_seconds, PATIENCE);
        let command = Ready::Text("test -f ok".into());
        assert_eq!((command.url(), command.run()), (None, Some("test -f ok")));
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (text, expected) in [
            (
                "base_url = \"localhost\"",
                "`target.a.base_url` cannot be used: `localhost` is no URL",
            ),
            (&format!("{URL}\ncolour = 1"), "unknown field `colour`"),
            (&format!("{URL}\napi = \"x\""), "`target.a.api` is `x`, which is none of its"),
            (&format!("{URL}\ncount_instances = true"), "`target.a.count_instances` needs `api`"),
            (&format!("{URL}\nhooks.warm_seconds = 0"), "`target.a.hooks.warm_seconds` is 0"),
            (&format!("{URL}\nhooks.ready = {{ timeout_seconds = 1 }}"), "needs either `url` or"),
            (&format!("{URL}\nhooks.start = 5"), "expected a command, or a table of `run`"),
            (&format!("{URL}\ncontainers.x = {{ children = true }}"), "`target.a.containers.x` "),
            (&format!("{URL}\npins.\"a/b\" = \"x\""), "`target.a.pins` has `a/b`"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.starts_with("targets.toml: "), "{message}");
            assert!(message.contains(expected), "{message}");
        }
        let two = format!(
            "{URL}\ncontainers.c = {{ pid = 1 }}\n[target.b]\n{URL}\ncontainers.c = {{ pid = 2 }}"
        );
        assert!(parse(&two).unwrap_err().contains("another container than `target.a` has"));
    }
}

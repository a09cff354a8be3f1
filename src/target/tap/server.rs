//! The server: its threads, its connections, its end.

use std::convert::Infallible;
use std::fmt;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use arrow::array::RecordBatch;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};

use super::answer::Pool;
use super::app::{App, Shared, router};
use super::data::corpus::Corpus;
use super::engine::Engine;
use super::error::TapError;
use super::options::Options;
use super::redirect::Redirects;
use super::uws::{Jobs, sweep};

/// The stack of each thread: queries are walked recursively.
const STACK: usize = 64 << 20;
/// How long answers that are being sent may take once the server stops.
const GRACE: Duration = Duration::from_secs(2);

/// A TAP server that runs on threads of its own until it is stopped or dropped.
pub struct TapServer {
    base_url: String,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for TapServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TapServer").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

impl TapServer {
    /// Starts to serve the corpus of a directory, which holds `obscore.parquet`.
    /// The server answers when this returns.
    ///
    /// # Errors
    /// If there is no such table, or the address cannot be listened on.
    pub fn start(corpus: &Path, options: Options) -> Result<Self, TapError> {
        Self::serve(Corpus::read(corpus)?, options)
    }

    /// Starts to serve an ObsCore table from memory.
    ///
    /// # Errors
    /// As [`TapServer::start`].
    pub fn start_with(table: &RecordBatch, options: Options) -> Result<Self, TapError> {
        Self::serve(Corpus::new(table)?, options)
    }

    fn serve(corpus: Corpus, options: Options) -> Result<Self, TapError> {
        check(&options)?;
        let engine = Engine::new(corpus, options.memory)?;
        let address = SocketAddr::new(options.listen, options.port);
        let listen = |source| TapError::Listen { address: address.to_string(), source };
        let listener = TcpListener::bind(address).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let base_url = match &options.base_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("http://{}:{}/tap", host(address.ip()), address.port()),
        };
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(2, usize::from),
            threads => threads,
        };
        let runtime = |name: &str| {
            tokio::runtime::Builder::new_multi_thread()
                .worker_threads(threads)
                .thread_name(name)
                .thread_stack_size(STACK)
                .enable_all()
                .build()
                .map_err(TapError::Runtime)
        };
        let (connections, workers) = (runtime("tap-http")?, runtime("tap-query")?);
        let stopping = Arc::new(AtomicBool::new(false));
        let app = Arc::new(App {
            pool: Pool::new(options.pool, options.queue, options.delay),
            jobs: Jobs::new(options.jobs, options.results),
            redirects: Redirects::default(),
            base_url: base_url.clone(),
            up_since: SystemTime::now(),
            engine,
            workers: workers.handle().clone(),
            stopping: Arc::clone(&stopping),
            options,
        });
        let (stop, stopped) = watch::channel(false);
        let serving = move || {
            connections.block_on(accept(listener, app, stopped));
            stopping.store(true, Ordering::Relaxed);
            connections.shutdown_timeout(GRACE);
            workers.shutdown_timeout(GRACE);
        };
        let thread = std::thread::Builder::new()
            .name("tap-accept".to_owned())
            .spawn(serving)
            .map_err(TapError::Runtime)?;
        Ok(Self { base_url, address, stop, thread: Some(thread) })
    }

    /// Where the service is: `http://localhost:N/tap`.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops: answers that are being sent get two seconds to end.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            // A panic has said what it has to say.
            let _ = thread.join();
        }
    }
}

impl Drop for TapServer {
    fn drop(&mut self) {
        self.end();
    }
}

fn check(options: &Options) -> Result<(), TapError> {
    let counts = [
        ("pool", options.pool),
        ("max-rows", options.max_rows),
        ("connections", options.connections),
        ("jobs", options.jobs),
    ];
    match counts.iter().find(|(_, count)| *count == 0 || *count > Semaphore::MAX_PERMITS) {
        Some((name, count)) => {
            Err(TapError::Option(format!("{name} is {count}: expected a number from 1 up")))
        }
        None => Ok(()),
    }
}

/// How clients on this machine name an address.
fn host(ip: IpAddr) -> String {
    match ip {
        _ if ip.is_loopback() || ip.is_unspecified() => "localhost".to_owned(),
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// Accepts connections until the server is stopped, and then waits for those
/// that are open.
async fn accept(listener: TcpListener, app: Shared, mut stopped: watch::Receiver<bool>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let connections = Arc::new(Semaphore::new(app.options.connections));
    let idle = app.options.header_timeout;
    let told = stopped.clone();
    let routes = router(Arc::clone(&app));
    let sweeper = tokio::spawn(sweep(Arc::clone(&app)));
    loop {
        let accepting = async {
            let place = Arc::clone(&connections).acquire_owned().await;
            (place, listener.accept().await)
        };
        let stopping = stopped.wait_for(|stopped| *stopped);
        tokio::select! {
            biased;
            _ = stopping => break,
            (place, accepted) = accepting => match accepted {
                Ok((stream, _)) => {
                    let connection = connection(stream, routes.clone(), idle, told.clone());
                    tokio::spawn(async move {
                        connection.await;
                        drop(place);
                    });
                }
                // Out of file descriptors, most likely: some will be free soon.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
        }
    }
    drop(listener);
    sweeper.abort();
    let all = u32::try_from(app.options.connections).unwrap_or(u32::MAX);
    let _ = tokio::time::timeout(GRACE, connections.acquire_many(all)).await;
}

/// Serves one connection.
async fn connection(
    stream: TcpStream,
    router: Router,
    idle: Duration,
    mut stopped: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let service = TowerToHyperService::new(router);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(idle)
        .max_buf_size(256 << 10)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let stopping = async {
        let _ = stopped.wait_for(|stopped| *stopped).await;
    };
    let result: Result<(), hyper::Error> = tokio::select! {
        result = connection.as_mut() => result,
        () = stopping => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    // A client that broke off is nobody's loss.
    let _: Result<(), Infallible> = result.or(Ok(()));
}

//! Answering a query: its turn, its rows, its bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arrow::array::RecordBatch;
use datafusion::physical_plan::SendableRecordBatchStream;
use futures::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::ask::Ask;
use super::engine::{Engine, explain, too_long};
use super::error::Refusal;
use super::format::{Encoder, End};
use super::watch::Watch;

/// Rows that are written at once, between which others get their turn.
const STEP: usize = 1024;

/// The places of queries that are answered at the same time.
#[derive(Debug)]
pub struct Pool {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    queue: usize,
    delay: Duration,
}

/// Counts one that waits, as long as it is there.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pool {
    /// A pool of some places, a queue of some length, and what each query waits
    /// once it has its place.
    pub fn new(places: usize, queue: usize, delay: Duration) -> Self {
        let places = Arc::new(Semaphore::new(places));
        Self { places, waiting: AtomicUsize::new(0), queue, delay }
    }

    /// Waits for a place.
    ///
    /// # Errors
    /// If too many wait already, or the time is up.
    pub async fn enter(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, Refusal> {
        let count = self.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting(&self.waiting);
        let places = Arc::clone(&self.places);
        let place = match places.try_acquire_owned() {
            Ok(place) => place,
            Err(_) if count >= self.queue => {
                return Err(Refusal::busy("too many queries wait already: try again later"));
            }
            Err(_) => {
                let place = timeout_at(deadline, Arc::clone(&self.places).acquire_owned()).await;
                let place = place.map_err(|_| Refusal::busy("the query waited too long"))?;
                place.map_err(|_| Refusal::busy("the server stops"))?
            }
        };
        drop(waiting);
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        Ok(place)
    }
}

/// An answer that is being written.
pub struct Answer {
    stream: Option<SendableRecordBatchStream>,
    encoder: Encoder,
    /// Rows that were read and are not written yet.
    batch: Option<RecordBatch>,
    /// Rows that may still be written.
    left: usize,
    watch: Arc<Watch>,
    started: bool,
    _place: OwnedSemaphorePermit,
}

/// What came of writing on.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// There is more to come.
    More,
    /// That was all.
    Done,
    /// It failed after the first bytes, and the bytes say so.
    Failed(String),
    /// It failed after the first bytes, and the format cannot say so.
    Broken(String),
}

impl Answer {
    /// Starts to answer a query that has its place.
    ///
    /// # Errors
    /// If the query cannot be answered.
    pub async fn start(
        engine: &Engine,
        ask: &Ask,
        place: OwnedSemaphorePermit,
        watch: Arc<Watch>,
    ) -> Result<Self, Refusal> {
        let rows = timeout_at(watch.deadline(), engine.query(&ask.query, ask.rows, &watch)).await;
        let rows = rows.map_err(|_| too_long())??;
        Ok(Self {
            stream: rows.stream,
            encoder: Encoder::new(ask.format, &rows.schema, &ask.query),
            batch: None,
            left: ask.rows,
            watch,
            started: false,
            _place: place,
        })
    }

    /// When the time of the query is up.
    pub fn deadline(&self) -> Instant {
        self.watch.deadline()
    }

    /// Appends to the bytes until there are so many, or all are there.
    ///
    /// # Errors
    /// If the query fails before the first byte is handed out.
    pub async fn write(&mut self, out: &mut Vec<u8>, enough: usize) -> Result<Step, Refusal> {
        let is_first = !self.started;
        if is_first {
            self.started = true;
            self.encoder.head(out);
        }
        loop {
            let end = match self.next().await {
                Ok(Some(batch)) => {
                    self.left -= batch.num_rows();
                    self.encoder.rows(&batch, out);
                    if out.len() >= enough {
                        return Ok(Step::More);
                    }
                    continue;
                }
                Ok(None) if self.left == 0 && (self.stream.is_none() || self.batch.is_some()) => {
                    End::Overflow
                }
                Ok(None) => End::Complete,
                Err(refusal) if is_first => return Err(refusal),
                Err(refusal) => End::Failed(refusal.message),
            };
            let can_say = self.encoder.tail(&end, out);
            return Ok(match end {
                End::Failed(message) if can_say => Step::Failed(message),
                End::Failed(message) => Step::Broken(message),
                _ => Step::Done,
            });
        }
    }

    /// The next rows to write; none at the end, where rows that were one too
    /// many are left in `batch`.
    async fn next(&mut self) -> Result<Option<RecordBatch>, Refusal> {
        loop {
            if let Some(batch) = self.batch.take() {
                let rows = batch.num_rows().min(STEP).min(self.left);
                if rows == 0 {
                    // Nothing more may be written: is there a row too many?
                    if batch.num_rows() > 0 {
                        self.batch = Some(batch);
                        return Ok(None);
                    }
                } else {
                    let rest = batch.num_rows() - rows;
                    self.batch = (rest > 0).then(|| batch.slice(rows, rest));
                    return Ok(Some(batch.slice(0, rows)));
                }
            }
            let Some(stream) = &mut self.stream else { return Ok(None) };
            if let Some(reason) = self.watch.over() {
                return Err(Refusal { message: reason.to_owned(), ..too_long() });
            }
            match timeout_at(self.watch.deadline(), stream.next()).await {
                Err(_) => return Err(too_long()),
                Ok(None) => return Ok(None),
                Ok(Some(Err(error))) => return Err(explain(&error)),
                Ok(Some(Ok(batch))) => self.batch = Some(batch),
            }
        }
    }
}

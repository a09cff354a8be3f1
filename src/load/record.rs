//! One request as it is held in memory while a rung runs: 32 bytes.

/// Nanoseconds since the rung's clock was started.
pub type Nanos = u64;

/// No time: the first byte of a response that never came.
pub const NEVER: Nanos = Nanos::MAX;

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)+) => {
        /// Why a request failed: a closed set. [`Fault::None`] is a response that
        /// came whole, of whatever status.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        #[repr(u8)]
        pub enum Fault {
            /// It did not.
            #[default]
            None,
            $($(#[$doc])* $name,)+
        }

        impl Fault {
            /// Every fault, in the order of their codes; `None` comes first.
            pub const ALL: &[Self] = &[Self::None, $(Self::$name,)+];

            /// The name in samples and events; empty for none.
            pub fn name(self) -> &'static str {
                match self {
                    Self::None => "",
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

faults! {
    /// No connection: refused, unreachable.
    Connect = "connect",
    /// No connection in time.
    ConnectTimeout = "connect_timeout",
    /// No TLS session: certificate, version, ALPN.
    Tls = "tls",
    /// The request could not be written.
    Send = "send",
    /// No whole response in time: no byte of it came.
    TimeoutHead = "timeout_head",
    /// No whole response in time: it broke off.
    TimeoutBody = "timeout_body",
    /// The server reset the connection before the response's head was whole.
    ResetHead = "reset_head",
    /// The server reset the connection in the response's body.
    ResetBody = "reset_body",
    /// The server closed the connection before the response's head was whole.
    ClosedHead = "closed_head",
    /// The server closed the connection before the body was as long as announced.
    ClosedBody = "closed_body",
    /// The head is no HTTP, or longer than 64 KiB.
    BadHead = "bad_head",
    /// The body's framing is wrong: a chunk size that is none, bytes after the end.
    BadBody = "bad_body",
    /// More redirects than are followed.
    Redirects = "redirects",
    /// A redirect without a place, or to one that is not followed.
    RedirectTarget = "redirect_target",
    /// The checked body is not the expected one: its digest differs.
    CheckDigest = "check_digest",
    /// The checked body has another number of rows.
    CheckRows = "check_rows",
    /// The checked body has another status than expected.
    CheckStatus = "check_status",
    /// The checked body is a VOTable whose QUERY_STATUS is ERROR.
    QueryError = "query_error",
    /// The checked body could not be read as what it should be.
    CheckFormat = "check_format",
    /// An asynchronous job ended in ERROR.
    JobError = "job_error",
    /// An asynchronous job ended in ABORTED, or was held or archived.
    JobAborted = "job_aborted",
    /// An asynchronous job was not made, or did not answer as UWS says.
    JobProtocol = "job_protocol",
    /// HTTP/2: the stream was reset by the server.
    StreamReset = "stream_reset",
    /// HTTP/2: the server refused or left the stream unprocessed (GOAWAY, REFUSED_STREAM).
    Unprocessed = "unprocessed",
    /// HTTP/2: the connection broke its protocol.
    Http2 = "http2",
    /// It was under way when the drain time was over, or the rung was stopped.
    Aborted = "aborted",
}

/// A duration of nanoseconds in 32 bits: 27 significant bits and a shift. Exact
/// up to 0.134 s, and to 1 part in 67 million above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span(u32);

impl Span {
    const NEVER: Self = Self(u32::MAX);
    const BITS: u32 = 27;

    #[inline]
    fn new(nanos: Nanos) -> Self {
        let shift = (Nanos::BITS - nanos.leading_zeros()).saturating_sub(Self::BITS);
        // 2^57 ns are four years.
        if shift > 30 { Self::NEVER } else { Self(((nanos >> shift) as u32) << 5 | shift) }
    }

    #[inline]
    fn get(self) -> Option<Nanos> {
        (self != Self::NEVER).then(|| Nanos::from(self.0 >> 5) << (self.0 & 31))
    }
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Record {
    intended: Nanos,
    late: Span,
    first_byte: Span,
    service: Span,
    bytes_low: u32,
    query: u16,
    connection: u16,
    /// Ten bits of status, then flags.
    status: u16,
    fault: Fault,
    bytes_high: u8,
}

const STATUS: u16 = (1 << 10) - 1;
const CHECKED: u16 = 1 << 10;
const FRESH: u16 = 1 << 11;
const RETRIED: u16 = 1 << 12;

/// How a request ended, as a transport says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ending {
    /// HTTP status; 0 where no head came.
    pub status: u16,
    pub fault: Fault,
    /// Bytes of the body, transfer coding taken off; of all the responses' last one.
    pub bytes: u64,
    /// Connection within the worker.
    pub connection: u16,
    /// Whether the body was read whole and checked.
    pub checked: bool,
    /// Whether a connection was made for it.
    pub fresh: bool,
    /// Whether it was sent a second time, the kept connection having been closed.
    pub retried: bool,
}

/// The times of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// When it should have started.
    pub intended: Nanos,
    /// When it did.
    pub start: Nanos,
    /// [`NEVER`] if none came.
    pub first_byte: Nanos,
    pub end: Nanos,
}

impl Record {
    /// A request of that number in the workload.
    #[inline]
    pub fn new(query: u16, times: Times, ending: Ending) -> Self {
        let since = |time: Nanos| time.saturating_sub(times.start);
        let first_byte = if times.first_byte == NEVER {
            Span::NEVER
        } else {
            Span::new(since(times.first_byte))
        };
        let flag = |is_set: bool, flag: u16| if is_set { flag } else { 0 };
        let bytes = ending.bytes.min((1 << 40) - 1);
        Self {
            intended: times.intended,
            late: Span::new(times.start.saturating_sub(times.intended)),
            first_byte,
            service: Span::new(since(times.end)),
            bytes_low: bytes as u32,
            query,
            connection: ending.connection,
            status: ending.status & STATUS
                | flag(ending.checked, CHECKED)
                | flag(ending.fresh, FRESH)
                | flag(ending.retried, RETRIED),
            fault: ending.fault,
            bytes_high: (bytes >> 32) as u8,
        }
    }

    /// Its number in the workload.
    pub fn query(&self) -> usize {
        self.query.into()
    }

    /// When it should have started.
    pub fn intended(&self) -> Nanos {
        self.intended
    }

    /// When it did start.
    pub fn start(&self) -> Nanos {
        self.intended + self.late()
    }

    /// How much later than intended it started.
    pub fn late(&self) -> Nanos {
        self.late.get().unwrap_or(NEVER)
    }

    /// From its start to the first byte.
    pub fn first_byte(&self) -> Option<Nanos> {
        self.first_byte.get()
    }

    /// From its start to its end: service time.
    pub fn service(&self) -> Nanos {
        self.service.get().unwrap_or(NEVER)
    }

    /// From its intended start to its end: response time.
    pub fn response(&self) -> Nanos {
        self.late() + self.service()
    }

    /// When it ended.
    pub fn end(&self) -> Nanos {
        self.intended + self.response()
    }

    /// HTTP status, if a head came.
    pub fn status(&self) -> Option<u16> {
        Some(self.status & STATUS).filter(|status| *status > 0)
    }

    /// Why it failed.
    pub fn fault(&self) -> Fault {
        self.fault
    }

    /// Whether it came whole, with a status below 400, and passed its check if it had one.
    pub fn succeeded(&self) -> bool {
        self.fault == Fault::None && (1..400).contains(&(self.status & STATUS))
    }

    /// Says that it failed: the check of its body was made after it.
    pub fn refuse(&mut self, fault: Fault) {
        self.fault = fault;
    }

    /// Bytes of the body.
    pub fn bytes(&self) -> u64 {
        u64::from(self.bytes_high) << 32 | u64::from(self.bytes_low)
    }

    /// Its connection within the worker.
    pub fn connection(&self) -> u16 {
        self.connection
    }

    /// Whether its body was read whole and checked.
    pub fn checked(&self) -> bool {
        self.status & CHECKED != 0
    }

    /// Whether a connection was made for it.
    pub fn fresh(&self) -> bool {
        self.status & FRESH != 0
    }

    /// Whether it was sent a second time.
    pub fn retried(&self) -> bool {
        self.status & RETRIED != 0
    }
}

/// Records of one worker. They grow by blocks that are never moved: no request
/// waits for a copy of those before it.
#[derive(Debug, Default)]
pub struct Records {
    blocks: Vec<Vec<Record>>,
}

/// Records of a block: 2 MiB.
const BLOCK: usize = 64 << 10;

impl Records {
    /// With room for a first block.
    pub fn new() -> Self {
        Self { blocks: vec![Vec::with_capacity(BLOCK)] }
    }

    /// Adds one.
    #[inline]
    pub fn push(&mut self, record: Record) {
        match self.blocks.last_mut() {
            Some(block) if block.len() < BLOCK => block.push(record),
            _ => self.grow(record),
        }
    }

    #[cold]
    fn grow(&mut self, record: Record) {
        let mut block = Vec::with_capacity(BLOCK);
        block.push(record);
        self.blocks.push(block);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The one of that number, from 0.
    pub fn get_mut(&mut self, number: usize) -> Option<&mut Record> {
        self.blocks.get_mut(number / BLOCK)?.get_mut(number % BLOCK)
    }

    /// All of them, in the order of their ends.
    pub fn iter(&self) -> impl Iterator<Item = &Record> {
        self.blocks.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_takes_32_bytes() {
        assert_eq!(size_of::<Record>(), 32);
    }

    #[test]
    fn spans_are_exact_where_latencies_are() {
        for nanos in [0, 1, 999, (1 << 27) - 1, 1 << 27] {
            assert_eq!(Span::new(nanos).get(), Some(nanos));
        }
        for nanos in [(1 << 27) + 1, 987_654_321, 86_400_000_000_000_u64, (1 << 57) - 1] {
            let found = Span::new(nanos).get().unwrap();
            assert!(found <= nanos && (nanos - found) as f64 / (nanos as f64) < 1.5e-8, "{nanos}");
        }
        assert_eq!(Span::new(NEVER).get(), None);
    }

    #[test]
    fn a_record_gives_what_it_was_given() {
        let times = Times { intended: 5_000, start: 7_000, first_byte: 8_000, end: 9_500 };
        let ending = Ending {
            status: 503,
            fault: Fault::ClosedBody,
            bytes: (1 << 39) + 17,
            connection: 65_535,
            checked: true,
            fresh: false,
            retried: true,
        };
        let record = Record::new(65_535, times, ending);
        assert_eq!((record.query(), record.connection()), (65_535, 65_535));
        assert_eq!((record.intended(), record.start(), record.end()), (5_000, 7_000, 9_500));
        assert_eq!((record.late(), record.service(), record.response()), (2_000, 2_500, 4_500));
        assert_eq!(record.first_byte(), Some(1_000));
        assert_eq!((record.status(), record.fault()), (Some(503), Fault::ClosedBody));
        assert_eq!(record.bytes(), (1 << 39) + 17);
        assert!(record.checked() && !record.fresh() && record.retried() && !record.succeeded());
    }

    #[test]
    fn faults_have_names_of_their_own() {
        let names: std::collections::BTreeSet<_> = Fault::ALL.iter().map(|f| f.name()).collect();
        assert_eq!(names.len(), Fault::ALL.len());
        for (code, fault) in Fault::ALL.iter().enumerate() {
            assert_eq!(*fault as usize, code);
        }
    }

    #[test]
    fn records_grow_by_whole_blocks() {
        let mut records = Records::new();
        let times = Times { intended: 0, start: 0, first_byte: NEVER, end: 1 };
        for query in 0..=BLOCK {
            records.push(Record::new(query as u16, times, Ending::default()));
        }
        assert_eq!((records.len(), records.blocks.len()), (BLOCK + 1, 2));
        records.get_mut(BLOCK).unwrap().refuse(Fault::CheckRows);
        assert!(records.get_mut(BLOCK + 1).is_none());
        assert_eq!(records.iter().filter(|record| record.fault() != Fault::None).count(), 1);
        let last = records.iter().last().unwrap();
        assert_eq!(last.fault(), Fault::CheckRows);
        assert_eq!((last.query(), last.first_byte(), last.status()), (BLOCK & 0xffff, None, None));
    }
}

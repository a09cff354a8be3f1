//! The fields of a request.

/// A field that samples may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Field {
    TStart,
    TOffered,
    QueryClass,
    QueryId,
    Status,
    Error,
    Latency,
    Ttfb,
    ResponseBytes,
    Rows,
    Pod,
    Mode,
    RequestId,
    /// Known, but the file's own name says it: `run` and `rung`.
    Key,
    /// Not known: read past, and named in a warning.
    Unknown,
}

/// Number of fields, for tables indexed by one.
pub(super) const FIELDS: usize = 15;

impl Field {
    /// The fields that a column of `requests` takes, in its order.
    pub(super) const STORED: [Self; 13] = [
        Self::TStart,
        Self::TOffered,
        Self::QueryClass,
        Self::QueryId,
        Self::Status,
        Self::Error,
        Self::Latency,
        Self::Ttfb,
        Self::ResponseBytes,
        Self::Rows,
        Self::Pod,
        Self::Mode,
        Self::RequestId,
    ];

    /// The name in files and in the table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::TStart => "t_start",
            Self::TOffered => "t_offered",
            Self::QueryClass => "query_class",
            Self::QueryId => "query_id",
            Self::Status => "status",
            Self::Error => "error",
            Self::Latency => "latency_s",
            Self::Ttfb => "ttfb_s",
            Self::ResponseBytes => "response_bytes",
            Self::Rows => "rows",
            Self::Pod => "pod",
            Self::Mode => "mode",
            Self::RequestId => "request_id",
            Self::Key => "rung",
            Self::Unknown => "",
        }
    }

    /// The field of that name.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "run" | "rung" => Self::Key,
            _ => {
                Self::STORED.into_iter().find(|field| field.name() == name).unwrap_or(Self::Unknown)
            }
        }
    }
}

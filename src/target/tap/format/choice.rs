//! Which format an answer is asked for in.

/// How VOTable lays out rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serialization {
    /// Elements of text.
    TableData,
    /// Bytes in base64.
    Binary2,
}

/// A format of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values.
    Csv {
        /// Whether the first line has the names of the columns.
        header: bool,
    },
    /// Tab-separated values.
    Tsv,
    /// VOTable.
    Votable(Serialization),
}

/// Formats as the capabilities list them: media type, short names, standard id.
pub const OFFERED: [(&str, &[&str], &str); 5] = [
    (
        "application/x-votable+xml",
        &["votable"],
        "ivo://ivoa.net/std/TAPRegExt#output-votable-binary2",
    ),
    (
        "application/x-votable+xml;serialization=TABLEDATA",
        &["votable/td"],
        "ivo://ivoa.net/std/TAPRegExt#output-votable-td",
    ),
    (
        "application/x-votable+xml;serialization=BINARY2",
        &["votable/b2"],
        "ivo://ivoa.net/std/TAPRegExt#output-votable-binary2",
    ),
    ("text/csv;header=present", &["csv"], ""),
    ("text/tab-separated-values", &["tsv"], ""),
];

impl Format {
    /// What is answered where nothing is asked for.
    pub const DEFAULT: Self = Self::Votable(Serialization::Binary2);

    /// The format of a media type or short name; `None` for one that is not
    /// offered.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let mut parts = text.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let parameters: Vec<(&str, &str)> = parts
            .filter_map(|part| part.split_once('='))
            .map(|(key, value)| (key.trim(), value.trim().trim_matches('"')))
            .collect();
        let parameter =
            |name: &str| parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        match name {
            "csv" | "text/csv" => Some(Self::Csv { header: parameter("header") != Some("absent") }),
            "tsv" | "text/tab-separated-values" => Some(Self::Tsv),
            "votable/td" => Some(Self::Votable(Serialization::TableData)),
            "votable/b2" => Some(Self::Votable(Serialization::Binary2)),
            "votable" | "application/x-votable+xml" | "text/xml" | "application/xml" => {
                match parameter("serialization") {
                    None => Some(Self::DEFAULT),
                    Some("tabledata") => Some(Self::Votable(Serialization::TableData)),
                    Some("binary2") => Some(Self::Votable(Serialization::Binary2)),
                    Some(_) => None,
                }
            }
            _ => None,
        }
    }

    /// The media type of answers.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Csv { header: true } => "text/csv;header=present;charset=UTF-8",
            Self::Csv { header: false } => "text/csv;header=absent;charset=UTF-8",
            Self::Tsv => "text/tab-separated-values;charset=UTF-8",
            Self::Votable(Serialization::TableData) => {
                "application/x-votable+xml;serialization=TABLEDATA"
            }
            Self::Votable(Serialization::Binary2) => {
                "application/x-votable+xml;serialization=BINARY2"
            }
        }
    }
}

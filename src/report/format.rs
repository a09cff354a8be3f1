//! The forms that an answer can take.

use std::path::Path;

/// A form of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Tables for people, fitted to the terminal.
    Table,
    /// The same tables as Markdown.
    Markdown,
    /// Rows as comma-separated values, with a header.
    Csv,
    /// Rows as one JSON array of objects.
    Json,
    /// Rows as JSON objects, one a line.
    Ndjson,
    /// Rows as Apache Parquet.
    Parquet,
    /// Rows as Arrow IPC: the file format in a file, the stream format on stdout.
    Arrow,
}

impl Format {
    /// The format that a file of this name is expected to have, by its suffix.
    pub fn from_suffix(path: &Path) -> Option<Self> {
        let suffix = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match suffix.as_str() {
            "txt" => Self::Table,
            "md" | "markdown" => Self::Markdown,
            "csv" => Self::Csv,
            "json" => Self::Json,
            "ndjson" | "jsonl" => Self::Ndjson,
            "parquet" => Self::Parquet,
            "arrow" | "feather" | "ipc" => Self::Arrow,
            _ => return None,
        })
    }

    /// Whether people read it as a page: rounded figures, headings, footnotes.
    /// The others are rows for programs.
    pub fn is_page(self) -> bool {
        matches!(self, Self::Table | Self::Markdown)
    }

    /// Whether it is no text, and would garble a terminal.
    pub fn is_binary(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_name_formats() {
        let format = |name: &str| Format::from_suffix(Path::new(name));
        assert_eq!(format("out/cells.csv"), Some(Format::Csv));
        assert_eq!(format("cells.JSONL"), Some(Format::Ndjson));
        assert_eq!(format("cells.v2.parquet"), Some(Format::Parquet));
        assert_eq!(format("cells.xlsx"), None);
        assert_eq!(format("csv"), None);
    }
}

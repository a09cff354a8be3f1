use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Float64Type, Int64Type};
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tempfile::TempDir;

use super::columns::{COLUMNS, Kind as ColumnKind};
use super::*;

fn corpus(rows: u64, seed: u64) -> (TempDir, About) {
    let folder = tempfile::tempdir().unwrap();
    let about = write(folder.path(), rows, seed, |_| ()).unwrap();
    (folder, about)
}

fn queries(folder: &TempDir) -> Vec<Query> {
    Corpus::read(&folder.path().join(QUERIES)).unwrap().queries
}

#[test]
fn the_same_bytes_everywhere() {
    let (folder, about) = corpus(1000, SEED);
    // Another digest of the CSV is another corpus: figures measured with it
    // cannot be compared with those before.
    assert_eq!(about.files.csv, "17a099bc092ead709c586581bcaf529b2429c495e5eb15012c97bc1a28ff784d");
    assert_eq!(
        about.files.queries,
        "34b975fa5daa37d78e611a45e058af1b45fec068e40da7cb1d0c776d249aa1e4"
    );
    for (file, digest) in [
        (TABLE_CSV, &about.files.csv),
        (TABLE_PARQUET, &about.files.parquet),
        (QUERIES, &about.files.queries),
    ] {
        let bytes = fs::read(folder.path().join(file)).unwrap();
        assert_eq!(hex(&<sha2::Sha256 as sha2::Digest>::digest(&bytes)), *digest, "{file}");
    }
    let (_again, same) = corpus(1000, SEED);
    assert_eq!(about, same);
    let (_other, other) = corpus(1000, SEED + 1);
    assert_ne!(about.files.csv, other.files.csv);
    assert_ne!(about.files.queries, other.files.queries);
}

#[test]
fn a_longer_table_starts_with_the_shorter() {
    let (short, _) = corpus(200, 7);
    let (long, _) = corpus(300, 7);
    let read = |folder: &TempDir| fs::read_to_string(folder.path().join(TABLE_CSV)).unwrap();
    assert!(read(&long).starts_with(&read(&short)));
}

#[test]
fn both_files_hold_the_same_values() {
    let (folder, _) = corpus(500, 3);
    let file = File::open(folder.path().join(TABLE_PARQUET)).unwrap();
    let mut reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let batch = reader.next().unwrap().unwrap();
    let mut csv = csv::Reader::from_path(folder.path().join(TABLE_CSV)).unwrap();
    let names: Vec<String> = csv.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(names, COLUMNS.map(|(name, _)| name.to_owned()));
    let records: Vec<csv::StringRecord> = csv.records().map(Result::unwrap).collect();
    assert_eq!((records.len(), batch.num_rows()), (500, 500));
    for (place, (name, kind)) in COLUMNS.iter().enumerate() {
        let column = batch.column(place);
        for (row, record) in records.iter().enumerate() {
            let text = &record[place];
            assert_eq!(column.is_null(row), text.is_empty(), "{name} of row {row}");
            if column.is_null(row) {
                continue;
            }
            match kind {
                ColumnKind::Text => assert_eq!(column.as_string::<i32>().value(row), text),
                ColumnKind::Int => {
                    let value = column.as_primitive::<Int64Type>().value(row);
                    assert_eq!(value, text.parse::<i64>().unwrap());
                }
                ColumnKind::Float => {
                    let value = column.as_primitive::<Float64Type>().value(row);
                    assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
                }
            }
        }
    }
}

#[test]
fn values_are_those_of_obscore() {
    let observations = observation::Observations::new(SEED);
    let mut nulls: BTreeMap<&str, usize> = BTreeMap::new();
    let mut values: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for number in 1..=4000 {
        let row = observations.row(number);
        for ((name, _), cell) in COLUMNS.iter().zip(row.cells()) {
            match cell {
                columns::Cell::Null => *nulls.entry(name).or_default() += 1,
                other => {
                    values.entry(name).or_default().insert(format!("{other:?}"));
                }
            }
        }
        if let Some((ra, dec)) = row.position {
            assert!((0.0..360.0).contains(&ra) && (-90.0..=90.0).contains(&dec));
        }
        if let Some((start, end)) = row.times {
            assert!(start <= end && start >= observation::TIMES.0 && end <= observation::TIMES.1);
        }
        assert!(0.0 < row.em_min && row.em_min < row.em_max, "{row:?}");
        for value in [row.em_min, row.em_max, row.s_resolution] {
            // Single precision keeps what is written.
            let single = format!("{}", value as f32).parse::<f64>().unwrap();
            assert_eq!(single, value);
        }
    }
    for name in ["s_ra", "t_min", "access_estsize", "target_name", "facility_name", "t_resolution"]
    {
        assert!(nulls.contains_key(name), "{name} is never null");
    }
    for name in ["calib_level", "obs_collection", "obs_id", "obs_publisher_did", "access_url"] {
        assert!(!nulls.contains_key(name), "{name} is null");
    }
    for (name, _) in COLUMNS {
        assert!(values.get(name).is_some_and(|found| found.len() > 1), "{name} is always the same");
    }
    assert_eq!(values["obs_publisher_did"].len(), 4000);
    assert!(values["target_name"].iter().any(|name| name.contains("\\\"")), "no quotes");
}

#[test]
fn classes_and_their_combinations() {
    let (folder, about) = corpus(2000, SEED);
    let corpus = Corpus::read(&folder.path().join(QUERIES)).unwrap();
    assert_eq!(corpus.sha256, Some(about.files.queries));
    let counts: BTreeMap<&str, usize> =
        corpus.classes().iter().map(|(class, queries)| (*class, queries.len())).collect();
    let parametrised = ["Q02", "Q03", "Q04", "Q05", "Q06", "Q07", "Q10", "Q11", "Q12", "Q13"];
    let mut expected: BTreeMap<&str, usize> =
        parametrised.map(|class| (class, classes::COMBINATIONS)).into();
    assert_eq!(expected.values().sum::<usize>(), 400);
    expected.insert("Q01", 1);
    assert_eq!(counts, expected);
    for query in &corpus.queries {
        let adql = query.adql.as_ref().unwrap();
        assert_eq!(query.query_id, query_id(adql));
        assert_eq!(query.portable, !adql.contains("BOX("), "{adql}");
        assert!(query.query_class == "Q01" || !query.params.is_empty(), "{adql}");
    }
    let text: String = corpus.queries.iter().filter_map(|query| query.adql.as_deref()).collect();
    for (name, _) in COLUMNS {
        assert!(text.contains(name), "no query names {name}");
    }
}

/// A query of the corpus as SQL, with cones spelt out.
fn sql(adql: &str) -> String {
    let mut sql = adql.replace("ivoa.obscore", "obscore");
    for alias in ["a.", ""] {
        let point = format!("CONTAINS(POINT('ICRS', {alias}s_ra, {alias}s_dec), CIRCLE('ICRS', ");
        while let Some(start) = sql.find(&point) {
            let rest = &sql[start + point.len()..];
            let (numbers, _) = rest.split_once("))").unwrap();
            let [ra, dec, radius]: [&str; 3] =
                numbers.split(", ").collect::<Vec<_>>().try_into().unwrap();
            let half = |angle: String| format!("power(sin(radians({angle}) / 2), 2)");
            let distance = format!(
                "{} + cos(radians({alias}s_dec)) * cos(radians({dec})) * {}",
                half(format!("{alias}s_dec - ({dec})")),
                half(format!("{alias}s_ra - {ra}"))
            );
            let inside = format!(
                "CASE WHEN {distance} <= {} THEN 1 WHEN {alias}s_ra IS NOT NULL THEN 0 END",
                half(radius.to_owned())
            );
            let end = start + point.len() + numbers.len() + "))".len();
            sql.replace_range(start..end, &format!("({inside})"));
        }
    }
    if let Some(start) = sql.find("DISTANCE(") {
        let end = sql.find(" AS separation").unwrap();
        sql.replace_range(start..end, "s_dec");
    }
    if let Some(rest) = sql.strip_prefix("SELECT TOP ") {
        let (top, rest) = rest.split_once(' ').unwrap();
        sql = format!("SELECT {rest} LIMIT {top}");
    }
    sql
}

#[test]
fn expected_rows_are_what_a_query_engine_finds() {
    let (folder, _) = corpus(8000, SEED);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut found = BTreeMap::<String, Vec<u64>>::new();
    runtime.block_on(async {
        let session = SessionContext::new();
        let path = folder.path().join(TABLE_PARQUET);
        let table = ParquetReadOptions::default();
        session.register_parquet("obscore", path.to_str().unwrap(), table).await.unwrap();
        for query in queries(&folder) {
            let adql = query.adql.as_ref().unwrap();
            if query.kind() == Kind::Metadata || !query.portable {
                continue;
            }
            let answer =
                session.sql(&sql(adql)).await.unwrap_or_else(|error| panic!("{error}: {adql}"));
            let rows = answer.count().await.unwrap() as u64;
            let (least, most) = (query.rows_min.unwrap(), query.rows_max.unwrap());
            assert!(query.expects(rows), "{rows} rows, expected {least} to {most}: {adql}");
            assert!(most - least <= 1, "{least} to {most}: {adql}");
            found.entry(query.query_class.clone()).or_default().push(rows);
        }
    });
    for (class, rows) in &found {
        let mean = rows.iter().sum::<u64>() as f64 / rows.len() as f64;
        let with_rows = rows.iter().filter(|rows| **rows > 0).count();
        eprintln!("{class}: {mean:.1} rows on average, {with_rows} of {} with any", rows.len());
        assert!(with_rows * 2 > rows.len(), "{class} finds hardly anything: {rows:?}");
    }
    assert!(found["Q02"].iter().all(|rows| matches!(rows, 1 | 5)));
    assert!(found["Q11"].iter().all(|rows| *rows > 5800));
    assert!(found["Q13"].iter().all(|rows| *rows > 3));
}

#[test]
fn bad_numbers_of_rows_and_bad_queries() {
    let folder = tempfile::tempdir().unwrap();
    for rows in [0, ROWS_MIN - 1, ROWS_MAX + 1] {
        let error = write(folder.path(), rows, 1, |_| ()).unwrap_err().to_string();
        assert_eq!(error, format!("a table of {rows} rows: expected 100 to 99999999"));
    }
    let path = folder.path().join("corpus.jsonl");
    let good = r#"{"query_id": "a", "query_class": "Q", "adql": "SELECT 1 FROM t"}"#;
    for (text, expected) in [
        (String::new(), ":1: no query in it"),
        (format!("{good}\n{good}\n"), ":2: query `a` is on line 1 already"),
        (format!("{good}\n{{\n"), ":2: EOF while parsing"),
        (
            r#"{"query_id": "a", "query_class": "Q"}"#.into(),
            ":1: query `a` has no `adql` and no `path`",
        ),
        (r#"{"query_id": "a"}"#.into(), ":1: missing field `query_class`"),
    ] {
        fs::write(&path, text).unwrap();
        let error = Corpus::read(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    fs::write(&path, good).unwrap();
    let corpus = Corpus::read(&path).unwrap();
    assert_eq!(corpus.queries[0].kind(), Kind::Rows);
    assert!(corpus.queries[0].portable && corpus.queries[0].expects(12));
}

//! Queries that are answered at once: formats, parameters, errors.

use std::time::Duration;

use tapstat::target::tap::Options;

use super::client::form;
use super::{Served, table, votable, within};

const ALL: &str = "SELECT TOP 3000 * FROM ivoa.obscore ORDER BY obs_id";

#[test]
fn csv_has_the_values_of_the_table() {
    let served = Served::new();
    let rows = served.rows(
        "SELECT obs_publisher_did, target_name, s_ra, s_dec, access_estsize, s_xel2, t_exptime \
         FROM ivoa.obscore ORDER BY obs_id",
    );
    assert_eq!(rows.len(), table::ROWS);
    for (row, found) in rows.iter().enumerate() {
        assert_eq!(found[0], table::publisher_did(row));
        assert_eq!(found[1], table::target(row).unwrap_or_default());
        let place = table::place(row);
        let number = |text: &str| text.parse::<f64>().ok();
        assert_eq!(number(&found[2]), place.map(|place| place.0));
        assert_eq!(number(&found[3]), place.map(|place| place.1));
        let size = if row % 7 == 0 { String::new() } else { (row * 1000).to_string() };
        assert_eq!(found[4], size);
        assert_eq!(found[5], "");
        assert_eq!(found[6], if row == 8 { "NaN".to_owned() } else { format!("{row}.0") });
    }
}

#[test]
fn every_format_says_the_same() {
    let served = Served::new();
    let csv = served.rows(ALL);
    let binary = votable::read(&served.query("votable", ALL).text());
    let text = votable::read(&served.query("votable/td", ALL).text());
    for table in [&binary, &text] {
        assert_eq!(table.before.as_deref(), Some("OK"));
        assert_eq!(table.after, None);
        assert_eq!(table.fields.len(), 30);
        assert_eq!(table.rows.len(), csv.len());
    }
    for (row, expected) in csv.iter().enumerate() {
        for (column, expected) in expected.iter().enumerate() {
            let expected = Some(expected.as_str()).filter(|text| !text.is_empty());
            let found = binary.rows[row][column].as_deref();
            assert_eq!(found.filter(|text| !text.is_empty()), expected, "{row} {column}");
            assert_eq!(text.rows[row][column].as_deref(), expected, "{row} {column}");
        }
    }
    // What TABLEDATA cannot tell apart, BINARY2 and CSV can.
    let target = 8;
    assert_eq!(binary.attribute(target, "name"), Some("target_name"));
    assert_eq!(binary.rows[3][target].as_deref(), Some(""));
    assert_eq!(binary.rows[5][target], None);
}

#[test]
fn columns_are_described() {
    let served = Served::new();
    let query = "SELECT obs_id, s_ra AS ra, target_name, s_region, POINT('ICRS', s_ra, s_dec) AS p, \
         calib_level, access_estsize, s_fov, COUNT(*) OVER_NOT FROM ivoa.obscore \
         GROUP BY obs_id, s_ra, target_name, s_region, s_dec, calib_level, access_estsize, s_fov";
    let found = votable::read(&served.query("votable/td", query).text());
    let expected = [
        ("obs_id", "char", Some("*"), None, Some("meta.id"), None),
        ("ra", "double", None, Some("deg"), Some("pos.eq.ra"), None),
        // Not all of it is ASCII.
        ("target_name", "unicodeChar", Some("*"), None, Some("meta.id;src"), None),
        ("s_region", "char", Some("*"), None, Some("pos.outline;obs.field"), Some("adql:REGION")),
        ("p", "double", Some("2"), None, None, Some("point")),
        ("calib_level", "int", None, None, Some("meta.code;obs.calib"), None),
        ("access_estsize", "long", None, Some("kbyte"), Some("phys.size;meta.file"), None),
        ("s_fov", "float", None, Some("deg"), Some("phys.angSize;instr.fov"), None),
        ("over_not", "long", None, None, None, None),
    ];
    assert_eq!(found.fields.len(), expected.len());
    for (index, (name, datatype, arraysize, unit, ucd, xtype)) in expected.into_iter().enumerate() {
        let get = |attribute| found.attribute(index, attribute);
        assert_eq!(get("name"), Some(name));
        assert_eq!(get("datatype"), Some(datatype), "{name}");
        assert_eq!(get("arraysize"), arraysize, "{name}");
        assert_eq!(get("unit"), unit, "{name}");
        assert_eq!(get("ucd"), ucd, "{name}");
        assert_eq!(get("xtype"), xtype, "{name}");
    }
    let utype = "obscore:Char.SpatialAxis.Coverage.Location.Coord.Position2D.Value2.C1";
    assert_eq!(found.attribute(1, "utype"), Some(utype));
}

#[test]
fn maxrec_cuts_off_and_says_so() {
    let served = Served::with(Options { default_rows: 100, max_rows: 500, ..Options::default() });
    let ask = |maxrec: &str, query: &str| {
        let response =
            served.ask(&[("QUERY", query), ("MAXREC", maxrec), ("FORMAT", "votable/td")]);
        assert_eq!(response.status, 200);
        votable::read(&response.text())
    };
    let query = "SELECT obs_id FROM ivoa.obscore";
    for (maxrec, query, rows, overflow) in [
        ("", query, 100, true),
        ("7", query, 7, true),
        ("400", query, 400, true),
        ("100000", query, 500, true),
        ("0", query, 0, true),
        ("7", "SELECT TOP 7 obs_id FROM ivoa.obscore", 7, false),
        ("8", "SELECT TOP 7 obs_id FROM ivoa.obscore", 7, false),
        ("6", "SELECT TOP 7 obs_id FROM ivoa.obscore", 6, true),
        ("5", "SELECT obs_id FROM ivoa.obscore WHERE s_ra < -1", 0, false),
    ] {
        let table = ask(maxrec, query);
        assert_eq!(table.rows.len(), rows, "MAXREC={maxrec} {query}");
        let status = overflow.then_some("OVERFLOW");
        assert_eq!(table.after.as_deref(), status, "MAXREC={maxrec} {query}");
        assert_eq!(table.fields.len(), 1);
    }
}

#[test]
fn parameters_know_no_case_and_come_in_url_form_or_parts() {
    let served = Served::new();
    let query = "SELECT TOP 1 obs_id FROM ivoa.obscore WHERE obs_id = 'obs-00042'";
    let url = form(&[("Query", query), ("lang", "ADQL-2.0"), ("responseFormat", "csv")]);
    let expected = "obs_id\r\nobs-00042\r\n";
    assert_eq!(served.client.get(&format!("/tap/sync?{url}")).text(), expected);
    let parts = [("lang", "adql"), ("request", "doQuery"), ("qUeRy", query), ("Format", "csv")];
    assert_eq!(served.ask(&parts).text(), expected);
    let body = format!(
        "--xx\r\nContent-Disposition: form-data; name=\"QUERY\"\r\n\r\n{query}\r\n\
         --xx\r\nContent-Disposition: form-data; name=\"FORMAT\"\r\n\r\ncsv\r\n--xx--\r\n"
    );
    let kind = "multipart/form-data; boundary=xx";
    assert_eq!(served.client.send("POST", "/tap/sync", kind, &body).text(), expected);
}

#[test]
fn what_is_not_understood_is_refused_in_a_votable() {
    let served = Served::new();
    let query = ("QUERY", "SELECT TOP 1 obs_id FROM ivoa.obscore");
    for (parameter, part) in [
        (("LANG", "SQL"), "unknown LANG"),
        (("REQUEST", "getSome"), "unknown REQUEST"),
        (("VERSION", "3"), "unknown VERSION"),
        (("FORMAT", "fits"), "unknown RESPONSEFORMAT"),
        (("MAXREC", "-1"), "MAXREC"),
        (("MAXREC", "many"), "MAXREC"),
        (("UPLOAD", "t,http://x.example/t"), "UPLOAD"),
        (("QUERY", "SELECT 2"), "given twice"),
    ] {
        let response = served.ask(&[query, parameter]);
        assert_eq!(response.status, 400, "{parameter:?}");
        assert_eq!(response.header("content-type"), Some("application/x-votable+xml"));
        let (value, message) = votable::status(&response.text()).unwrap();
        assert_eq!(value, "ERROR");
        assert!(message.contains(part), "{parameter:?}: {message}");
    }
    let (status, message) = served.refused("");
    assert_eq!((status, message.as_str()), (400, "QUERY is missing"));
    let (status, message) = served.refused("SELECT nothing FROM ivoa.obscore");
    assert_eq!(status, 400);
    assert!(message.starts_with("No field named nothing."), "{message}");
    assert_eq!(served.refused("SELECT 1/0 AS a FROM tap_schema.schemas").1, "Divide by zero error");
    assert_eq!(served.client.get("/nowhere").status, 404);
}

#[test]
fn errors_can_have_the_status_200() {
    let served = Served::with(Options { errors_as_ok: true, ..Options::default() });
    let response = served.query("csv", "SELECT nothing FROM ivoa.obscore");
    assert_eq!(response.status, 200);
    assert_eq!(votable::status(&response.text()).unwrap().0, "ERROR");
}

#[test]
fn a_failure_midway_is_flagged() {
    let served = Served::new();
    // The row that fails comes when many were sent already.
    let query = "SELECT obs_id, access_url, 1 / (s_xel1 - 2990) AS x FROM \
         (SELECT TOP 3000 * FROM ivoa.obscore ORDER BY obs_id) AS o";
    let table = served.query("votable/td", query);
    let csv = served.query("csv", query);
    if table.status == 200 {
        assert_eq!(votable::status(&table.text()).unwrap().0, "ERROR");
        assert!(!csv.whole, "the body has no end");
    } else {
        assert_eq!(votable::status(&table.text()).unwrap().1, "Divide by zero error");
    }
}

#[test]
fn a_query_that_takes_too_long_ends() {
    let served = Served::with(within(Duration::from_millis(700)));
    let slow = "SELECT COUNT(*) FROM ivoa.obscore a, ivoa.obscore b, ivoa.obscore c \
         WHERE a.s_ra + b.s_ra + c.s_ra > 1";
    let (status, message) = served.refused(slow);
    assert_eq!((status, message.as_str()), (504, "the query took too long"));
    assert_eq!(served.value("SELECT COUNT(*) FROM ivoa.obscore"), "3000");
}

#[test]
fn a_row_of_one_null_is_a_row_in_csv() {
    let served = Served::new();
    let query = "SELECT s_xel2 FROM ivoa.obscore WHERE s_xel1 < 3";
    assert_eq!(served.query("csv", query).text(), "s_xel2\r\n\"\"\r\n\"\"\r\n\"\"\r\n");
    assert_eq!(served.rows(query).len(), 3);
}

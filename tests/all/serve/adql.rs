//! What ADQL has, each feature with the answer that it must have.

use super::{Served, table};

#[test]
fn features_of_adql_have_their_answers() {
    let served = Served::new();
    for (query, expected) in [
        ("SELECT TOP 2 obs_id FROM ivoa.obscore ORDER BY obs_id DESC", "obs-02999;obs-02998"),
        ("SELECT TOP 2 obs_id FROM ivoa.obscore ORDER BY obs_id OFFSET 3", "obs-00003;obs-00004"),
        ("SELECT DISTINCT obs_collection FROM ivoa.obscore ORDER BY obs_collection", "C0;C1;C2"),
        ("SELECT DISTINCT TOP 2 obs_collection FROM ivoa.obscore ORDER BY obs_collection", "C0;C1"),
        ("SELECT COUNT(*) FROM ivoa.obscore", "3000"),
        (
            "SELECT COUNT(dataproduct_type), COUNT(DISTINCT dataproduct_type) FROM ivoa.obscore",
            "2250,3",
        ),
        (
            "SELECT MIN(t_min), MAX(t_min), SUM(s_xel1) FROM ivoa.obscore",
            "50000.0,50374.875,4498500",
        ),
        (
            "SELECT dataproduct_type, COUNT(*) AS n FROM ivoa.obscore GROUP BY dataproduct_type \
             HAVING COUNT(*) > 1 ORDER BY dataproduct_type",
            "cube,750;image,750;spectrum,750;,750",
        ),
        ("SELECT COUNT(*) FROM ivoa.obscore WHERE t_min BETWEEN 50001 AND 50002", "9"),
        ("SELECT COUNT(*) FROM ivoa.obscore WHERE t_min NOT BETWEEN 50001 AND 50002", "2991"),
        ("SELECT COUNT(*) FROM ivoa.obscore WHERE obs_id LIKE 'obs-0000_'", "10"),
        ("SELECT COUNT(*) FROM ivoa.obscore WHERE obs_id NOT LIKE '%9'", "2700"),
        ("SELECT COUNT(*) FROM ivoa.obscore WHERE obs_id ILIKE 'OBS-0%'", "3000"),
        ("SELECT COUNT(*) FROM ivoa.obscore WHERE dataproduct_type IN ('image', 'cube')", "1500"),
        ("SELECT COUNT(*) FROM ivoa.obscore WHERE dataproduct_type NOT IN ('image')", "1500"),
        ("SELECT COUNT(*) FROM ivoa.obscore WHERE dataproduct_type IS NULL", "750"),
        (
            "SELECT CASE WHEN s_xel1 < 1 THEN 'none' WHEN s_xel1 < 2 THEN 'one' ELSE 'many' END AS n \
             FROM ivoa.obscore WHERE s_xel1 < 3 ORDER BY s_xel1",
            "none;one;many",
        ),
        (
            "SELECT COALESCE(dataproduct_type, 'x') FROM ivoa.obscore WHERE obs_id = 'obs-00003'",
            "x",
        ),
        (
            "SELECT obs_id FROM ivoa.obscore WHERE obs_publisher_did = 'ivo://test.example/obs?00077'",
            "obs-00077",
        ),
        (
            "SELECT obs_id FROM ivoa.obscore WHERE obs_publisher_did IN \
             ('ivo://test.example/obs?00077', 'ivo://test.example/obs?00007', 'no') ORDER BY 1",
            "obs-00007;obs-00077",
        ),
        ("SELECT COUNT(*) FROM ivoa.obscore WHERE obs_id = 'none'", "0"),
        (
            "SELECT MAX(x) FROM (SELECT TOP 5 s_xel1 AS x FROM ivoa.obscore ORDER BY s_xel1) AS s",
            "4",
        ),
        (
            "SELECT COUNT(*) FROM ivoa.obscore WHERE s_xel1 > (SELECT AVG(s_xel1) FROM ivoa.obscore)",
            "1500",
        ),
        (
            "SELECT COUNT(*) FROM ivoa.obscore o WHERE EXISTS (SELECT 1 FROM tap_schema.schemas s \
             WHERE s.schema_index = o.calib_level)",
            "1500",
        ),
        (
            "SELECT 1 AS a FROM tap_schema.schemas UNION SELECT 2 FROM tap_schema.schemas ORDER BY a",
            "1;2",
        ),
        (
            "SELECT TOP 1 schema_name FROM tap_schema.schemas UNION ALL \
             SELECT TOP 1 schema_name FROM tap_schema.schemas",
            "ivoa;ivoa",
        ),
        (
            "SELECT schema_name FROM tap_schema.schemas EXCEPT SELECT 'ivoa' FROM tap_schema.tables",
            "tap_schema",
        ),
        (
            "SELECT schema_name FROM tap_schema.schemas INTERSECT SELECT 'ivoa' FROM tap_schema.tables",
            "ivoa",
        ),
        (
            "WITH few AS (SELECT obs_id FROM ivoa.obscore WHERE s_xel1 < 3) SELECT COUNT(*) FROM few",
            "3",
        ),
        (
            "SELECT a.obs_id, b.obs_id FROM ivoa.obscore AS a JOIN ivoa.obscore AS b \
             ON a.s_xel1 = b.s_xel1 + 1 WHERE b.s_xel1 = 9",
            "obs-00010,obs-00009",
        ),
        (
            "SELECT COUNT(*) FROM ivoa.obscore LEFT OUTER JOIN tap_schema.schemas \
             ON calib_level = schema_index WHERE schema_name IS NULL",
            "1500",
        ),
        ("SELECT COUNT(*) FROM ivoa.obscore a JOIN ivoa.obscore b USING (obs_id)", "3000"),
        ("SELECT COUNT(*) FROM tap_schema.schemas a, tap_schema.schemas b", "4"),
        ("SELECT ivoa.obscore.obs_id FROM ivoa.obscore WHERE ivoa.obscore.s_xel1 = 4", "obs-00004"),
        ("SELECT \"obs_id\" FROM \"ivoa\".\"ObsCore\" AS o WHERE o.\"s_xel1\" = 4", "obs-00004"),
        ("SELECT OBS_ID FROM IVOA.OBSCORE WHERE S_XEL1 = 4 -- a comment", "obs-00004"),
        ("SELECT LOWER('AbC'), UPPER('abc'), 'a' || 'b' || 'c'", "abc,ABC,abc"),
        ("SELECT 'it''s'", "it's"),
        (
            "SELECT CAST('4' AS INTEGER), CAST(1.5 AS VARCHAR), CAST(7 AS DOUBLE PRECISION)",
            "4,1.5,7.0",
        ),
        ("SELECT 7 / 2, 7.0 / 2, 1 + 2 * 3, -(2)", "3,3.5,7,-2"),
    ] {
        let rows: Vec<String> = served.rows(query).iter().map(|row| row.join(",")).collect();
        assert_eq!(rows.join(";"), expected, "{query}");
    }
}

#[test]
fn functions_are_those_of_adql() {
    let served = Served::new();
    for (call, expected) in [
        ("ABS(-2)", 2.0),
        ("CEILING(1.2)", 2.0),
        ("FLOOR(-1.2)", -2.0),
        ("DEGREES(PI())", 180.0),
        ("RADIANS(180)", std::f64::consts::PI),
        ("EXP(1)", std::f64::consts::E),
        // The natural logarithm.
        ("LOG(10)", std::f64::consts::LN_10),
        ("LOG10(1000)", 3.0),
        ("MOD(7, 3)", 1.0),
        ("MOD(-7, 3)", -1.0),
        ("MOD(7.5, 2)", 1.5),
        ("POWER(2, 10)", 1024.0),
        ("SQRT(2)", std::f64::consts::SQRT_2),
        ("ROUND(2.567, 2)", 2.57),
        ("ROUND(2.5)", 3.0),
        ("ROUND(1234.5, -2)", 1200.0),
        ("TRUNCATE(2.567, 2)", 2.56),
        ("TRUNCATE(-2.567)", -2.0),
        ("SIN(PI()/2)", 1.0),
        ("COS(0)", 1.0),
        ("TAN(PI()/4)", 1.0),
        ("COT(PI()/4)", 1.0),
        ("ASIN(1)", std::f64::consts::FRAC_PI_2),
        ("ACOS(-1)", std::f64::consts::PI),
        ("ATAN(1)", std::f64::consts::FRAC_PI_4),
        // The ordinate first.
        ("ATAN2(1, 0)", std::f64::consts::FRAC_PI_2),
    ] {
        let found: f64 = served.value(&format!("SELECT {call} AS x")).parse().unwrap();
        assert!((found - expected).abs() < 1e-12, "{call}: {found} for {expected}");
    }
    let random = "SELECT COUNT(*) FROM ivoa.obscore WHERE RAND() >= 0 AND RAND() < 1";
    assert_eq!(served.value(random), "3000");
    assert_ne!(served.value("SELECT RAND() AS x"), served.value("SELECT RAND() AS x"));
    let unit = "SELECT IN_UNIT(s_ra, 'arcmin') FROM ivoa.obscore WHERE obs_id = 'obs-00003'";
    assert_eq!(served.value(unit).parse::<f64>().unwrap().round(), 7380.0);
    let (status, message) = served.refused("SELECT IN_UNIT(s_ra, 's') FROM ivoa.obscore");
    assert_eq!((status, message.as_str()), (400, "cannot convert from the unit 'deg' to 's'"));
}

#[test]
fn columns_of_an_answer_have_names_of_their_own() {
    let served = Served::new();
    let query = "SELECT TOP 1 s_ra, s_ra, COUNT(*), COUNT(obs_id), s_ra + 1, MAX(t_min) AS t \
         FROM ivoa.obscore GROUP BY s_ra";
    let text = served.query("csv", query).text();
    assert_eq!(text.lines().next(), Some("s_ra,s_ra_2,count,count_2,col,t"));
    let all =
        served.query("csv", "SELECT a.*, b.* FROM tap_schema.keys a, tap_schema.keys b").text();
    assert!(all.starts_with("key_id,from_table,target_table,utype,description,key_id_2,"), "{all}");
}

#[test]
fn tap_schema_describes_itself() {
    let served = Served::new();
    let tables = served.rows("SELECT table_name FROM tap_schema.tables ORDER BY table_index");
    assert_eq!(tables.len(), 6);
    for table in tables {
        let name = &table[0];
        let described = served.rows(&format!(
            "SELECT column_name, datatype, arraysize FROM tap_schema.columns \
             WHERE table_name = '{name}' ORDER BY column_index"
        ));
        let text = served.query("votable/td", &format!("SELECT TOP 1 * FROM {name}")).text();
        let found = super::votable::read(&text);
        assert_eq!(found.fields.len(), described.len(), "{name}");
        for (index, column) in described.iter().enumerate() {
            let get = |attribute| found.attribute(index, attribute).unwrap_or_default();
            assert_eq!(get("name"), column[0].trim_matches('"'));
            assert_eq!([get("datatype"), get("arraysize")], [&column[1], &column[2]]);
        }
    }
    assert_eq!(
        served.value("SELECT COUNT(*) FROM tap_schema.columns WHERE \"size\" IS NULL"),
        "62"
    );
    let keys = "SELECT COUNT(*) FROM tap_schema.keys k JOIN tap_schema.key_columns c \
         ON k.key_id = c.key_id JOIN tap_schema.tables t ON t.table_name = k.target_table";
    assert_eq!(served.value(keys), "5");
}

#[test]
fn documents_name_the_service() {
    let served = Served::new();
    let get = |path: &str| {
        let response = served.client.get(path);
        assert_eq!(response.status, 200, "{path}");
        response.text()
    };
    let capabilities = get("/tap/capabilities");
    let base = served.server.base_url();
    assert!(base.starts_with("http://localhost:") && base.ends_with("/tap"));
    assert!(capabilities.contains(&format!("<accessURL use=\"base\">{base}</accessURL>")));
    assert!(capabilities.contains("<default unit=\"row\">20000</default>"));
    let tables = get("/tap/tables");
    for column in table::obscore().schema().fields() {
        assert!(tables.contains(&format!("<name>{}</name>", column.name())));
    }
    assert!(get("/tap/tables/ivoa.ObsCore").contains("<name>s_region</name>"));
    assert_eq!(served.client.get("/tap/tables/nothing").status, 404);
    assert!(get("/tap/availability").contains("<vosi:available>true</vosi:available>"));
    for example in get("/tap/examples").split("<pre property=\"query\">").skip(1) {
        let query = example.split_once("</pre>").unwrap().0;
        let query = quick_xml::escape::unescape(query).unwrap();
        assert_eq!(served.query("csv", &query).status, 200, "{query}");
    }
}

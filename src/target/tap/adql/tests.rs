//! What a query becomes, and what is refused before it is planned.

use super::statement::prepare;

fn prepared(text: &str) -> String {
    prepare(text).unwrap_or_else(|refusal| panic!("{}: {text}", refusal.message)).to_string()
}

fn refused(text: &str) -> String {
    match prepare(text) {
        Ok(statement) => panic!("taken: {statement}"),
        Err(refusal) => {
            assert_eq!(refusal.status, 400, "{text}");
            refusal.message
        }
    }
}

#[test]
fn top_becomes_a_limit() {
    for (text, expected) in [
        ("SELECT TOP 5 a FROM t", "SELECT a FROM t LIMIT 5"),
        ("SELECT DISTINCT TOP 5 a FROM t", "SELECT DISTINCT a FROM t LIMIT 5"),
        (
            "SELECT TOP 5 a FROM t ORDER BY a OFFSET 2",
            "SELECT a FROM t ORDER BY a LIMIT 5 OFFSET 2",
        ),
        (
            "SELECT a FROM (SELECT TOP 2 a FROM t) AS s",
            "SELECT a FROM (SELECT a FROM t LIMIT 2) AS s",
        ),
        (
            "SELECT TOP 1 a FROM t UNION SELECT TOP 2 a FROM u",
            "(SELECT a FROM t LIMIT 1) UNION (SELECT a FROM u LIMIT 2)",
        ),
    ] {
        assert_eq!(prepared(text), expected);
    }
}

#[test]
fn tables_know_no_case_and_columns_get_names() {
    for (text, expected) in [
        ("SELECT x FROM \"TAP_SCHEMA\".\"Tables\"", "SELECT x FROM tap_schema.tables"),
        ("SELECT x FROM ivoa.ObsCore AS o", "SELECT x FROM ivoa.obscore AS o"),
        ("SELECT x FROM Other.Thing", "SELECT x FROM Other.Thing"),
        (
            "SELECT COUNT(*), COUNT(a) FROM t",
            "SELECT COUNT(*) AS count, COUNT(a) AS count_2 FROM t",
        ),
        ("SELECT a, b.a, a + 1 FROM t", "SELECT a, b.a AS a_2, a + 1 AS col FROM t"),
        ("SELECT a || b || c AS d FROM t", "SELECT concat_text(concat_text(a, b), c) AS d FROM t"),
    ] {
        assert_eq!(prepared(text), expected);
    }
}

#[test]
fn geometry_is_called_and_no_type_of_literal() {
    let text = "SELECT a FROM t WHERE 1 = CONTAINS(POINT('ICRS', a, b), BOX('ICRS', 1, 2, 3, 4))";
    assert_eq!(prepared(text), text);
    assert!(refused("SELECT POINT '1,2' FROM").starts_with("not ADQL"));
}

#[test]
fn what_is_no_query_is_refused() {
    for text in [
        "DROP TABLE t",
        "INSERT INTO t SELECT 1",
        "COPY t TO '/tmp/x'",
        "SET a = 1",
        "CREATE TABLE t AS SELECT 1",
        "EXPLAIN SELECT 1",
        "SHOW TABLES",
        "VALUES (1)",
    ] {
        assert_eq!(refused(text), "only queries are answered, which begin with SELECT or WITH");
    }
    for (text, part) in [
        ("", "expected one query"),
        ("SELECT 1; SELECT 2", "expected one query"),
        ("DUFF QUERY", "not ADQL"),
        ("SELECT * FROM f('x')", "expected a table or a subquery"),
        ("SELECT * FROM t, LATERAL (SELECT 1) AS l", "expected a table or a subquery"),
        ("SELECT TOP 5 a FROM t LIMIT 3", "either TOP or LIMIT"),
        ("SELECT a INTO u FROM t", "not of ADQL"),
        ("WITH RECURSIVE t AS (SELECT 1) SELECT * FROM t", "RECURSIVE"),
        ("SELECT a FROM t FOR UPDATE", "not of ADQL"),
    ] {
        let message = refused(text);
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn what_would_take_too_long_is_refused() {
    let deep = format!("SELECT {}a{} FROM t", "(".repeat(10_000), ")".repeat(10_000));
    assert!(refused(&deep).contains("nested too deeply"));
    assert!(refused(&"x".repeat(200_000)).contains("bytes"));
    let sum = format!("SELECT {} FROM t", ["a"; 5_000].join("+"));
    assert!(refused(&sum).contains("too many operators"));
    let columns = format!("SELECT {} FROM t", ["a"; 5_000].join(","));
    assert!(refused(&columns).contains("too long"));
    let unions = vec!["SELECT a FROM t"; 100].join(" UNION ALL ");
    assert!(refused(&unions).contains("too many tables"));
    // Each common table reads the one before it twice.
    let common: Vec<String> =
        (1..10).map(|n| format!("t{n} AS (SELECT x.a FROM t{0} x, t{0} y)", n - 1)).collect();
    let doubling = format!("WITH t0 AS (SELECT a FROM t), {} SELECT * FROM t9", common.join(","));
    assert!(refused(&doubling).contains("too many tables"));
    let nested = "SELECT * FROM (".repeat(13) + "SELECT 1" + &") x".repeat(13);
    assert!(refused(&nested).contains("deeply"));
    // Many constants are no trouble.
    let list: Vec<String> = (0..5_000).map(|n| format!("'x{n}'")).collect();
    prepare(&format!("SELECT a FROM t WHERE a IN ({})", list.join(","))).unwrap();
}

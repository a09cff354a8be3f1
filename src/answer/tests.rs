use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;

fn table(fields: &str, data: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<VOTABLE xmlns=\"http://www.ivoa.net/xml/VOTable/v1.3\">\
         <RESOURCE type=\"results\"><INFO name=\"QUERY_STATUS\" value=\"OK\"/>\
         <TABLE>{fields}<DATA>{data}</DATA></TABLE></RESOURCE></VOTABLE>"
    )
}

const FIELDS: &str = r#"<FIELD name="name" datatype="char" arraysize="*"/>
    <FIELD name="n" datatype="long"><VALUES null="-1"/></FIELD>
    <FIELD name="x" datatype="double"/>
    <FIELD name="f" datatype="float"/>"#;

fn votable(text: &str) -> Result<Answer, AnswerError> {
    Answer::parse(Format::Votable, text.as_bytes())
}

fn csv(text: &str) -> Result<Answer, AnswerError> {
    Answer::parse(Format::Csv, text.as_bytes())
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[test]
fn csv_with_all_that_csv_can_do() {
    let answer = csv("a,b\r\n\"x,\"\"y\"\"\",1\r\n\"two\nlines\",\r\n").unwrap();
    assert_eq!(answer.columns.len(), 2);
    assert_eq!(
        answer.rows,
        [vec![text("x,\"y\""), text("1")], vec![text("two\nlines"), Value::Null]]
    );
    let header_only = csv("a,b\n").unwrap();
    assert_eq!((header_only.rows.len(), header_only.columns.len()), (0, 2));
    assert_eq!(csv("a,b\n1,2").unwrap().rows.len(), 1, "no line end at the end");
    assert!(!header_only.overflow && !header_only.tells_null);
    assert_eq!(header_only.column("B"), Some(1));
}

#[test]
fn csv_that_is_none() {
    for (body, expected) in [
        ("", AnswerError::Empty),
        (" \n", AnswerError::Empty),
        ("a,b\n1,2\n3", AnswerError::Truncated("line 3 has 1 fields, the header has 2".into())),
        ("a,b\n1\n3,4\n", AnswerError::Malformed("line 2 has 1 fields, the header has 2".into())),
        ("a,b\n1,2,3\n", AnswerError::Malformed("line 2 has 3 fields, the header has 2".into())),
        ("a,b\n1,\"x", AnswerError::Truncated("line 2 ends inside quotes".into())),
        (
            "<!DOCTYPE html>\n<html><head><title>Log in</title>",
            AnswerError::Html("`Log in`".into()),
        ),
        ("<html><body/></html>", AnswerError::Html("without a title".into())),
    ] {
        assert_eq!(csv(body), Err(expected), "{body}");
    }
    let error = Answer::parse(Format::Csv, b"a,b\n1,\xff\n").unwrap_err();
    assert_eq!(error.to_string(), "line 2 is not UTF-8");
    let error = csv(&table(FIELDS, "<TABLEDATA/>")).unwrap_err();
    assert_eq!(error.to_string(), "a VOTable in place of CSV");
}

#[test]
fn errors_come_as_a_votable_whatever_was_asked_for() {
    let body = "<?xml-stylesheet href='x.xsl'?><VOTABLE version=\"1.4\"><RESOURCE type=\"results\">\
                <INFO name=\"QUERY_STATUS\" value=\"ERROR\">No field\n  &lt;nonsense&gt;</INFO>\
                </RESOURCE></VOTABLE>";
    let refused = AnswerError::Refused("No field <nonsense>".into());
    assert_eq!(csv(body), Err(refused.clone()));
    assert_eq!(votable(body), Err(refused.clone()));
    // An error that comes after rows were sent.
    let late = table(FIELDS, "<TABLEDATA/>").replace(
        "</RESOURCE>",
        "<INFO name=\"QUERY_STATUS\" value=\"ERROR\">No field &#60;nonsense></INFO></RESOURCE>",
    );
    assert_eq!(votable(&late), Err(refused));
}

#[test]
fn tabledata() {
    let data = "<TABLEDATA>\
        <TR><TD>a &amp; b</TD><TD>7</TD><TD>1.5e3</TD><TD>0.1</TD></TR>\
        <TR><TD/><TD>-1</TD><TD>NaN</TD><TD></TD></TR>\
        <TR><TD><![CDATA[<x>]]></TD><TD></TD><TD>-Inf</TD><TD> 2 </TD></TR></TABLEDATA>";
    let answer = votable(&table(FIELDS, data)).unwrap();
    assert_eq!(
        answer.rows,
        [
            vec![text("a & b"), Value::Int(7), Value::Float(1500.0), Value::Single(0.1)],
            vec![Value::Null, Value::Null, Value::Null, Value::Null],
            vec![text("<x>"), Value::Null, Value::Float(f64::NEG_INFINITY), Value::Single(2.0)],
        ]
    );
    assert_eq!(
        answer.columns.iter().map(|column| column.kind).collect::<Vec<_>>(),
        [Kind::Text, Kind::Int, Kind::Float, Kind::Float]
    );
    let none = votable(&table(FIELDS, "<TABLEDATA></TABLEDATA>")).unwrap();
    assert!(none.rows.is_empty() && !none.overflow && !none.tells_null);
}

#[test]
fn overflow_stands_after_the_table() {
    let overflow = "<INFO name=\"QUERY_STATUS\" value=\"OVERFLOW\"/></RESOURCE>";
    let body = table(FIELDS, "<TABLEDATA/>").replace("</RESOURCE>", overflow);
    assert!(votable(&body).unwrap().overflow);
}

/// Two rows of [`FIELDS`]; in the second all is null, or as near as BINARY comes.
fn stream(has_flags: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for is_null in [false, true] {
        if has_flags {
            bytes.push(if is_null { 0xf0 } else { 0 });
        }
        let name: &[u8] = if is_null { b"" } else { b"abc" };
        bytes.extend((name.len() as u32).to_be_bytes());
        bytes.extend(name);
        bytes.extend((if is_null { -1_i64 } else { 7 }).to_be_bytes());
        bytes.extend((if is_null { f64::NAN } else { 1.5 }).to_be_bytes());
        bytes.extend((if is_null { f32::NAN } else { 0.1 }).to_be_bytes());
    }
    if has_flags {
        // And one whose text is empty, which is another thing.
        bytes.extend([0x70, 0, 0, 0, 0]);
        bytes.extend([0; 20]);
    }
    bytes
}

#[test]
fn both_binary_serialisations() {
    for (element, has_flags) in [("BINARY2", true), ("BINARY", false)] {
        let encoded = STANDARD.encode(stream(has_flags));
        // As it is folded in documents.
        let folded: Vec<&str> =
            encoded.as_bytes().chunks(20).map(|line| std::str::from_utf8(line).unwrap()).collect();
        let data = format!(
            "<{element}><STREAM encoding=\"base64\">\n{}\n</STREAM></{element}>",
            folded.join("\n")
        );
        let answer = votable(&table(FIELDS, &data)).unwrap();
        let mut expected = vec![
            vec![text("abc"), Value::Int(7), Value::Float(1.5), Value::Single(0.1)],
            vec![Value::Null, Value::Null, Value::Null, Value::Null],
        ];
        if has_flags {
            expected.push(vec![text(""), Value::Null, Value::Null, Value::Null]);
        }
        assert_eq!(answer.rows, expected, "{element}");
        assert_eq!(answer.tells_null, has_flags);
    }
}

#[test]
fn arrays_and_odd_types() {
    let fields = r#"<FIELD name="c" datatype="char" arraysize="3"/>
        <FIELD name="u" datatype="unicodeChar" arraysize="4*"/>
        <FIELD name="p" datatype="double" arraysize="2x*"/>
        <FIELD name="s" datatype="short" arraysize="2"/>
        <FIELD name="b" datatype="boolean"/><FIELD name="y" datatype="unsignedByte" arraysize="1"/>"#;
    let mut bytes = vec![0];
    bytes.extend(b"ab\0");
    bytes.extend([0, 0, 0, 1, 3, 0xb1]);
    bytes.extend([0, 0, 0, 2]);
    bytes.extend(1.5_f64.to_be_bytes());
    bytes.extend((-2.0_f64).to_be_bytes());
    bytes.extend([0, 1, 0xff, 0xff, b'T', 200]);
    let data = format!(
        "<BINARY2><STREAM encoding=\"base64\">{}</STREAM></BINARY2>",
        STANDARD.encode(bytes)
    );
    let answer = votable(&table(fields, &data)).unwrap();
    let row = [text("ab"), text("α"), text("1.5 -2"), text("1 -1"), text("true"), Value::Int(200)];
    assert_eq!(answer.rows, [row]);
}

#[test]
fn votables_that_are_none() {
    let whole =
        table(FIELDS, "<TABLEDATA><TR><TD>a</TD><TD>7</TD><TD>1</TD><TD>1</TD></TR></TABLEDATA>");
    for end in [whole.len() - 1, whole.len() - 12, whole.find("</TR>").unwrap(), 60] {
        let error = votable(&whole[..end]).unwrap_err();
        assert!(matches!(error, AnswerError::Truncated(_)), "{end}: {error}");
    }
    let stream_end = format!(
        "<BINARY2><STREAM encoding=\"base64\">{}</STREAM></BINARY2>",
        STANDARD.encode(&stream(true)[..30])
    );
    for (body, expected) in [
        (String::new(), "an empty body"),
        ("a,b\n1,2\n".into(), "no VOTable: it starts `a,b 1,2`"),
        ("<html><title>Hello</title>".into(), "a web page (`Hello`) in place of an answer"),
        ("<capabilities/>".into(), "an XML document <capabilities>, no VOTable"),
        ("<VOTABLE><RESOURCE/></VOTABLE>".into(), "a VOTable without a table"),
        (whole.replace("</TD>", "</TX>"), "no well-formed XML: "),
        (whole.replace("<TD>7</TD>", ""), "row 1 has 3 cells for 4 columns"),
        (whole.replace("<TD>7</TD>", "<TD>7</TD><TD>7</TD>"), "row 1 has more than 4 cells"),
        (whole.replace("<TD>7</TD>", "<TD>7.5</TD>"), "row 1, n: `7.5` is no integer"),
        (whole.replace("<TD>1</TD>", "<TD>one</TD>"), "row 1, x: `one` is no number"),
        (whole.replace("\"long\"", "\"quad\""), "column n: type quad [1] is unknown"),
        (whole.replace("<TD>a</TD>", "<TD>&nbsp;</TD>"), "unknown entity &nbsp;"),
        (table(FIELDS, &stream_end), "cut off: its bytes end inside row 2"),
        (table(FIELDS, "<BINARY2><STREAM>!!</STREAM></BINARY2>"), "no base64: "),
        (table(FIELDS, "<FITS/>"), "a table as FITS, which is not read"),
    ] {
        let error = votable(&body).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn one_text_for_one_value() {
    let canonical = |column, value: &Value| canonical(column, value, true);
    for (column, a, b, expected) in [
        ("x", Value::Float(1.5), text("1.50"), "1.5"),
        ("x", Value::Int(3), text("3.0"), "3"),
        ("x", Value::Single(0.1), Value::Float(0.1), "1e-1"),
        ("x", Value::Float(123.456_789), text("123.4568"), "1.23457e2"),
        ("x", text("6.9755e-07"), Value::Single(6.9755e-7), "6.9755e-7"),
        ("x", Value::Float(-0.0), text("0"), "0"),
        ("x", Value::Int(40_000_001), text("40000001"), "40000001"),
        ("S_RA", Value::Float(123.456_789), text("123.4567890001"), "123.456789"),
        ("s_dec", Value::Int(5), text("5.0"), "5"),
        ("t_min", Value::Float(55_000.25), text("55000.250000"), "55000.25"),
        (
            "s_region",
            text("Polygon ICRS 12.34500000001 -1e-9 3.0 4"),
            text("POLYGON ICRS 12.345 0 3 4"),
            "POLYGON ICRS 12.345 0 3 4",
        ),
        ("name", text("Box"), text("Box"), "Box"),
        ("name", text("circle of friends"), text("circle of friends"), "circle of friends"),
        ("name", text("-"), text("-"), "-"),
    ] {
        assert_eq!(canonical(column, &a).as_deref(), Some(expected), "{a:?}");
        assert_eq!(canonical(column, &b).as_deref(), Some(expected), "{b:?}");
    }
    for (column, a, b) in [
        ("s_ra", Value::Float(123.456_789), Value::Float(123.457)),
        ("x", Value::Float(12.345_67), Value::Float(12.345)),
        ("x", Value::Int(40_000_001), Value::Int(40_000_002)),
        ("name", text("a"), text("a ")),
    ] {
        assert_ne!(canonical(column, &a), canonical(column, &b), "{a:?}");
    }
    // A mean of twenty decimals, summed in one order and in another.
    let tie = 3719.165_f64;
    for near in [tie.next_down(), tie, tie.next_up()] {
        assert_eq!(canonical("x", &Value::Float(near)).as_deref(), Some("3.71917e3"));
        assert_eq!(canonical("x", &Value::Float(-near)).as_deref(), Some("-3.71917e3"));
    }
    assert_eq!(super::canonical("x", &text(""), false), Some(String::new()));
    assert_eq!(super::canonical("x", &text(""), true), None);
}

//! Values in each format, those that are hard to write among them.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array, RecordBatch, StringArray,
};
use arrow::datatypes::{DataType, Field, Schema};

use super::choice::Serialization;
use super::{Encoder, End, Format};

fn table() -> RecordBatch {
    let said = [("unit".to_owned(), "deg".to_owned()), ("ucd".to_owned(), "pos.eq.ra".to_owned())];
    let fields = vec![
        Field::new("t", DataType::Utf8, true),
        Field::new("d", DataType::Float64, true).with_metadata(said.into()),
        Field::new("f", DataType::Float32, true),
        Field::new("i", DataType::Int32, true),
        Field::new("b", DataType::Boolean, true),
    ];
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec![
            Some("a,\"b\" <&>"),
            Some(""),
            None,
            Some("line\nend"),
            Some(" x"),
        ])),
        Arc::new(Float64Array::from(vec![
            Some(0.1 + 0.2),
            Some(f64::NAN),
            None,
            Some(f64::NEG_INFINITY),
            Some(1e300),
        ])),
        Arc::new(Float32Array::from(vec![Some(0.1), Some(1e-30), None, Some(3.0), Some(-0.0)])),
        Arc::new(Int32Array::from(vec![Some(i32::MIN), Some(0), None, Some(7), Some(-1)])),
        Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, None, Some(true)])),
    ];
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn written(format: Format, end: &End) -> String {
    let table = table();
    let mut encoder = Encoder::new(format, &table.schema(), "SELECT \"x\" < 1");
    let mut out = Vec::new();
    encoder.head(&mut out);
    // In parts, as they come.
    encoder.rows(&table.slice(0, 2), &mut out);
    encoder.rows(&table.slice(2, 3), &mut out);
    encoder.tail(end, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn csv_tells_null_from_empty() {
    let expected = "t,d,f,i,b\r\n\
        \"a,\"\"b\"\" <&>\",0.30000000000000004,0.1,-2147483648,1\r\n\
        \"\",NaN,1e-30,0,0\r\n\
        ,,,,\r\n\
        \"line\nend\",-Inf,3.0,7,\r\n\
        \" x\",1e300,-0.0,-1,1\r\n";
    assert_eq!(written(Format::Csv { header: true }, &End::Complete), expected);
    let headless = written(Format::Csv { header: false }, &End::Complete);
    assert_eq!(headless, expected.split_once("\r\n").unwrap().1);
}

#[test]
fn tsv_has_no_tabs_nor_lines_in_it() {
    let text = written(Format::Tsv, &End::Complete);
    assert_eq!(text.lines().nth(4), Some("line end\t-Inf\t3.0\t7\t"));
}

#[test]
fn tabledata_is_escaped() {
    let text = written(Format::Votable(Serialization::TableData), &End::Overflow);
    assert!(text.contains("<INFO name=\"QUERY\" value=\"SELECT &quot;x&quot; &lt; 1\"/>"));
    assert!(text.contains(
        "<FIELD name=\"d\" datatype=\"double\" unit=\"deg\" ucd=\"pos.eq.ra\"/>\n\
         <FIELD name=\"f\" datatype=\"float\"/>\n<FIELD name=\"i\" datatype=\"int\"/>\n\
         <FIELD name=\"b\" datatype=\"boolean\"/>"
    ));
    assert!(text.contains(
        "<TR><TD>a,&quot;b&quot; &lt;&amp;&gt;</TD><TD>0.30000000000000004</TD><TD>0.1</TD>\
         <TD>-2147483648</TD><TD>1</TD></TR>"
    ));
    assert!(text.contains("<TR><TD/><TD/><TD/><TD/><TD/></TR>"));
    let (_, after) = text.split_once("</TABLE>").unwrap();
    assert!(after.contains("name=\"QUERY_STATUS\" value=\"OVERFLOW\""));
}

#[test]
fn a_failure_after_the_first_rows_is_said() {
    let failed = End::Failed("too <long>".to_owned());
    let text = written(Format::Votable(Serialization::Binary2), &failed);
    let (_, after) = text.split_once("</TABLE>").unwrap();
    assert!(after.contains("value=\"ERROR\">too &lt;long&gt;</INFO>"));
    let table = table();
    let mut encoder = Encoder::new(Format::Csv { header: true }, &table.schema(), "");
    assert!(!encoder.tail(&failed, &mut Vec::new()), "CSV cannot say it");
}

#[test]
fn formats_are_known_by_their_names() {
    let binary = Some(Format::Votable(Serialization::Binary2));
    let table_data = Some(Format::Votable(Serialization::TableData));
    for (text, expected) in [
        ("csv", Some(Format::Csv { header: true })),
        ("text/csv; header=absent", Some(Format::Csv { header: false })),
        ("CSV", Some(Format::Csv { header: true })),
        ("votable", binary),
        ("application/x-votable+xml", binary),
        ("application/x-votable+xml; serialization=\"TABLEDATA\"", table_data),
        ("application/x-votable+xml;serialization=binary2", binary),
        ("votable/td", table_data),
        ("tsv", Some(Format::Tsv)),
        ("application/x-votable+xml;serialization=FITS", None),
        ("fits", None),
    ] {
        assert_eq!(Format::parse(text), expected, "{text}");
    }
}

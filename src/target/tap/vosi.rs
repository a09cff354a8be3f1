//! What the service says of itself: capabilities, availability, tables.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response};

use super::adql::functions;
use super::app::{Shared, last_segment, reply, xml};
use super::data::column::{Column, Table, votable_type};
use super::data::tap_schema::{IVOA, KEYS, SCHEMAS};
use super::error::Refusal;
use super::format::choice::OFFERED;
use super::geometry::functions as geometry;
use super::time;
use super::xml::{element, escape};

const XSI: &str = "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";
const VODATASERVICE: &str = "xmlns:vs=\"http://www.ivoa.net/xml/VODataService/v1.1\"";

/// `/tap/capabilities`.
pub async fn capabilities(State(app): State<Shared>) -> Response<Body> {
    let base = escape(&app.base_url);
    let options = &app.options;
    let feature = |form: &str| format!("<feature><form>{}</form></feature>", escape(form));
    let features = |kind: &str, forms: Vec<String>| {
        let forms: String = forms.iter().map(|form| feature(form)).collect();
        format!("<languageFeatures type=\"{kind}\">{forms}</languageFeatures>\n")
    };
    let adql = |name: &str| format!("ivo://ivoa.net/std/TAPRegExt#features-{name}");
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let languages = [
        features(&adql("adqlgeo"), geometry::names().collect()),
        features(&adql("adql-string"), words(&["LOWER", "UPPER", "ILIKE"])),
        features(&adql("adql-sets"), words(&["UNION", "EXCEPT", "INTERSECT"])),
        features(&adql("adql-common-table"), words(&["WITH"])),
        features(&adql("adql-type"), words(&["CAST"])),
        features(&adql("adql-unit"), words(&["IN_UNIT"])),
        features(&adql("adql-offset"), words(&["OFFSET"])),
        features(&adql("udf"), functions::UDFS.iter().map(|udf| (*udf).to_owned()).collect()),
    ];
    let formats: String = OFFERED
        .iter()
        .map(|(media_type, aliases, id)| {
            let id = if id.is_empty() { String::new() } else { format!(" ivo-id=\"{id}\"") };
            let aliases: String =
                aliases.iter().map(|alias| format!("<alias>{alias}</alias>")).collect();
            format!("<outputFormat{id}><mime>{media_type}</mime>{aliases}</outputFormat>\n")
        })
        .collect();
    let resource = |id: &str, path: &str| {
        format!(
            "<capability standardID=\"ivo://ivoa.net/std/{id}\">\n\
             <interface xsi:type=\"vs:ParamHTTP\" version=\"1.0\" role=\"std\">\
             <accessURL use=\"full\">{base}/{path}</accessURL></interface>\n</capability>\n"
        )
    };
    let seconds = options.timeout.as_secs();
    let keep = options.keep.as_secs();
    let xml_text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <cap:capabilities xmlns:cap=\"http://www.ivoa.net/xml/VOSICapabilities/v1.0\" \
         xmlns:vr=\"http://www.ivoa.net/xml/VOResource/v1.0\" {VODATASERVICE} \
         xmlns:tr=\"http://www.ivoa.net/xml/TAPRegExt/v1.0\" {XSI}>\n\
         {}{}{}{}\
         <capability standardID=\"ivo://ivoa.net/std/TAP\" xsi:type=\"tr:TableAccess\">\n\
         <interface xsi:type=\"vs:ParamHTTP\" role=\"std\" version=\"1.1\">\
         <accessURL use=\"base\">{base}</accessURL></interface>\n\
         <dataModel ivo-id=\"ivo://ivoa.net/std/ObsCore#core-1.1\">Obscore-1.1</dataModel>\n\
         <language><name>ADQL</name>\
         <version ivo-id=\"ivo://ivoa.net/std/ADQL#v2.0\">2.0</version>\
         <version ivo-id=\"ivo://ivoa.net/std/ADQL#v2.1\">2.1</version>\
         <description>The Astronomical Data Query Language</description>\n{}</language>\n\
         {formats}\
         <retentionPeriod><default>{keep}</default><hard>{keep}</hard></retentionPeriod>\n\
         <executionDuration><default>{seconds}</default><hard>{seconds}</hard></executionDuration>\n\
         <outputLimit><default unit=\"row\">{}</default><hard unit=\"row\">{}</hard></outputLimit>\n\
         </capability>\n</cap:capabilities>\n",
        resource("VOSI#capabilities", "capabilities"),
        resource("VOSI#availability", "availability"),
        resource("VOSI#tables-1.1", "tables"),
        resource("DALI#examples", "examples"),
        languages.concat(),
        options.default_rows,
        options.max_rows,
    );
    xml(xml_text)
}

/// `/tap/availability`.
pub async fn availability(State(app): State<Shared>) -> Response<Body> {
    xml(format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <vosi:availability xmlns:vosi=\"http://www.ivoa.net/xml/VOSIAvailability/v1.0\">\n\
         <vosi:available>true</vosi:available>\n<vosi:upSince>{}</vosi:upSince>\n\
         </vosi:availability>\n",
        time::format(app.up_since)
    ))
}

/// `/tap/tables`: all schemas with all tables.
pub async fn tables(State(app): State<Shared>) -> Response<Body> {
    let schemas = SCHEMAS.iter().map(|(name, description)| {
        let tables: String = app
            .engine
            .tables
            .iter()
            .filter(|table| table.schema == *name)
            .map(|table| format!("<table type=\"table\">{}</table>\n", described(table)))
            .collect();
        format!(
            "<schema>{}{}\n{tables}</schema>\n",
            element("name", name),
            element("description", description)
        )
    });
    xml(format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <vosi:tableset xmlns:vosi=\"http://www.ivoa.net/xml/VOSITables/v1.0\" \
         {VODATASERVICE} {XSI}>\n{}</vosi:tableset>\n",
        schemas.collect::<String>()
    ))
}

/// `/tap/tables/NAME`: one table.
pub async fn table(State(app): State<Shared>, request: Request<Body>) -> Response<Body> {
    let wanted = last_segment(&request);
    let is_wanted = |table: &&Table| table.full_name().eq_ignore_ascii_case(wanted);
    match app.engine.tables.iter().find(is_wanted) {
        Some(table) => xml(format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <vosi:table xmlns:vosi=\"http://www.ivoa.net/xml/VOSITables/v1.0\" \
             {VODATASERVICE} {XSI} type=\"table\">{}</vosi:table>\n",
            described(table)
        )),
        None => app.refuse(&Refusal::not_found("there is no such table")),
    }
}

fn described(table: &Table) -> String {
    let mut text = element("name", &table.full_name());
    text += &element("description", table.description);
    text += &element("utype", table.utype);
    text.push('\n');
    for column in &table.columns {
        text += &described_column(column);
    }
    let name = table.full_name();
    for key in KEYS.iter().filter(|key| key.tables.0 == name) {
        text += &format!(
            "<foreignKey>{}<fkColumn>{}{}</fkColumn>{}</foreignKey>\n",
            element("targetTable", key.tables.1),
            element("fromColumn", key.columns.0),
            element("targetColumn", key.columns.1),
            element("description", key.description),
        );
    }
    text
}

fn described_column(column: &Column) -> String {
    let (datatype, arraysize) = votable_type(&column.data_type, column.unicode);
    let attribute = |name: &str, value: &str| {
        if value.is_empty() { String::new() } else { format!(" {name}=\"{}\"", escape(value)) }
    };
    format!(
        "<column std=\"{}\">{}{}{}{}{}<dataType xsi:type=\"vs:VOTableType\"{}{}>{datatype}</dataType>{}{}</column>\n",
        column.std,
        element("name", &column.written()),
        element("description", &column.description),
        element("unit", &column.unit),
        element("ucd", &column.ucd),
        element("utype", &column.utype),
        attribute("arraysize", arraysize.unwrap_or_default()),
        attribute("extendedType", &column.xtype),
        if column.indexed { "<flag>indexed</flag>" } else { "" },
        if column.principal { "<flag>principal</flag>" } else { "" },
    )
}

/// Queries to begin with: what they do, and their text.
const EXAMPLES: [(&str, &str, &str); 4] = [
    (
        "tables",
        "All tables, and what is in them",
        "SELECT table_name, description FROM tap_schema.tables",
    ),
    (
        "cone",
        "Observations near a position",
        "SELECT TOP 100 obs_publisher_did, s_ra, s_dec FROM ivoa.obscore WHERE 1 = CONTAINS(POINT('ICRS', s_ra, s_dec), CIRCLE('ICRS', 180, 0, 1))",
    ),
    (
        "nearest",
        "The observations that are nearest to a position",
        "SELECT TOP 10 obs_publisher_did, DISTANCE(POINT('ICRS', s_ra, s_dec), POINT('ICRS', 180, 0)) AS dist FROM ivoa.obscore WHERE DISTANCE(POINT('ICRS', s_ra, s_dec), POINT('ICRS', 180, 0)) < 2 ORDER BY dist",
    ),
    (
        "counts",
        "How many observations there are of each kind",
        "SELECT dataproduct_type, COUNT(*) AS n FROM ivoa.obscore GROUP BY dataproduct_type ORDER BY n DESC",
    ),
];

/// `/tap/examples`: DALI's document of examples.
pub async fn examples(State(_): State<Shared>) -> Response<Body> {
    let examples = EXAMPLES.iter().map(|(id, name, query)| {
        let table = if query.contains(IVOA) { "ivoa.obscore" } else { "tap_schema.tables" };
        format!(
            "<div id=\"{id}\" resource=\"#{id}\" typeof=\"example\">\n\
             <h2 property=\"name\">{}</h2>\n<p>On <em property=\"table\">{table}</em>:</p>\n\
             <pre property=\"query\">{}</pre>\n</div>\n",
            escape(name),
            escape(query)
        )
    });
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <html xmlns=\"http://www.w3.org/1999/xhtml\">\n<head><title>Examples</title></head>\n\
         <body vocab=\"http://www.ivoa.net/rdf/examples#\">\n<h1>Examples</h1>\n{}</body>\n</html>\n",
        examples.collect::<String>()
    );
    reply(200, "application/xhtml+xml;charset=UTF-8", text)
}

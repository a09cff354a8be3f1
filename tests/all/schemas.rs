//! The schemas that ship: those of the store are the program's own, and those
//! of the raw files say just what the readers take.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use tapstat::store::schema::{Column, TABLES, Table};

use super::support::{Rung, Sandbox, ask_one, assert, golden, sources};

#[test]
fn arrow_schemas_are_those_of_the_store() {
    for table in TABLES {
        let path = format!("schemas/{}.arrow.json", table.name);
        assert().eq(arrow_schema(table), golden(&path).raw());
    }
}

/// A line for each column, so that a change shows as one.
fn arrow_schema(table: &Table) -> String {
    let line = |column: &Column| {
        let Column { name, kind, nullable, unit, doc } = column;
        let [name, kind, unit, doc] =
            [*name, &kind.data_type().to_string(), *unit, *doc].map(|text| json!(text));
        format!(
            "    {{\"name\": {name}, \"type\": {kind}, \"nullable\": {nullable}, \"unit\": {unit}, \
             \"description\": {doc}}}"
        )
    };
    let head = format!(
        "  \"table\": {},\n  \"description\": {},\n  \"partition\": \"run\",",
        json!(table.name),
        json!(table.doc)
    );
    let fields: Vec<String> = table.columns.iter().map(line).collect();
    format!("{{\n{head}\n  \"fields\": [\n{}\n  ]\n}}\n", fields.join(",\n"))
}

/// A JSON Schema of a raw file, as far as these tests look at it.
struct Schema {
    name: &'static str,
    root: Value,
}

impl Schema {
    fn read(name: &'static str) -> Self {
        let path = format!("schemas/{name}.schema.json");
        let text = std::fs::read_to_string(sources().join(&path))
            .unwrap_or_else(|e| panic!("{path}: {e}"));
        let root = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        Self { name, root }
    }

    fn properties(&self) -> BTreeSet<&str> {
        self.root["properties"].as_object().unwrap().keys().map(String::as_str).collect()
    }

    fn required(&self) -> Vec<&str> {
        let names = self.root["required"].as_array().unwrap();
        names.iter().map(|name| name.as_str().unwrap()).collect()
    }

    /// An example that has every field.
    fn full(&self) -> Map<String, Value> {
        self.root["examples"][0].as_object().unwrap().clone()
    }

    /// An example that has those fields only which it cannot do without.
    fn minimal(&self) -> Map<String, Value> {
        self.root["examples"][1].as_object().unwrap().clone()
    }

    /// Ingests a run with this object in it: the warnings, or the error.
    fn ingest(&self, object: Map<String, Value>) -> Result<Vec<String>, String> {
        let sandbox = Sandbox::new();
        let run = sandbox.run("run");
        let failed = object.get("status").is_none_or(Value::is_null);
        let object = Value::Object(object);
        let rung = Rung::new("one", 1);
        match self.name {
            "rung" => _ = run.lines("rungs.jsonl", [object]),
            "request" => {
                let rung = rung.with("requests", 1).with("errors", u8::from(failed));
                run.rungs([rung.with("rps", 0.1)]);
                run.lines("samples/one-csv-Q01-c8-r1.jsonl", [object]);
            }
            "resource" => _ = run.rungs([rung]).lines("resources.jsonl", [object]),
            "event" => _ = run.rungs([rung]).lines("events.jsonl", [object]),
            "corpus" => _ = run.rungs([rung]).lines("corpus.jsonl", [object]),
            document => {
                run.rungs([rung]).file(&format!("{document}.json"), object.to_string());
            }
        }
        let result = sandbox.try_ingest(&run).map_err(|error| error.to_string());
        Ok(result?.1.iter().map(ToString::to_string).collect())
    }
}

const LINES: [&str; 5] = ["rung", "request", "resource", "event", "corpus"];
const DOCUMENTS: [&str; 2] = ["environment", "gates"];

fn all() -> impl Iterator<Item = Schema> {
    LINES.into_iter().chain(DOCUMENTS).map(Schema::read)
}

/// Every subschema that says what a field holds.
fn described<'a>(schema: &'a Value, path: &str, found: &mut Vec<(String, &'a Value)>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        found.push((path.clone(), property));
        described(property, &path, found);
        described(&property["additionalProperties"], &path, found);
    }
}

#[test]
fn every_field_is_described_with_its_unit() {
    for schema in all() {
        assert_eq!(schema.root["$schema"], "https://json-schema.org/draft/2020-12/schema");
        let mut fields = Vec::new();
        described(&schema.root, schema.name, &mut fields);
        for (path, field) in fields {
            let description = field["description"].as_str();
            let description = description.unwrap_or_else(|| panic!("{path} is not described"));
            let unit = match path.rsplit(['.', '_']).next().unwrap() {
                _ if field["deprecated"] == true => continue,
                "s" | "seconds" => "seconds",
                "bytes" => "bytes",
                "rps" => "per second",
                "usec" => "microseconds",
                "at" | "start" | "t" => "unix seconds",
                "fraction" => "from 0 to 1",
                _ => continue,
            };
            assert!(description.contains(unit), "{path}: {description}");
        }
    }
}

#[test]
fn examples_have_every_field_and_every_field_is_known_to_the_reader() {
    for schema in all() {
        let full = schema.full();
        let named: BTreeSet<&str> = full.keys().map(String::as_str).collect();
        assert_eq!(named, schema.properties(), "{}", schema.name);
        let warnings = schema.ingest(full).unwrap_or_else(|e| panic!("{}: {e}", schema.name));
        let unknown: Vec<_> = warnings.iter().filter(|w| w.contains("not known")).collect();
        assert_eq!(unknown, [""; 0], "{}", schema.name);
        schema.ingest(schema.minimal()).unwrap_or_else(|e| panic!("{}: {e}", schema.name));
    }
}

#[test]
fn every_field_of_the_store_is_one_of_the_raw_line() {
    for (name, table) in [("rung", "rungs"), ("request", "requests"), ("resource", "resources")] {
        let schema = Schema::read(name);
        let properties = schema.properties();
        let table = TABLES.iter().find(|known| known.name == table).unwrap();
        let columns = table.columns.iter().map(|column| column.name);
        // The name of a rung is made from its key.
        let missing: Vec<_> =
            columns.filter(|column| *column != "rung" && !properties.contains(column)).collect();
        assert_eq!(missing, [""; 0], "{name}");
    }
}

#[test]
fn required_fields_are_required_by_the_reader() {
    for schema in LINES.into_iter().map(Schema::read) {
        for field in schema.required() {
            let mut object = schema.full();
            object.remove(field).unwrap();
            // Other spellings do not stand in for it.
            let error = schema.ingest(object).expect_err(field);
            let expected = format!("field `{field}` is missing");
            assert!(error.contains(&expected), "{} without {field}: {error}", schema.name);
        }
    }
}

#[test]
fn a_minimal_line_lacks_nothing_and_can_lack_nothing() {
    for schema in LINES.into_iter().map(Schema::read) {
        for field in schema.minimal().keys() {
            let mut object = schema.minimal();
            object.remove(field).unwrap();
            schema.ingest(object).expect_err(field);
        }
    }
}

#[test]
fn fields_that_are_not_required_can_be_null_or_absent() {
    for schema in LINES.into_iter().map(Schema::read) {
        let minimal = schema.minimal();
        for field in schema.properties() {
            if minimal.contains_key(field) {
                continue;
            }
            let mut object = minimal.clone();
            object.insert(field.to_owned(), Value::Null);
            let result = schema.ingest(object);
            result.unwrap_or_else(|error| panic!("{} with null {field}: {error}", schema.name));
        }
    }
}

#[test]
fn what_the_documents_say_reaches_the_store() {
    let sandbox = Sandbox::new();
    let run = sandbox.run("run");
    run.rungs([Rung::new("egernia-scaling3", 1).with("started_at", 1.0).with("ended_at", 2.0)]);
    for name in DOCUMENTS {
        let document = Value::Object(Schema::read(name).full());
        let name = if name == "gates" { "t8-gates" } else { name };
        run.file(&format!("{name}.json"), document.to_string());
    }
    sandbox.ingest(&run);
    let session = sandbox.session();
    for table in ["runs", "gates", "agreement"] {
        let row: Vec<Value> = ask_one(&session, &format!("SELECT * FROM {table}"));
        assert!(!row.contains(&Value::Null), "{table}: {row:?}");
    }
    let (resumed,): (i64,) = ask_one(&session, "SELECT count(*) FROM events");
    assert_eq!(resumed, 1);
}

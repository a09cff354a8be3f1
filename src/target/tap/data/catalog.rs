//! The names that a query can use. They know no case.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::error::Result;

use super::column::Table;
use super::corpus::Corpus;
use super::table::MemoryTable;
use super::tap_schema::{self, IVOA, TAP_SCHEMA};

/// All schemas, with their tables.
#[derive(Debug)]
pub struct Catalog {
    schemas: BTreeMap<&'static str, Arc<TapTables>>,
}

#[derive(Debug)]
struct TapTables {
    tables: BTreeMap<&'static str, Arc<MemoryTable>>,
}

impl Catalog {
    /// The catalog of a corpus and of the description of all tables.
    ///
    /// # Errors
    /// If the description does not hold together.
    pub fn new(corpus: Corpus, tables: &[Table]) -> Result<Self> {
        let mut schemas = BTreeMap::from([(IVOA, BTreeMap::new()), (TAP_SCHEMA, BTreeMap::new())]);
        let mut rows = Some(corpus.rows);
        for table in tables {
            let provider = match rows.take_if(|_| table.schema == IVOA) {
                Some(rows) => MemoryTable::indexed(rows),
                None => MemoryTable::plain(tap_schema::rows(table, tables)?),
            };
            schemas.entry(table.schema).or_default().insert(table.name, Arc::new(provider));
        }
        let schemas =
            schemas.into_iter().map(|(name, tables)| (name, Arc::new(TapTables { tables })));
        Ok(Self { schemas: schemas.collect() })
    }
}

impl CatalogProvider for Catalog {
    fn schema_names(&self) -> Vec<String> {
        self.schemas.keys().map(|name| (*name).to_owned()).collect()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let schema = self.schemas.get(name.to_ascii_lowercase().as_str())?;
        Some(Arc::clone(schema) as Arc<dyn SchemaProvider>)
    }
}

#[async_trait]
impl SchemaProvider for TapTables {
    fn table_names(&self) -> Vec<String> {
        self.tables.keys().map(|name| (*name).to_owned()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let table = self.tables.get(name.to_ascii_lowercase().as_str());
        Ok(table.map(|table| Arc::clone(table) as Arc<dyn TableProvider>))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.tables.contains_key(name.to_ascii_lowercase().as_str())
    }
}

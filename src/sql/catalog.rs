//! The names that a query can use: the tables of the store, the rule of each
//! run, and the views over them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::common::{exec_datafusion_err, plan_err};
use datafusion::datasource::{TableType, ViewTable};
use datafusion::error::Result;
use datafusion::execution::SessionState;

/// Gives the session's state while the session lives: the schema is part of
/// that state, and must not keep it alive.
pub(super) type StateRef = Box<dyn Fn() -> Option<SessionState> + Send + Sync>;

/// The one schema of a session.
///
/// A view is planned when a query first names it: planning all of them would
/// cost more than most answers do.
pub(super) struct StoreSchema {
    tables: BTreeMap<String, Arc<dyn TableProvider>>,
    /// SQL by view name.
    views: BTreeMap<String, String>,
    planned: Mutex<BTreeMap<String, Arc<dyn TableProvider>>>,
    /// Views that are being planned: one that asks for itself would never end.
    underway: Mutex<BTreeSet<String>>,
    state: StateRef,
}

impl StoreSchema {
    pub(super) fn new(
        tables: BTreeMap<String, Arc<dyn TableProvider>>,
        views: BTreeMap<String, String>,
        state: StateRef,
    ) -> Self {
        Self { tables, views, planned: Mutex::default(), underway: Mutex::default(), state }
    }

    fn planned(&self, name: &str) -> Option<Arc<dyn TableProvider>> {
        let planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        planned.get(name).map(Arc::clone)
    }
}

impl fmt::Debug for StoreSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSchema").field("names", &self.table_names()).finish()
    }
}

#[async_trait]
impl SchemaProvider for StoreSchema {
    fn table_names(&self) -> Vec<String> {
        self.tables.keys().chain(self.views.keys()).cloned().collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some(table) = self.tables.get(name) {
            return Ok(Some(Arc::clone(table)));
        }
        if let Some(view) = self.planned(name) {
            return Ok(Some(view));
        }
        let Some(sql) = self.views.get(name) else { return Ok(None) };
        let state = (self.state)().ok_or_else(|| exec_datafusion_err!("the session is gone"))?;
        if !self.underway.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned()) {
            return plan_err!("the view `{name}` asks for itself");
        }
        let plan = state.create_logical_plan(sql).await;
        self.underway.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        let plan = plan.map_err(|error| error.context(format!("{name}.sql")))?;
        let view: Arc<dyn TableProvider> = Arc::new(ViewTable::new(plan, Some(sql.clone())));
        let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        planned.insert(name.to_owned(), Arc::clone(&view));
        Ok(Some(view))
    }

    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        Ok(if self.tables.contains_key(name) {
            Some(TableType::Base)
        } else {
            self.views.contains_key(name).then_some(TableType::View)
        })
    }

    fn table_exist(&self, name: &str) -> bool {
        self.tables.contains_key(name) || self.views.contains_key(name)
    }
}

/// A catalog of one schema.
#[derive(Debug)]
pub(super) struct StoreCatalog {
    name: &'static str,
    schema: Arc<dyn SchemaProvider>,
}

impl StoreCatalog {
    pub(super) fn new(name: &'static str, schema: Arc<dyn SchemaProvider>) -> Self {
        Self { name, schema }
    }
}

impl CatalogProvider for StoreCatalog {
    fn schema_names(&self) -> Vec<String> {
        vec![self.name.to_owned()]
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        (name == self.name).then(|| Arc::clone(&self.schema))
    }
}

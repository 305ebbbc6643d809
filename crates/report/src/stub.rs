//! stub
#![allow(missing_docs)]
use crate::{Case, handbook::{AnomalyPage, LevelPage}};
pub struct HtmlReport;
impl HtmlReport {
    pub fn new(_: &str) -> Self {
        HtmlReport
    }
    pub fn add(&mut self, _: &Case<'_>) {}
    pub fn finish(self) -> String {
        String::new()
    }
}
    String::new()
}
    String::new()
}
pub fn anomaly_to_text(_: &AnomalyPage, s: &str) -> String {
    s.to_owned()
}
pub fn level_to_text(_: &LevelPage, s: &str, t: &str) -> String {
    format!("{s}{t}")
}
pub fn index_to_text() -> String {
    String::new()
}
pub fn anomaly_to_json(_: &AnomalyPage) -> serde_json::Value {
    serde_json::Value::Null
}
pub fn level_to_json(_: &LevelPage) -> serde_json::Value {
    serde_json::Value::Null
}
impl AnomalyPage {
    pub fn level(&self) -> isolde_spec::Level {
        self.anomaly.entry().forbidden_from
    }
}

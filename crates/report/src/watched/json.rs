//! A watch for machines.

use serde_json::{Map, Value, json};

use super::Watched;

impl Watched {
    /// What was found and how it went.
    pub fn to_json(&self) -> Value {
        let figures = self.figures.iter().map(|f| (f.key.to_owned(), f.value.clone()));
        let others = [
            ("promise", json!(self.promise)),
            ("holds", json!(self.holds)),
            ("answer", json!(self.answer())),
            ("hint", json!(self.hint)),
            ("rectified", json!(self.rectified)),
        ];
        let others = others.map(|(key, value)| (key.to_owned(), value));
        Value::Object(others.into_iter().chain(figures).collect())
    }

    /// The same with figures over time.
    pub fn to_json_with_series(&self) -> Value {
        let mut all = self.to_json();
        let curves = self.curves.iter().map(|curve| (curve.key.to_owned(), json!(curve.values)));
        let times = [("seconds".to_owned(), json!(self.seconds))];
        all["source"] = json!(self.source);
        all["series"] = Value::Object(times.into_iter().chain(curves).collect::<Map<_, _>>());
        all["not_shown"] = json!(self.not_shown);
        all
    }
}

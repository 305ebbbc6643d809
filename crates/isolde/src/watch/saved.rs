//! What is saved with the state of a watch: which events were told, and in which files they are.

use serde_json::{Value, json};

/// A file of events: the name that it gives itself, and how long it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SavedFile {
    pub(super) name: String,
    pub(super) len: u64,
}

/// What is saved.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Saved {
    /// Where events are written, if it is a file.
    pub(super) now: Option<SavedFile>,
    /// Where they were written before.
    pub(super) before: Vec<SavedFile>,
    /// The number of the last event that was told.
    pub(super) told: u64,
}

impl Saved {
    /// What was saved last; nothing if nothing was.
    pub(super) fn of(bytes: Option<&[u8]>) -> Option<Saved> {
        let bytes = bytes.filter(|bytes| !bytes.is_empty())?;
        let saved: Value = serde_json::from_slice(bytes).ok()?;
        let before = saved["before"].as_array().map(Vec::as_slice).unwrap_or_default();
        Some(Saved {
            now: file(&saved["events"]),
            before: before.iter().filter_map(file).collect(),
            told: saved["told"].as_u64().unwrap_or(0),
        })
    }

    /// Events are written there from now on, or to no file.
    pub(super) fn now_in(&mut self, now: Option<SavedFile>) {
        let is_now = |file: &SavedFile| now.as_ref().is_some_and(|now| now.name == file.name);
        self.before.extend(self.now.take());
        self.before.retain(|file| !is_now(file));
        self.now = now;
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let file = |file: &SavedFile| json!({ "file": file.name, "length": file.len });
        let before: Vec<Value> = self.before.iter().map(file).collect();
        let now = self.now.as_ref().map(file);
        json!({ "events": now, "before": before, "told": self.told }).to_string().into_bytes()
    }
}

fn file(saved: &Value) -> Option<SavedFile> {
    let name = saved["file"].as_str()?.to_owned();
    Some(SavedFile { name, len: saved["length"].as_u64()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_earlier_watches_are_remembered() {
        let file = |name: &str, len| SavedFile { name: name.to_owned(), len };
        let mut saved = Saved { told: 7, ..Saved::default() };
        saved.now_in(Some(file("a", 10)));
        saved.now_in(None);
        saved.now_in(Some(file("b", 5)));
        let again = Saved::of(Some(&saved.to_bytes())).unwrap();
        assert_eq!(again, saved);
        assert_eq!(
            (again.now.clone(), again.before.clone()),
            (Some(file("b", 5)), vec![file("a", 10)])
        );
        saved.now_in(Some(file("a", 20)));
        assert_eq!(saved.before, [file("b", 5)]);
        assert_eq!(Saved::of(Some(b"")), None);
    }
}

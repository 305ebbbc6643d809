//! Levels and anomalies by the names that people have for them.

use isolde_report::handbook::{self, Entry};
use isolde_spec::{By, CATALOGUE, Level, Promise};
use isolde_target::nearest;

/// Names that mean several things, or something that Isolde calls otherwise.
const OTHERWISE: &[(&[&str], &str)] = &[
    (
        &["dirty read", "p1", "g1"],
        "a dirty read is an AbortedRead (of what was rolled back), an IntermediateRead (of what was not \
         final) or a part of a G1c (a cycle)",
    ),
    (
        &["phantom", "phantom read", "phantoms", "p3", "g2", "predicate"],
        "a phantom is a change of what a predicate finds: as a cycle it is a G2-item, of two transactions a \
         WriteSkew; `isolde probe` has cases with predicates (PMP, G2)",
    ),
    (
        &["ssi", "serializable snapshot isolation"],
        "serializable is what serializable snapshot isolation promises; strong-snapshot-isolation is another \
         level",
    ),
    (&["mav", "monotonic atomic view"], "read-committed is monotonic atomic view"),
];

/// The page of the handbook: words may be separated by blanks, dashes or nothing.
pub(crate) fn page(name: &str) -> Option<Entry> {
    let words = name.trim().replace(['_', '-'], " ");
    let ways = [name.to_owned(), words.clone(), words.replace(' ', "-"), words.replace(' ', "")];
    ways.iter().find_map(|way| handbook::named(way))
}

/// The promise of a name: a level, or one by timestamps or snapshots.
pub(crate) fn promise(name: &str) -> Option<Promise> {
    let by = |by: By| {
        let level = name.strip_suffix(by.name())?.strip_suffix("-by-")?;
        Some(Promise { by, ..Promise::of(Level::named(level)?) })
    };
    let by_the_server = [By::Timestamps, By::Snapshots, By::Intervals].into_iter().find_map(by);
    by_the_server.or_else(|| Level::named(name).map(Promise::of))
}

/// What was probably meant by a name that the handbook does not have.
pub(crate) fn meant(name: &str) -> Option<String> {
    let plain = name.trim().to_lowercase().replace(['_', '-'], " ");
    let otherwise = OTHERWISE.iter().find(|(names, _)| names.contains(&plain.as_str()));
    if let Some((_, hint)) = otherwise {
        return Some((*hint).to_owned());
    }
    let anomalies = CATALOGUE.iter().map(|entry| entry.name);
    let all = anomalies.chain(Level::ALL.map(Level::name));
    nearest(name, all).map(|near| format!("did you mean {near}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_people_have_are_found_or_explained() {
        for name in
            ["read-skew", "read skew", "write skew", "repeatable read", "Lost_Update", "A5A"]
        {
            assert!(page(name).is_some(), "{name}");
        }
        for name in ["phantom", "dirty-read", "P1", "P3", "SSI", "serialisable", "WriteSkev"] {
            assert!(page(name).is_none() && meant(name).is_some(), "{name}");
        }
        assert_eq!(meant("history.edn"), None);
    }
}

//! The examples of `docs/traces.md` can be read, and both forms say the same.

use isolde_history::{Format, History, Input, Source};

const PAGE: &str = include_str!("../../../../docs/traces.md");

/// The blocks of a language, each with what stands behind the language: the name of a file.
fn blocks(language: &str) -> Vec<(&'static str, &'static str)> {
    let fence = format!("```{language}");
    let parts = PAGE.split(fence.as_str()).skip(1);
    let blocks = parts.filter_map(|part| part.split_once("```")?.0.split_once('\n'));
    blocks.map(|(name, text)| (name.trim(), text)).collect()
}

fn load(source: &Source, format: &str) -> History {
    let recognised = Format::recognise(source).unwrap();
    assert_eq!(recognised.name, format);
    recognised.load(source).unwrap_or_else(|error| panic!("{error}")).finish()
}

#[test]
fn both_forms_of_a_trace_say_the_same() {
    let native = blocks("jsonl");
    assert_eq!(native.len(), 1);
    let native = load(&Source::File(Input::new("page.jsonl", native[0].1)), "jsonl");
    let files = [blocks("json loader"), blocks("csv")].concat();
    let name =
        |name: &str| if name.starts_with('-') { format!("loader{name}") } else { name.to_owned() };
    let files: Vec<Input> = files.iter().map(|(of, text)| Input::new(name(of), *text)).collect();
    assert_eq!(files.len(), 3);
    let folder = load(&Source::Folder { name: "page".to_owned(), files }, "leopard");
    native.same_as(&folder).unwrap();
    assert!(folder.rows_by_column());
}

use expect_test::{Expect, expect};
use proptest::prelude::{ProptestConfig, proptest};

use super::*;
use crate::arbitrary;
use crate::builder::HistoryBuilder;
use crate::error::ReadError;
use crate::history::History;
use crate::notation::{parse, to_text};
use crate::sink::{Sink, SinkError};
use crate::source::Input;

fn source(text: impl Into<Vec<u8>>) -> Source {
    Source::File(Input::new("h.jsonl", text))
}

/// Reads in every way there is; all must agree.
fn load(text: impl Into<Vec<u8>>) -> Result<History, ReadError> {
    let source = source(text);
    let input = source.file()?;
    let mut builder = HistoryBuilder::new();
    let whole = read::read(&source, &mut builder).map(|()| builder.finish());
    let mut streamed = HistoryBuilder::new();
    let stream = read_lines(&input.bytes[..], &input.name, &mut streamed);
    compare("stream", &whole, stream.map(|()| streamed.finish()));
    compare("load", &whole, FORMAT.load(&source).map(HistoryBuilder::finish));
    for chunk in [1, 20, 70, 300] {
        let loaded = read::load_chunks(input, chunk).map_err(|fault| input.text_error(fault));
        compare("chunks", &whole, loaded.map(HistoryBuilder::finish));
    }
    whole
}

fn compare(how: &str, whole: &Result<History, ReadError>, other: Result<History, ReadError>) {
    match (whole, other) {
        (Ok(a), Ok(b)) => a.same_as(&b).unwrap(),
        (Err(a), Err(mut b)) => {
            // A stream cannot see that the end of the line is the end of the file, and that is all.
            b.found = a.found.clone();
            assert_eq!(*a, b, "{how}");
        }
        (a, b) => panic!("{how}: {:?} but {:?}", a.as_ref().map(to_text), b.map(|h| to_text(&h))),
    }
}

fn written(history: &History) -> String {
    let mut out = Vec::new();
    write::write(history, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[expect(clippy::needless_pass_by_value, reason = "expect! makes values")]
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&to_text(&load(text).unwrap()));
}

#[expect(clippy::needless_pass_by_value, reason = "expect! makes values")]
fn check_error(text: &str, expected: Expect) {
    let error = load(text).map(|h| to_text(&h)).unwrap_err();
    expected.assert_eq(&format!("{error}\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_history_survives_writing_and_reading(recipe in arbitrary::recipe()) {
        let history = recipe.build();
        let text = written(&history);
        let again = load(text.as_str()).map_err(|e| format!("{e}\n{text}")).unwrap();
        history.same_as(&again).map_err(|e| format!("{e}\n{text}")).unwrap();
        assert_eq!(written(&again), text);
    }

    #[test]
    fn the_sink_writes_what_the_builder_keeps(recipe in arbitrary::recipe()) {
        let mut writer = JsonlWriter::new(Vec::new());
        recipe.pour(&mut writer).unwrap();
        let text = writer.finish().unwrap();
        recipe.build().same_as(&load(text).unwrap()).unwrap();
    }

    #[test]
    fn damaged_files_are_refused_or_read_but_never_panic(
        recipe in arbitrary::recipe(),
        damage in proptest::collection::vec((0.0..1.0f64, proptest::prelude::any::<u8>()), 1..4),
    ) {
        let mut bytes = written(&recipe.build()).into_bytes();
        for (at, byte) in damage {
            let at = (at * bytes.len() as f64) as usize;
            bytes[at] = byte;
        }
        let _ = load(bytes);
    }
}

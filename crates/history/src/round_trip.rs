//! Any history, through every native format and back, is what it was.

use proptest::prelude::{ProptestConfig, proptest};
use proptest::{prop_assert, prop_assert_eq};

use crate::{
    Event, EvidenceNames, Format, History, Input, Key, Meta, NativeWriter, Pool, SessionEvent,
    Sink, SinkError, Source, StreamPromise, TxnDraft, Value, Warning, arbitrary, notation,
    pack_history,
};

fn native_bytes(history: &History, block: usize) -> Vec<u8> {
    let mut writer = NativeWriter::new(Vec::new()).unwrap().with_block_size(block);
    history.replay(&mut writer).unwrap();
    writer.finish().unwrap()
}

fn through(name: &str, history: &History) -> History {
    let format = Format::named(name).unwrap();
    let mut file = Vec::new();
    format.write.unwrap()(history, &mut file).unwrap();
    load(name, file).0
}

fn load(name: &str, file: Vec<u8>) -> (History, crate::Warnings) {
    let format = Format::named(name).unwrap();
    let source = Source::File(Input::new(name, file));
    format.load(&source).unwrap_or_else(|e| panic!("{e}")).finish_with_warnings()
}

/// The evidence that attributes and events hold, as its typed views have it. Sessions by their names.
fn typed(history: &History) -> Vec<String> {
    let txns = history.txns().map(|txn| {
        let locks: Vec<_> = txn.stmts().map(|stmt| stmt.lock()).collect();
        let ended = (txn.ending(), txn.ended_at(), txn.error_class(), txn.read_only());
        format!("{ended:?} {locks:?}")
    });
    let name = |value| {
        let mut text = String::new();
        notation::write_value(history.pool(), value, &mut text);
        text
    };
    let sessions = history.session_events().map(|event| {
        let next = match event {
            SessionEvent::Heartbeat { .. } => None,
            SessionEvent::Ended { next, .. } => Some(next),
        };
        format!("{} {} {:?}", name(event.session()), event.at(), next.map(|n| n.map(name)))
    });
    let promises = history.promises().map(|promise| {
        let StreamPromise { session, watermark, end } = promise;
        format!("{:?} {watermark:?} {end}", session.map(name))
    });
    txns.chain(sessions).chain(promises).collect()
}

/// What a draft says of itself, through the same history's words.
fn typed_by_drafts(history: &History) -> Vec<String> {
    let mut sink = DraftReader::default();
    history.replay(&mut sink).unwrap();
    sink.said
}

/// Reads the typed evidence of drafts, and keeps nothing else.
#[derive(Default)]
struct DraftReader {
    pool: Pool,
    meta: Meta,
    said: Vec<String>,
}

impl Sink for DraftReader {
    fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }

    fn meta(&mut self) -> &mut Meta {
        &mut self.meta
    }

    fn transaction(&mut self, txn: &TxnDraft) -> Result<(), SinkError> {
        let names = EvidenceNames::new(&mut self.pool);
        let locks: Vec<_> = txn.stmts().map(|stmt| names.lock(&stmt)).collect();
        let ended = (names.ending(txn, &self.pool), names.ended_at(txn));
        let ended = (ended.0, ended.1, names.error_class(txn), names.read_only(txn));
        self.said.push(format!("{ended:?} {locks:?}"));
        Ok(())
    }

    fn event(&mut self, _: Event) -> Result<(), SinkError> {
        Ok(())
    }

    fn version_order(&mut self, _: Key, _: &[Value]) -> Result<(), SinkError> {
        Ok(())
    }

    fn warn(&mut self, _: Warning) {}
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn typed_evidence_comes_back_and_drafts_say_the_same(recipe in arbitrary::recipe()) {
        let history = recipe.build();
        let want = typed(&history);
        for format in ["isolde", "jsonl", "notation"] {
            prop_assert_eq!(&typed(&through(format, &history)), &want, "{}", format);
        }
        prop_assert_eq!(&typed_by_drafts(&history)[..], &want[..history.txn_count()]);
    }

    #[test]
    fn isolde_to_jsonl_to_isolde_is_the_identity(recipe in arbitrary::recipe()) {
        let history = recipe.build();
        let first = through("isolde", &history);
        let second = through("jsonl", &first);
        let third = through("isolde", &second);
        prop_assert!(history.same_as(&third).is_ok(), "{:?}", history.same_as(&third));
    }

    #[test]
    fn a_history_packed_at_once_is_what_it_was(recipe in arbitrary::recipe()) {
        let history = recipe.build();
        let (back, warnings) = load("isolde", pack_history(&history).unwrap());
        prop_assert!(history.same_as(&back).is_ok(), "{:?}", history.same_as(&back));
        prop_assert_eq!(typed(&history), typed(&back));
        prop_assert_eq!(warnings.count, 0);
    }

    #[test]
    fn the_notation_is_the_identity(recipe in arbitrary::recipe()) {
        let history = recipe.build();
        let back = through("notation", &history);
        prop_assert!(history.same_as(&back).is_ok(), "{:?}", history.same_as(&back));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    /// Cut at every byte of its last block, the file gives the blocks before it; and they, through
    /// both formats, come back as they were.
    #[test]
    fn a_cut_file_is_the_identity_on_what_is_left(recipe in arbitrary::recipe()) {
        let history = recipe.build();
        let bytes = native_bytes(&history, 3);
        let last = crate::native::block_ranges(&bytes).pop().unwrap();
        let (want, _) = load("isolde", bytes[..last.start].to_vec());
        let again = through("isolde", &through("jsonl", &want));
        prop_assert!(want.same_as(&again).is_ok(), "{:?}", want.same_as(&again));
        let (whole, _) = load("isolde", bytes[..last.end].to_vec());
        for cut in last.start..bytes.len() {
            let (got, warnings) = load("isolde", bytes[..cut].to_vec());
            prop_assert!(warnings.count == 1 && !got.meta().complete);
            let want = if cut < last.end { &want } else { &whole };
            prop_assert!(want.same_as(&got).is_ok(), "{cut}: {:?}", want.same_as(&got));
        }
    }
}

//! Any history, through every native format and back, is what it was.

use proptest::prelude::{ProptestConfig, proptest};
use proptest::prop_assert;

use crate::arbitrary;
use crate::{Format, History, Input, NativeWriter, Source};

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn isolde_to_jsonl_to_isolde_is_the_identity(recipe in arbitrary::recipe()) {
        let history = recipe.build();
        let first = through("isolde", &history);
        let second = through("jsonl", &first);
        let third = through("isolde", &second);
        prop_assert!(history.same_as(&third).is_ok(), "{:?}", history.same_as(&third));
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

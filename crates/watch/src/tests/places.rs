//! Places: from each of them the rest is the same.

use std::path::PathBuf;

use isolde_history::{Format, HistoryBuilder, Input, NativeWriter, Source};

use crate::agreed::Agreed;
use crate::feed::{Feed, Message, Over, feed};
use crate::gather::Gather;
use crate::growing::Growing;
use crate::native;
use crate::place::{BlockPlace, LinePlace, Mark, Place, Tail};
use crate::said::Said;
use crate::state::{State, StateOf};

/// Everything that a reader sends, with the places.
fn sent(read: impl FnOnce(&Feed) -> Result<(), Over> + Send) -> Vec<Message> {
    let (feed, fed) = feed();
    std::thread::scope(|scope| {
        // Only so many wait to be taken.
        let read = scope.spawn(move || read(&feed));
        let messages = fed.receiver.iter().collect();
        assert_eq!(read.join().unwrap(), Ok(()));
        messages
    })
}

/// What does not depend on how lines are put together: transactions with the level of their header, and what is bad.
fn content(messages: &[Message]) -> Vec<String> {
    let mut content = Vec::new();
    for message in messages {
        match message {
            Message::Batch { history, .. } => {
                let level = history.info_text("level").unwrap_or("none");
                let txn = |txn: isolde_history::Txn<'_>| format!("{level} {:?}", txn.commit_ts());
                content.extend(history.txns().map(txn));
            }
            Message::Bad(why) => content.push(why.clone()),
            _ => {}
        }
    }
    content
}

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("isolde-watch-place-{}-{name}", std::process::id()))
}

/// Each place in the messages, as it is kept, and what came behind it.
fn rests(messages: &[Message]) -> Vec<(Place, Vec<String>)> {
    let mut rests = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if let Message::Batch { place: Some(place), .. } = message {
            let mark = Mark { bad: 3, file: Some((1, 2)), place: Some(place.clone()) };
            let kept = Mark::from_bytes(&mark.to_bytes()).unwrap();
            assert_eq!(kept, mark);
            rests.push((kept.place.unwrap(), content(&messages[at + 1..])));
        }
    }
    rests
}

#[test]
fn lines_are_read_on_from_every_place() {
    let txn =
        |at: u32| format!("{{\"session\":1,\"ops\":[[\"w\",\"x\",{at}]],\"ts\":[{at},{at}]}}\n");
    let mut text = String::from("\n{\"isolde\":1,\"level\":\"si\"}\n");
    for at in 0..1300 {
        text += &txn(at);
        match at % 100 {
            7 => text += "nonsense\n",
            8 => text += "\r\n",
            9 => text += "{\"session\":1,\"watermark\":5}\n",
            50 => text += &format!("{}\n", "x".repeat(500)),
            _ => {}
        }
        if at == 600 {
            text += "{\"meta\":{\"complete\":true}}\n{\"isolde\":1,\"level\":\"ser\"}\n";
        }
    }
    text += txn(1300).trim_end();
    let path = path("lines.jsonl");
    std::fs::write(&path, &text).unwrap();
    let said = &Agreed::new(Said::default());
    let gather = Gather::new("s", said, None).with_max_line(300);
    let all = sent(|feed| Growing::open(&path).unwrap().run(gather, true, feed));
    assert_eq!(content(&all).len(), 1301 + 26, "{:?}", content(&all).last());
    let rests = rests(&all);
    assert!(rests.len() > 20, "{}", rests.len());
    for (place, rest) in rests {
        let Place::Lines(place) = place else { panic!("{place:?}") };
        let mut file = Growing::open(&path).unwrap();
        let gather = file.gather_at(&place, said).unwrap().with_max_line(300);
        let again = content(&sent(|feed| file.run(gather, true, feed)));
        let renamed: Vec<_> =
            again.iter().map(|told| told.replace(&path.display().to_string(), "s")).collect();
        assert_eq!(renamed, rest, "{place:?}");
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_line_that_is_left_out_is_left_out_to_its_end() {
    let mut gather = super::gather().with_max_line(50);
    gather.push(&[b'x'; 80]);
    let mut out = gather.push(b"yy\n{\"session\":1,\"ops\":[[\"w\",\"x\",1]]}\n");
    out.extend(gather.flush());
    let [Message::Batch { place: Some(Place::Lines(place)), .. }] = &out[..] else { panic!() };
    assert_eq!((place.offset, place.lines, place.skipping), (117, 2, false));
}

#[test]
fn blocks_are_read_on_from_every_place() {
    let mut text = String::from("{\"isolde\":1,\"level\":\"si\"}\n");
    for at in 0..4000 {
        text += &format!(
            "{{\"session\":{},\"ops\":[[\"w\",\"x{at}\",{at}]],\"ts\":[{at},{at}]}}\n",
            at % 7
        );
    }
    let jsonl = Format::named("jsonl").unwrap();
    let source = Source::File(Input::new("h.jsonl", text.into_bytes()));
    let history = jsonl.load(&source).map(HistoryBuilder::finish).unwrap();
    let mut writer = NativeWriter::new(Vec::new()).unwrap().with_block_size(1300);
    history.replay(&mut writer).unwrap();
    let path = path("blocks.isolde");
    std::fs::write(&path, writer.finish().unwrap()).unwrap();
    let said = &Agreed::new(Said::default());
    let read = |reached: Option<BlockPlace>| {
        let file = Growing::open(&path).unwrap();
        sent(|feed| native::run(file, said, reached, true, feed))
    };
    let all = read(None);
    assert_eq!(content(&all).len(), 4000);
    let rests = rests(&all);
    assert!(rests.len() >= 10, "{}", rests.len());
    for (place, rest) in rests {
        let Place::Blocks(place) = place else { panic!("{place:?}") };
        assert_eq!(content(&read(Some(place.clone()))), rest, "{place:?}");
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn another_file_of_the_same_length_is_noticed() {
    let path = path("other.jsonl");
    std::fs::write(&path, "0123456789\nrest").unwrap();
    let mut file = Growing::open(&path).unwrap();
    let tail = Tail::of(b"0123456789\n");
    let place = LinePlace { offset: 11, lines: 1, tail, ..LinePlace::default() };
    assert!(file.go_to(&place).is_ok());
    assert!(file.is_still(None, 16).unwrap_err().contains("has shrunk"));
    std::fs::write(&path, "0123456798\nrest").unwrap();
    assert!(file.go_to(&place).unwrap_err().contains("was replaced"));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_mark_of_another_kind_is_not_taken_for_none() {
    assert_eq!(Mark::from_bytes(b"{\"bad\":2}"), Some(Mark { bad: 2, ..Mark::default() }));
    for mark in ["", "{}", "{\"bad\":1,\"lines\":[1]}", "{\"bad\":1,\"blocks\":[1,2]}", "[1]"] {
        assert_eq!(Mark::from_bytes(mark.as_bytes()), None, "{mark}");
    }
}

#[test]
fn what_came_before_the_first_batch_is_kept_too() {
    let folder = path("state");
    let source = "http:127.0.0.1:1".parse().unwrap();
    let said = Said::default();
    let of = StateOf { source: &source, said: &said };
    let mut state = State::open(&folder, &of).unwrap();
    assert_eq!((state.header().unwrap(), state.early()), (None, (0, None)));
    state.keep_header(b"{\"isolde\":1}").unwrap();
    state.keep_early(2, Some("nonsense")).unwrap();
    assert!(State::open(&folder, &of).is_err_and(|why| why.contains("is in use")));
    let id = state.id().to_owned();
    drop(state);
    let state = State::open(&folder, &of).unwrap();
    assert_eq!(state.id(), id);
    assert_eq!(state.header().unwrap().unwrap(), b"{\"isolde\":1}");
    assert_eq!(state.early(), (2, Some("nonsense".to_owned())));
    std::fs::remove_dir_all(&folder).unwrap();
}

//! Lines: torn, too long, wrong; headers; batches.

use isolde_history::Value;

use super::{gather, told};
use crate::agreed::Agreed;
use crate::feed::Message;
use crate::frame::{Framed, Frames};
use crate::gather::{Gather, Of};
use crate::room::Room;
use crate::said::Said;

const TXN: &str = "{\"session\":1,\"ops\":[[\"w\",\"x\",1]]}\n";

fn framed(pieces: &[&str], max: usize) -> (Vec<String>, String) {
    let (mut frames, mut out) = (Frames::default(), Vec::new());
    for piece in pieces {
        frames.push(piece.as_bytes(), max, &mut |framed, _| {
            out.push(match framed {
                Framed::Line(line) => String::from_utf8(line.to_vec()).unwrap(),
                Framed::TooLong { .. } => "TOO LONG".to_owned(),
            });
        });
    }
    (out, String::from_utf8(frames.rest().0).unwrap())
}

#[test]
fn a_line_is_whole_when_its_end_has_come() {
    let (lines, rest) = framed(&["a", "b\nc\n", "", "\nd", "e"], 10);
    assert_eq!(lines, ["ab", "c", ""]);
    assert_eq!(rest, "de");
}

#[test]
fn a_line_that_is_too_long_is_skipped_to_its_end() {
    for pieces in [&["abcdefg\nh\n"][..], &["abc", "def", "g", "hi\nh\n"], &["abcdefg", "\nh\n"]] {
        assert_eq!(framed(pieces, 5).0, ["TOO LONG", "h"], "{pieces:?}");
    }
    assert_eq!(framed(&["abcde\n"], 5).0, ["abcde"]);
}

#[test]
fn a_torn_line_waits_and_counts_at_the_end_if_it_can_be_read() {
    let mut gather = gather();
    let (first, second) = TXN.split_at(20);
    assert!(gather.push(first.as_bytes()).is_empty() && gather.flush().is_empty());
    gather.push(second.as_bytes());
    assert_eq!(told(&gather.flush()), ["1"]);
    gather.push(TXN.trim_end().as_bytes());
    assert_eq!(told(&gather.end()), ["1"]);
    gather.push(first.as_bytes());
    let end = told(&gather.end());
    assert!(end.len() == 1 && end[0].starts_with("bad s:3:"), "{end:?}");
}

#[test]
fn bad_lines_are_told_with_their_numbers_and_the_others_stay() {
    let mut gather = gather();
    let text = format!("{{\"isolde\":1}}\n{TXN}nonsense\n{TXN}\n{{\"session\":}}\n[]\n{TXN}");
    let mut out = gather.push(text.as_bytes());
    out.extend(gather.flush());
    let out = told(&out);
    let (bad, good): (Vec<_>, Vec<_>) = out.iter().partition(|told| told.starts_with("bad"));
    assert_eq!(bad[0], "bad s:3:1: expected a JSON object, found 'nonsense'");
    assert!(bad[1].starts_with("bad s:6:12: ") && bad[2].starts_with("bad s:7:1: "), "{out:?}");
    assert_eq!(good.iter().map(|txns| txns.parse::<usize>().unwrap()).sum::<usize>(), 3);
}

#[test]
fn a_line_that_is_too_long_is_told_with_its_number() {
    let mut gather = gather().with_max_line(60);
    let text = format!("{TXN}{}\n{TXN}", "x".repeat(100));
    let mut out = gather.push(text.as_bytes());
    out.extend(gather.flush());
    assert_eq!(told(&out), ["1", "bad s:2:1: the line is longer than 60 bytes", "1"]);
}

#[test]
fn every_batch_carries_what_the_header_says() {
    let said = Said { initial: None, facts: vec![("commit-order".into(), "serial".into())] };
    let mut gather = Gather::new("s", &Agreed::new(said), None);
    let header = "\n{\"isolde\":1,\"level\":\"ser\",\"initial\":{\"default\":7}}\n";
    let mut out = gather.push((header.to_owned() + TXN).as_bytes());
    out.extend(gather.flush());
    gather.push(TXN.as_bytes());
    out.extend(gather.flush());
    assert_eq!(told(&out), ["1", "1"]);
    for message in &out {
        let Message::Batch { history, .. } = message else { panic!() };
        assert_eq!(history.meta().initial.default, Some(Value::from_u32(7)));
        assert_eq!(history.info_text("level"), Some("ser"));
        assert_eq!(history.info_text("commit-order"), Some("serial"));
    }
}

#[test]
fn a_header_is_the_first_line_or_follows_the_end_of_another_file() {
    let mut gather = gather();
    let header = "{\"isolde\":1}\n";
    gather.push(format!("{TXN}{header}").as_bytes());
    let out = told(&gather.flush());
    assert!(out[0].starts_with("bad s:2:1: a header") && out[1] == "1", "{out:?}");
    let trailer = "{\"meta\":{\"complete\":true}}\n";
    let mut out = gather.push(format!("{TXN}{trailer}{header}{TXN}").as_bytes());
    out.extend(gather.flush());
    assert_eq!(told(&out), ["1", "1"]);
    let mut late = super::gather();
    let out = told(&late.push(b"{\"isolde\":99}\n"));
    assert!(out[0].starts_with("bad s:1:11: the file has version 99"), "{out:?}");
}

#[test]
fn a_promise_ends_its_batch_before_the_next_transaction() {
    let mut gather = gather();
    let promise = "{\"watermark\":5,\"session\":1}\n";
    let text = format!("{TXN}{promise}{promise}{TXN}{TXN}{promise}");
    let mut out = gather.push(text.as_bytes());
    out.extend(gather.flush());
    assert_eq!(told(&out), ["1!", "2!"]);
    let stmts = "{\"session\":1,\"stmts\":[[[\"w\",\"x\",1]]]}\n";
    gather.push(format!("{TXN}{promise}").as_bytes());
    assert_eq!(told(&gather.push(stmts.as_bytes())), ["1!"]);
}

#[test]
fn a_batch_has_at_most_500_lines() {
    let mut gather = gather();
    let mut out = gather.push(TXN.repeat(1200).as_bytes());
    out.extend(gather.flush());
    assert_eq!(told(&out), ["500", "500", "200"]);
}

const OPEN: &str = "{\"isolde\":1,\"complete\":false}\n";

fn all(mut gather: Gather, text: &str) -> Vec<String> {
    let mut out = gather.push(text.as_bytes());
    out.extend(gather.end());
    told(&out)
}

#[test]
fn what_says_that_it_is_incomplete_is_so_at_its_end_unless_a_last_line_takes_it_back() {
    let told = all(gather(), &format!("{OPEN}{TXN}"));
    assert!(
        told[..2] == ["opened", "1"] && told[2].starts_with("incomplete s has ended"),
        "{told:?}"
    );
    let said = "{\"meta\":{\"complete\":true}}\n";
    assert_eq!(all(gather(), &format!("{OPEN}{TXN}{said}")), ["opened", "closed", "1"]);
    let denied = "{\"meta\":{\"complete\":false}}\n";
    let told = all(gather(), &format!("{TXN}{denied}"));
    assert!(told[0].starts_with("incomplete s:2 says") && told[1] == "1", "{told:?}");
    let other = "{\"meta\":{\"lost-connections\":0}}\n";
    assert_eq!(all(gather(), &format!("{TXN}{other}")), ["1"]);
    let told = all(gather(), &format!("{OPEN}{TXN}{other}"));
    assert!(told[2].starts_with("incomplete"), "{told:?}");
}

#[test]
fn a_last_line_with_another_initial_state_is_told() {
    let header = "{\"isolde\":1,\"initial\":{\"default\":0}}\n";
    let last = |value: &str| format!("{{\"meta\":{{\"initial\":{{\"default\":{value}}}}}}}\n");
    assert_eq!(all(gather(), &format!("{header}{TXN}{}", last("0"))), ["1"]);
    let told = all(gather(), &format!("{header}{TXN}{}", last("1")));
    assert!(told[0].starts_with("bad s:3:1: the stream began with another initial"), "{told:?}");
}

#[test]
fn a_line_that_was_cut_comes_again_where_lines_are_acknowledged() {
    let mut torn = gather().of(Of::Acknowledged);
    torn.push(format!("{TXN}{}", &TXN[..20]).as_bytes());
    let end = told(&torn.end());
    assert!(end[0] == "1" && end[1].starts_with("notice s has ended within line 2"), "{end:?}");
    assert_eq!(torn.passed(), 1);
    // It can be read without its end.
    let mut whole = gather().of(Of::Acknowledged);
    whole.push(TXN.trim_end().as_bytes());
    assert_eq!((told(&whole.end()), whole.passed()), (vec!["1".to_owned()], 1));
}

#[test]
fn a_blank_line_does_not_hide_that_a_promise_is_broken() {
    let promise = "{\"watermark\":5,\"session\":1}\n";
    assert_eq!(all(gather(), &format!("{TXN}{promise}\n{TXN}")), ["1!", "1"]);
}

#[test]
fn a_session_named_ops_may_promise() {
    let promise = "{\"watermark\":5,\"session\":\"ops\"}\n";
    assert_eq!(all(gather(), &format!("{TXN}{promise}{TXN}")), ["1!", "1"]);
}

#[test]
fn a_byte_order_mark_is_skipped_at_the_beginning_of_a_file_only() {
    let text = format!("\u{feff}{{\"isolde\":1}}\n{TXN}");
    assert_eq!(all(gather().of(Of::File), &text), ["1"]);
    assert!(all(gather(), &text)[0].starts_with("bad s:1:1"));
    assert!(all(gather().of(Of::File), &format!("{TXN}\u{feff}{TXN}"))[0].starts_with("bad s:2:1"));
}

#[test]
fn lines_that_have_begun_share_what_there_is_of_room() {
    let room = Room::of(30);
    let (mut one, mut other) = (gather().sharing(room.share()), gather().sharing(room.share()));
    assert!(one.push(&TXN.as_bytes()[..20]).is_empty());
    let out = told(&other.push(&TXN.as_bytes()[..20]));
    assert!(out.len() == 1 && out[0].contains("no room for this one"), "{out:?}");
    let mut rest = other.push(format!("xx\n{TXN}").as_bytes());
    rest.extend(other.flush());
    assert_eq!(told(&rest), ["1"]);
    let mut rest = one.push(&TXN.as_bytes()[20..]);
    rest.extend(one.flush());
    assert_eq!(told(&rest), ["1"]);
}

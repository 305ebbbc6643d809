//! Requests: heads, bodies, chunks, limits; what bodies hold.

use std::io::BufRead;

use super::told;
use crate::agreed::Agreed;
use crate::feed::{Fed, Message, feed};
use crate::http::{Answer, Bodies, RequestHead, read_body, read_head};
use crate::room::Room;
use crate::said::Said;

fn read(mut text: &[u8], max: usize) -> Result<(RequestHead, Vec<u8>), u16> {
    let stream: &mut dyn BufRead = &mut text;
    let head = read_head(stream).map_err(|refusal| refusal.status)?.ok_or(0u16)?;
    let body = read_body(&head, max, stream, &mut Room::default().share())
        .map_err(|refusal| refusal.status)?;
    Ok((head, body))
}

#[test]
fn a_body_has_a_length_or_comes_in_chunks() {
    let (head, body) =
        read(b"POST /check?x=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello rest", 9)
            .unwrap();
    assert_eq!((&*head.method, &*head.path, &body[..]), ("POST", "/check", &b"hello"[..]));
    let chunked = b"POST /check HTTP/1.1\nTransfer-Encoding: chunked\n\n3\r\nhel\r\n2;a=b\r\nlo\r\n0\r\nT: 1\r\n\r\n";
    assert_eq!(read(chunked, 5).unwrap().1, b"hello");
}

#[test]
fn what_is_too_large_or_cut_or_no_request_is_refused() {
    let head = "POST /check HTTP/1.1\r\n";
    let refused = [
        ("Content-Length: 10\r\n\r\nhello hello", 413),
        ("Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n3\r\nlo \r\n0\r\n\r\n", 413),
        ("Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 413),
        ("Transfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
        ("Transfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n", 400),
        ("Transfer-Encoding: chunked\r\n\r\n3\r\nhe", 400),
        ("Transfer-Encoding: gzip\r\n\r\n", 400),
        ("Content-Length: 5\r\n\r\nhell", 400),
        ("Content-Length: +5\r\n\r\nhello", 400),
        ("Content-Length: 5\r\nContent-Length: 4\r\n\r\nhello", 400),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("no colon\r\n\r\n", 400),
        ("Host: x", 400),
    ];
    for (rest, status) in refused {
        assert_eq!(read(format!("{head}{rest}").as_bytes(), 5), Err(status), "{rest}");
    }
    assert_eq!(read(b"nonsense\r\n\r\n", 5), Err(400));
    assert_eq!(read(b"GET / HTTP/2\r\n\r\n", 5), Err(400));
    assert_eq!(read(b"", 5), Err(0));
    let long = format!("{head}A: {}\r\n\r\n", "x".repeat(20 << 10));
    assert_eq!(read(long.as_bytes(), 5), Err(400));
}

fn taken(bodies: &[&str]) -> (Vec<Answer>, Vec<String>) {
    let (feed, fed) = feed();
    let all = Bodies::new("h", &Agreed::new(Said::default()));
    let answers =
        bodies.iter().map(|body| all.take("h", body.as_bytes().to_vec(), &feed)).collect();
    (answers, told(&messages(&fed)))
}

fn messages(fed: &Fed) -> Vec<Message> {
    fed.receiver.try_iter().collect()
}

#[test]
fn a_body_is_lines_or_an_array_and_taken_whole_or_not_at_all() {
    let txn = r#"{"session":1,"ops":[["w","x",1]]}"#;
    let array = r#" [{"tid":1,"sid":7,"sts":{"p":1,"l":0},"cts":{"p":2,"l":0},"ops":[{"t":"w","k":5,"v":4}]}]"#;
    let lines = format!("{txn}\n{txn}");
    let broken = format!("{txn}\nnonsense\n");
    let (answers, told) = taken(&[&lines, array, &broken, "[{\"tid\":1}]", "[]", ""]);
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 200, 400, 400, 200, 200]);
    assert_eq!(answers[0].body, "{\"accepted\":2}\n");
    assert_eq!(answers[1].body, "{\"accepted\":1}\n");
    assert!(answers[2].body.contains("h:2:1: expected a JSON object"), "{}", answers[2].body);
    assert_eq!(answers[4].body, "{\"accepted\":0}\n");
    assert_eq!(told.len(), 5, "{told:?}");
    assert!(told[0] == "2" && told[2] == "1", "{told:?}");
    assert!(told[1].starts_with("incomplete TimeKiller's arrays do not say"), "{told:?}");
    assert!(told[3].starts_with("bad h:2:1") && told[4].starts_with("bad h:1"), "{told:?}");
}

#[test]
fn arrays_guess_no_initial_state_of_their_own() {
    let reads_zero = r#"[{"tid":1,"sid":7,"sts":{"p":1,"l":0},"cts":{"p":2,"l":0},"ops":[{"t":"r","k":5,"v":0}]}]"#;
    let (_, unsaid) = taken(&[reads_zero, reads_zero]);
    assert!(unsaid.len() == 3 && unsaid[0].starts_with("incomplete"), "{unsaid:?}");
    let header = r#"{"isolde":1,"initial":{"default":0}}"#;
    assert_eq!(taken(&[header, reads_zero]).1, ["1"]);
}

#[test]
fn a_header_with_another_initial_state_is_refused() {
    let txn = r#"{"session":1,"ops":[["w","x",1]]}"#;
    let headers = [r#"{"default":0}"#, r#"{"default":0}"#, r#"{"default":1}"#];
    let bodies = headers.map(|initial| format!("{{\"isolde\":1,\"initial\":{initial}}}\n{txn}"));
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let (answers, told) = taken(&bodies);
    assert_eq!(answers.iter().map(|a| a.status).collect::<Vec<_>>(), [200, 200, 400]);
    assert!(answers[2].body.contains("another initial state"), "{}", answers[2].body);
    assert!(told[..2] == ["1", "1"] && told[2].starts_with("bad h:1:1: "), "{told:?}");
}

#[test]
fn a_body_that_was_cut_is_told_from_one_that_is_wrong() {
    let cut = |text: &[u8], room: &Room| {
        let stream: &mut dyn BufRead = &mut &text[..];
        let head = read_head(stream).unwrap().unwrap();
        let none = read_body(&head, 9, stream, &mut room.share()).unwrap_err();
        (none.cut, none.status)
    };
    let room = Room::default();
    let text = b"POST /check HTTP/1.1\r\nContent-Length: 5\r\n\r\nhell";
    assert_eq!(cut(text, &room), (true, 400));
    assert_eq!(cut(text, &Room::of(4)), (true, 503));
    assert_eq!(
        cut(b"POST /check HTTP/1.1\r\nContent-Length: 10\r\n\r\nhello hello", &room),
        (false, 413)
    );
}

#[test]
fn a_header_holds_for_the_bodies_that_follow() {
    let txn = r#"{"session":1,"ops":[["w","x",1]]}"#;
    let (feed, fed) = feed();
    let all = Bodies::new("h", &Agreed::new(Said::default()));
    for body in [r#"{"isolde":1,"level":"si"}"#, txn] {
        assert_eq!(all.take("h", body.as_bytes().to_vec(), &feed).status, 200);
    }
    let messages = messages(&fed);
    let [Message::Batch { history, .. }] = &messages[..] else { panic!("{:?}", told(&messages)) };
    assert_eq!(history.info_text("level"), Some("si"));
}

//! Any bytes at all, into every reader: nothing panics, and nothing is taken for what it is not.

use std::io::{BufReader, Cursor, Read};
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

use super::{gather, told};
use crate::acks::Acks;
use crate::agreed::Agreed;
use crate::feed::{Feed, Over, feed};
use crate::growing::Growing;
use crate::http::{Bodies, read_body, read_head};
use crate::inbox::read_to_end;
use crate::room::Room;
use crate::said::Said;
use crate::{native, piped};

/// Pieces: of what sources send, and of nothing in particular.
fn pieces() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let known: Vec<&[u8]> = vec![
        b"{\"isolde\":1,\"initial\":{\"default\":0}}\n",
        b"{\"session\":1,\"ops\":[[\"w\",\"x\",1]],\"ts\":[1,2]}\n",
        b"{\"session\":1,\"watermark\":5}\n",
        b"{\"meta\":{\"complete\":true}}\n",
        b"{\"order\":\"x\",\"versions\":[1]}\n",
        b"[{\"tid\":1,\"sid\":7,\"sts\":1,\"cts\":2,\"ops\":[]}]",
        b"POST /check HTTP/1.1\r\n",
        b"Content-Length: 7\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n",
        b"4\r\n{\"is\r\n0\r\n\r\n",
        b"\n",
        b"{\"session\":",
    ];
    let known: Vec<Vec<u8>> = known.into_iter().map(<[u8]>::to_vec).collect();
    let known = (0..known.len()).prop_map(move |at| known[at].clone());
    let piece = prop_oneof![known, vec(any::<u8>(), 0..40), Just(vec![b'x'; 300])];
    vec(piece, 0..12)
}

/// Runs a reader until it ends; what it sent.
fn sent(read: impl FnOnce(&Feed) -> Result<(), Over>) -> Vec<String> {
    let (feed, fed) = feed();
    let done = read(&feed);
    assert_eq!(done, Ok(()));
    told(&fed.receiver.try_iter().collect::<Vec<_>>())
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path =
        std::env::temp_dir().join(format!("isolde-watch-test-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    path
}

proptest! {
    #[test]
    fn bytes_never_panic(pieces in pieces()) {
        let said = &Agreed::new(Said::default());
        let whole: Vec<u8> = pieces.concat();
        let mut by_pieces = gather().with_max_line(200);
        let mut out: Vec<_> = pieces.iter().flat_map(|piece| by_pieces.push(piece)).collect();
        out.extend(by_pieces.end());
        // However the bytes are cut, the same lines are found wrong.
        let mut at_once = gather().with_max_line(200);
        let mut other = at_once.push(&whole);
        other.extend(at_once.end());
        let bad = |told: Vec<String>| told.into_iter().filter(|t| t.starts_with("bad")).count();
        assert_eq!(bad(told(&out)), bad(told(&other)));

        sent(|feed| read_to_end(&mut &whole[..], &mut gather(), &mut Acks::none(), feed));
        let piped = sent(|feed| piped::run(Cursor::new(whole.clone()), "p", said, feed));
        assert_eq!(piped.last().map(String::as_str), Some("ended"));

        let mut stream = BufReader::new(&whole[..]);
        while let Ok(Some(head)) = read_head(&mut stream) {
            if read_body(&head, 100, &mut stream, &mut Room::default().share()).is_err() {
                break;
            }
        }
        sent(|feed| {
            Bodies::new("h", said).take("h", whole.clone(), feed);
            Ok(())
        });
        for name in ["bytes.jsonl", "bytes.isolde"] {
            let path = file(name, &whole);
            let grown = Growing::open(&path).unwrap();
            let told = sent(|feed| match name.ends_with("isolde") {
                true => native::run(grown, said, None, true, feed),
                false => grown.run(gather(), true, feed),
            });
            let last = told.last().unwrap();
            assert!(last == "ended" || last.starts_with("failed"), "{told:?}");
        }
    }
}

#[test]
fn a_file_that_shrinks_or_is_replaced_is_noticed() {
    let path = file("shrinks.jsonl", b"0123456789");
    let mut growing = Growing::open(&path).unwrap();
    growing.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(growing.trouble(), None);
    std::fs::write(&path, b"01234").unwrap();
    assert!(growing.trouble().unwrap().contains("has shrunk: it has 5 bytes, and 10 were read"));
    std::fs::write(&path, b"0123456789abc").unwrap();
    let other = file("other.jsonl", b"0123456789abcdef");
    std::fs::rename(&other, &path).unwrap();
    assert!(growing.trouble().unwrap().contains("was replaced"));
    std::fs::remove_file(&path).unwrap();
    assert!(growing.trouble().unwrap().contains("has gone"));
}

//! A native file is followed while it is written.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use isolde_history::notation::{parse, to_text};
use isolde_history::{
    Followed, Format, History, HistoryBuilder, Input, NativeFollower, NativeWriter, Sink, Source,
    TxnDraft, Value, Warnings,
};

const SAMPLE: &str = r#"
meta server "postgres 15.18"
initial 0
event partition @[5,_] {node:n1}
a 1: [r(x,1) w(x,"text")]@[1,2]{affected=1,lock=exclusive} r(y,1)@[3,4] @[1,9] {end-sent=7}
b: append(l,1) list(l,[1,2]) cas!(x,1,2) pred(p,x=1,y=2) abort {server-ended-at=3,error-class=deadlock}
a: w(x,{a:1,b:[1,nan]}) savepoint(s) w(x,2) rollback(s) unknown
a T9: w(x,18446744073709551615) r(x,null) {read-only=false}
b: @[3,4]
event heartbeat @[20,_] {session:a}
event session-end @[30,_] {session:a,next:c}
order x: 1 2 3
"#;

fn file(history: &History, block: usize) -> Vec<u8> {
    let mut writer = NativeWriter::new(Vec::new()).unwrap().with_block_size(block);
    history.replay(&mut writer).unwrap();
    writer.finish().unwrap()
}

fn load(bytes: &[u8]) -> Result<(History, Warnings), String> {
    let source = Source::File(Input::new("x", bytes));
    let loaded = Format::named("isolde").unwrap().load(&source);
    loaded.map(HistoryBuilder::finish_with_warnings).map_err(|e| e.to_string())
}

/// All that can be had of these bytes, and what the last call said.
fn follow(bytes: &[u8]) -> Result<(Followed, History, Warnings), String> {
    let mut builder = HistoryBuilder::new();
    let mut follower = NativeFollower::new(bytes, "x");
    let done = follower.read_blocks(&mut builder).map_err(|e| e.to_string())?;
    follower.finish(&mut builder).map_err(|e| e.to_string())?;
    let (history, warnings) = builder.finish_with_warnings();
    Ok((done, history, warnings))
}

/// A file that several hold open; it gives and takes in pieces.
#[derive(Clone, Default)]
struct Growing {
    bytes: Arc<Mutex<Vec<u8>>>,
    read: usize,
}

impl Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(37)];
        self.bytes.lock().unwrap().extend_from_slice(piece);
        thread::yield_now();
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Growing {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.bytes.lock().unwrap();
        let mut rest = &bytes[self.read..];
        let len = rest.read(into)?;
        self.read += len;
        Ok(len)
    }
}

#[test]
fn a_file_that_is_cut_anywhere_gives_its_whole_blocks() {
    let history = parse(SAMPLE).unwrap();
    for block in [1, 2, 100] {
        let bytes = file(&history, block);
        for cut in 0..=bytes.len() {
            let part = &bytes[..cut];
            match (load(part), follow(part)) {
                (Ok((want, warned)), Ok((done, got, warnings))) => {
                    want.same_as(&got).unwrap_or_else(|e| panic!("{cut}: {e}"));
                    assert_eq!(warnings, warned, "cut at {cut}");
                    let ended = cut == bytes.len();
                    assert_eq!(done, if ended { Followed::Ended } else { Followed::Waiting });
                }
                (Err(want), Err(got)) => assert_eq!(want, got, "cut at {cut}"),
                (want, got) => panic!("{cut}: {:?} {:?}", want.is_ok(), got.is_ok()),
            }
        }
    }
}

#[test]
fn what_comes_byte_by_byte_comes_whole() {
    let history = parse(SAMPLE).unwrap();
    let bytes = file(&history, 2);
    let file = Growing::default();
    let (mut builder, mut blocks) = (HistoryBuilder::new(), Vec::new());
    let mut follower = NativeFollower::new(file.clone(), "x");
    for byte in &bytes {
        assert_eq!(follower.read_block(&mut builder).unwrap(), Followed::Waiting);
        file.bytes.lock().unwrap().push(*byte);
        match follower.read_block(&mut builder).unwrap() {
            Followed::Block(txns) => blocks.push(txns),
            Followed::Waiting => {}
            Followed::Ended => assert_eq!(follower.offset(), bytes.len() as u64),
        }
        if follower.offset() == bytes.len() as u64 {
            break;
        }
    }
    assert_eq!(blocks, [2, 2, 1]);
    assert_eq!(follower.read_block(&mut builder).unwrap(), Followed::Ended);
    follower.finish(&mut builder).unwrap();
    let followed = builder.finish();
    history.same_as(&followed).unwrap();
    assert_eq!(to_text(&followed), to_text(&history));
}

#[test]
fn a_writer_at_work_is_followed_to_the_end() {
    const TXNS: u32 = 5000;
    let file = Growing::default();
    let mut writer = NativeWriter::new(file.clone()).unwrap().with_block_size(64);
    let written = thread::spawn(move || {
        let mut txn = TxnDraft::default();
        for n in 0..TXNS {
            txn.reset(writer.pool().session(Value::from_u32(n % 7)));
            let key = writer.pool().text_key(&format!("key {}", n % 1000));
            let value = writer.pool().text(&format!("value {n}"));
            txn.write(key, value);
            writer.transaction(&txn).unwrap();
        }
        writer.finish().unwrap();
    });
    let mut builder = HistoryBuilder::new();
    let mut follower = NativeFollower::new(file.clone(), "x");
    while follower.read_blocks(&mut builder).unwrap() != Followed::Ended {
        thread::sleep(Duration::from_micros(50));
    }
    written.join().unwrap();
    let (want, _) = load(&file.bytes.lock().unwrap()).unwrap();
    assert_eq!(want.txn_count(), TXNS as usize);
    want.same_as(&builder.finish()).unwrap();
}

#[test]
fn damage_is_an_error_that_says_where_and_stays_one() {
    let history = parse(SAMPLE).unwrap();
    let bytes = file(&history, 2);
    let whole = to_text(&history);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        let mut builder = HistoryBuilder::new();
        let mut follower = NativeFollower::new(&damaged[..], "x");
        match follower.read_blocks(&mut builder) {
            // A length that is too large is waited for.
            Ok(done) => assert_eq!(done, Followed::Waiting, "byte {at}"),
            Err(error) => {
                assert!(error.to_string().starts_with("x:byte "), "{error}");
                assert_eq!(follower.read_block(&mut builder).unwrap_err(), error);
                assert_eq!(follower.finish(&mut builder).unwrap_err(), error);
            }
        }
        // Nothing is passed on that was not written.
        for line in to_text(&builder.finish()).lines().filter(|l| *l != "initial none") {
            assert!(whole.lines().any(|l| l == line), "byte {at}: {line}");
        }
    }
}

#[test]
fn what_is_no_native_file_is_refused_at_its_first_byte() {
    let error = follow(b"{").map(drop).unwrap_err();
    assert_eq!(error, "x:byte 0: expected the beginning of a native file, found '{'");
    let mut newer = file(&parse("a: w(x,1)").unwrap(), 9);
    newer[8] = 9;
    assert_eq!(follow(&newer).map(drop).unwrap_err(), load(&newer).map(drop).unwrap_err());
    let mut more = file(&parse("a: w(x,1)").unwrap(), 9);
    more.push(0);
    let mut builder = HistoryBuilder::new();
    let mut follower = NativeFollower::new(&more[..], "x");
    assert_eq!(follower.read_blocks(&mut builder).unwrap(), Followed::Ended);
    let error = follower.read_blocks(&mut builder).unwrap_err().to_string();
    assert!(error.ends_with("something follows the end of the file"), "{error}");
}

#[test]
fn a_stream_that_fails_is_told_from_one_that_waits() {
    struct Failing(Vec<io::ErrorKind>);
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            self.0.pop().map_or(Ok(0), |kind| Err(io::Error::from(kind)))
        }
    }
    let kinds = [io::ErrorKind::BrokenPipe, io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted];
    let mut builder = HistoryBuilder::new();
    let mut follower = NativeFollower::new(Failing(kinds.to_vec()), "x");
    assert_eq!(follower.read_blocks(&mut builder).unwrap(), Followed::Waiting);
    let error = follower.read_blocks(&mut builder).unwrap_err().to_string();
    assert!(error.starts_with("x:byte 0: cannot read: "), "{error}");
}

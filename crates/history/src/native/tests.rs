use crate::{Format, History, Input, NativeWriter, Source, notation};

const SAMPLE: &str = r#"
meta server "postgres 15.18"
clock events
initial 0
given x 5
event partition @[5,_] {node:n1}
a 1: [r(x,1) w(x,"text")]@[1,2]{affected=1,lock=exclusive} r(y,1)@[3,4] [] r(z,1){path=index} @[_,9] ts(5.1,9) {level=serializable,read-only=true}
b: append(l,1) list(l,[1,2]) list(l,_) cas!(x,1,2) delete(x) pred(p,x=1,y=2) pred(p,_) pred(q) abort
a: w(x,{a:1,b:[1,nan]}) savepoint(s) w(x,2) rollback(s) unknown
a T9: w(x,18446744073709551615) r(x,null)
b: @[3,4]
order x: 1 2 3
"#;

fn bytes_of(history: &History, block: usize) -> Vec<u8> {
    let mut writer = NativeWriter::new(Vec::new()).unwrap().with_block_size(block);
    history.replay(&mut writer).unwrap();
    writer.finish().unwrap()
}

fn load(bytes: &[u8]) -> Result<(History, crate::Warnings), crate::ReadError> {
    let source = Source::File(Input::new("x.isolde", bytes));
    let format = Format::recognise(&source)?;
    assert_eq!(format.name, "isolde");
    Ok(format.load(&source)?.finish_with_warnings())
}

fn stream(bytes: &[u8]) -> Result<History, crate::ReadError> {
    let mut builder = crate::HistoryBuilder::new();
    let source = Source::File(Input::new("x.isolde", bytes));
    (super::FORMAT.read)(&source, &mut builder)?;
    Ok(builder.finish())
}

#[test]
fn everything_comes_back_whatever_the_size_of_blocks() {
    let history = notation::parse(SAMPLE).unwrap();
    for block in [1, 2, 3, 100] {
        let bytes = bytes_of(&history, block);
        let (back, warnings) = load(&bytes).unwrap();
        assert_eq!(warnings.count, 0);
        history.same_as(&back).unwrap();
        history.same_as(&stream(&bytes).unwrap()).unwrap();
    }
}

#[test]
fn an_empty_history_is_a_file_too() {
    let history = crate::HistoryBuilder::new().finish();
    let (back, _) = load(&bytes_of(&history, 10)).unwrap();
    history.same_as(&back).unwrap();
}

#[test]
fn a_file_cut_anywhere_keeps_its_complete_blocks() {
    let history = notation::parse(SAMPLE).unwrap();
    let bytes = bytes_of(&history, 2);
    for cut in super::frame::FILE_HEADER_LEN..bytes.len() {
        let (part, warnings) = load(&bytes[..cut]).unwrap();
        assert_eq!(warnings.count, 1, "cut at {cut}");
        assert!(!part.meta().complete);
        // Whole blocks of two transactions, the last of one.
        assert!(part.txn_count() % 2 == 0 || part.txn_count() == history.txn_count());
        let whole: Vec<String> = notation::to_text(&history).lines().map(str::to_owned).collect();
        for line in notation::to_text(&part).lines() {
            // Before the first block nothing is known of the run.
            let frame = line == "incomplete" || (line == "initial none" && part.txn_count() == 0);
            assert!(frame || whole.iter().any(|l| l == line), "{line}");
        }
        // What is left is a history like any other.
        let again = load(&bytes_of(&part, 3)).unwrap().0;
        part.same_as(&again).unwrap();
    }
}

#[test]
fn damage_inside_a_finished_file_is_an_error() {
    let history = notation::parse(SAMPLE).unwrap();
    let bytes = bytes_of(&history, 2);
    for at in 0..bytes.len() - 8 {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        if at >= 8 {
            assert!(load(&damaged).is_err(), "byte {at}");
        }
    }
}

#[test]
fn a_newer_version_is_refused_by_name() {
    let mut bytes = bytes_of(&notation::parse("a: w(x,1)").unwrap(), 9);
    bytes[8] = 2;
    let error = load(&bytes).err().unwrap().to_string();
    expect_test::expect![[r#"
        x.isolde:byte 8: the file has layout version 2
          hint: this isolde reads version 1"#]]
    .assert_eq(&error);
}

#[test]
fn bodies_of_random_bytes_do_not_panic() {
    let history = notation::parse(SAMPLE).unwrap();
    let bytes = bytes_of(&history, 100);
    let frame = super::frame::scan(&bytes).unwrap();
    let body = {
        let stored = &frame.blocks[0];
        #[cfg(feature = "zstd")]
        let body =
            zstd::bulk::decompress(stored.bytes, stored.raw_len).unwrap_or(stored.bytes.to_vec());
        #[cfg(not(feature = "zstd"))]
        let body = stored.bytes.to_vec();
        body
    };
    // A checksum protects against accidents, not against people: the decoder must stand alone.
    for at in 0..body.len() {
        for flip in [1, 0x40, 0x80, 0xff] {
            let mut damaged = body.clone();
            damaged[at] ^= flip;
            if let Ok(block) = super::block::decode(damaged) {
                let mut pool = crate::Pool::new();
                let _ = block.introduce(&mut pool);
            }
        }
        let _ = super::block::decode(body[..at].to_vec());
    }
}

/// A file with these bodies, whose writer was killed before the end.
fn torn_file(bodies: &[Vec<u8>]) -> Vec<u8> {
    use super::frame::{BlockKind, Compression, block_header, file_header};
    let mut file = file_header().to_vec();
    for body in bodies {
        file.extend(block_header(BlockKind::Data, Compression::None, body.len(), body));
        file.extend(body);
    }
    file
}

#[test]
fn a_second_version_order_of_a_key_is_refused() {
    use super::block::{NameCounts, encode};
    use crate::Sink;
    let mut part = crate::HistoryBuilder::new();
    let x = part.pool().text_key("x");
    part.version_order(x, &[]).unwrap();
    let names = NameCounts::of(&part.pool);
    let (mut first, mut second, mut twice) = (Vec::new(), Vec::new(), Vec::new());
    encode(&mut first, &(&part).into(), NameCounts::default(), names, None);
    encode(&mut second, &(&part).into(), names, names, None);
    part.orders.push((x, Vec::new()));
    encode(&mut twice, &(&part).into(), NameCounts::default(), names, None);

    assert!(load(&torn_file(&[first.clone()])).is_ok());
    let file = torn_file(&[first, second]);
    let complaint = load(&file).map(drop).unwrap_err().to_string();
    assert!(complaint.ends_with("the key has a version order already"), "{complaint}");
    assert_eq!(stream(&file).map(drop).unwrap_err().to_string(), complaint);
    let complaint = load(&torn_file(&[twice])).map(drop).unwrap_err().to_string();
    assert!(complaint.ends_with("the version orders cannot be decoded"), "{complaint}");

    let mut writer = NativeWriter::new(Vec::new()).unwrap();
    let x = writer.pool().text_key("x");
    writer.version_order(x, &[]).unwrap();
    writer.flush_block().unwrap();
    writer.version_order(x, &[]).unwrap_err();
}

/// What a newer version adds is an attribute of a name that this one has never heard of.
#[test]
fn attributes_of_a_newer_version_are_kept() {
    let history = notation::parse(
        "a: [r(x,1){colour=red} w(y,2)]{mood=[1,2]} r(z,1){colour={deep:blue}} {weather=fair}",
    )
    .unwrap();
    let through_native = |history: &History| load(&bytes_of(history, 1)).unwrap().0;
    let native = through_native(&history);
    let mut lines = crate::JsonlWriter::new(Vec::new());
    native.replay(&mut lines).unwrap();
    let lines = Source::File(Input::new("x.jsonl", lines.finish().unwrap()));
    let (jsonl, warnings) =
        Format::recognise(&lines).unwrap().load(&lines).unwrap().finish_with_warnings();
    assert_eq!(warnings.count, 0);
    let back = through_native(&jsonl);
    for copy in [&native, &jsonl, &back] {
        history.same_as(copy).unwrap();
        assert_eq!(notation::to_text(copy), notation::to_text(&history));
    }
    assert!(notation::to_text(&back).ends_with("{weather=fair}\n"));
}

#[test]
fn the_warning_of_a_torn_file_counts_as_people_do() {
    let history = notation::parse("a: w(x,1)\nb: w(x,2)\n").unwrap();
    let bytes = bytes_of(&history, 1);
    let said = |cut: usize| load(&bytes[..cut]).unwrap().1.kept[0].to_string();
    let header = super::frame::FILE_HEADER_LEN;
    let nothing = "the file has no end: no block of it is complete, nothing follows";
    assert_eq!(said(header), format!("x.isolde:byte {header}: {nothing}"));
    assert!(
        said(header + 1).ends_with("no block of it is complete, 1 byte after that is of no use")
    );
    let one =
        (header..bytes.len()).map(said).find(|text| text.contains("1 complete block was read"));
    assert!(
        one.unwrap().ends_with("the file has no end: 1 complete block was read, nothing follows")
    );
}

mod complaints;

use expect_test::{Expect, expect};
use proptest::prelude::{ProptestConfig, proptest};

use super::*;
use crate::arbitrary;
use crate::builder::{HistoryBuilder, Warnings};
use crate::error::{ReadError, SinkError};
use crate::history::History;
use crate::notation::{parse, to_text};
use crate::sink::Sink;
use crate::source::Input;

fn source(text: impl Into<Vec<u8>>) -> Source {
    Source::File(Input::new("h.jsonl", text))
}

/// Reads in every way there is; all must agree.
fn load(text: impl Into<Vec<u8>>) -> Result<History, ReadError> {
    load_with_warnings(text).map(|(history, _)| history)
}

fn load_with_warnings(text: impl Into<Vec<u8>>) -> Loaded {
    let source = source(text);
    let input = source.file()?;
    let mut builder = HistoryBuilder::new();
    let whole = read::read(&source, &mut builder).map(|()| builder.finish_with_warnings());
    let mut streamed = HistoryBuilder::new();
    let stream = read_lines(&input.bytes[..], &input.name, &mut streamed);
    compare("stream", &whole, &stream.map(|()| streamed.finish_with_warnings()));
    // Only a whole history shows which transactions contradict each other.
    let mut checked = HistoryBuilder::new();
    let checked = read::read(&source, &mut checked).map(|()| {
        contradictions::warn(input, &mut checked);
        checked.finish_with_warnings()
    });
    compare("load", &checked, &FORMAT.load(&source).map(HistoryBuilder::finish_with_warnings));
    for chunk in [1, 20, 70, 300] {
        let loaded = read::load_chunks(input, chunk).map_err(|fault| input.text_error(fault));
        compare("chunks", &whole, &loaded.map(HistoryBuilder::finish_with_warnings));
    }
    whole
}

type Loaded = Result<(History, Warnings), ReadError>;

fn compare(how: &str, whole: &Loaded, other: &Loaded) {
    let shown = |loaded: &Loaded| loaded.as_ref().map(|(h, _)| to_text(h)).map_err(Clone::clone);
    match (whole, other) {
        (Ok(a), Ok(b)) => {
            a.0.same_as(&b.0).unwrap();
            assert_eq!(a.1, b.1, "{how}");
        }
        (Err(a), Err(b)) => assert_eq!(a, b, "{how}"),
        (a, b) => panic!("{how}: {:?} but {:?}", shown(a), shown(b)),
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
    #![proptest_config(ProptestConfig::with_cases(128))]

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

fn documented() -> Vec<&'static str> {
    let doc = include_str!("../../../../../docs/history-format.md");
    let blocks = doc.split("```jsonl\n").skip(1);
    blocks.map(|b| b.split("```").next().unwrap_or_default()).collect()
}

#[test]
fn the_documentation_tells_the_truth() {
    let examples = documented();
    assert!(examples.len() > 15, "the examples are there");
    let mut kinds = std::collections::HashSet::new();
    for example in examples {
        let history = load(example).unwrap_or_else(|e| panic!("{e}\n{example}"));
        kinds.extend(history.ops().map(|op| op.kind()));
        history.same_as(&load(written(&history)).unwrap()).unwrap();
        assert!(looks_like(&source(example)), "{example}");
    }
    assert_eq!(kinds.len(), crate::OpKind::ALL.len(), "every kind has an example");
}

#[test]
fn every_operation() {
    check(
        r#"{"session":1,"ops":[["r","x",null],["r","x"],["w","x",{"$":"unobserved"}],["append","l",7]]}
{"session":1,"ops":[["list","l",[5,7]],["list","l",[]],["list","l"],["list","l",{"$":"unobserved"}]]}
{"session":1,"ops":[["cas!","x",1,2],["insert?","y",1],["delete","x"],["r!","x"]]}
{"session":1,"ops":[["pred","p",[["a",1],["b",{"$":"null"}]]],["pred","p",[]],["pred","p"]]}
{"session":1,"ops":[["savepoint",1],["w","x",2],["rollback",1],["release",1]]}
"#,
        expect![[r#"
            1: r(x,absent) r(x,_) w(x,_) append(l,7)
            1: list(l,[5,7]) list(l,[]) list(l,_) list(l,_)
            1: cas!(x,1,2) insert?(y,1) delete(x) r!(x,_)
            1: pred(p,a=1,b=null) pred(p) pred(p,_)
            1: savepoint(1) w(x,2) rollback(1) release(1)
        "#]],
    );
}

#[test]
fn everything_beside_the_operations() {
    check(
        r#"
{"isolde":1,"server":"postgres","clock":"events","complete":false,"initial":{"keys":[["x",1]]},"info":{"clock":"ntp"}}

{"event":["a"],"end":9}
{"session":"s","txn":12,"outcome":"unknown","interval":[null,20],"ts":[[5,1],null],"level":"rc","ops":[],"attrs":{"ops":1,"$row":[[2,3]]}}
{"session":"s","interval":null,"ts":null,"stmts":[{"interval":[1,2],"lock":"share"},{"ops":[["r","x",1,{"path":"pk"}],["r","y",{"a":1}]],"attrs":{"ops":[]}}]}
{"order":"x","versions":[1,null]}
{"meta":{"complete":true,"seed":7,"server":"mysql"}}
"#,
        expect![[r#"
            meta server mysql
            meta clock ntp
            meta seed 7
            clock events
            initial none
            given x 1
            event [a] @[_,9]
            s 12: unknown @[_,20] ts(5.1,_) {level=rc,ops=1,2=3}
            s: []@[1,2]{lock=share} [r(x,1){path=pk} r(y,{a:1})]{ops=[]}
            order x: 1 absent
        "#]],
    );
}

#[test]
fn members_may_come_in_any_order_and_with_spaces() {
    check(
        "{ \"clock\" : \"events\", \"isolde\": 1 }\r\n\
         {\"ops\": [ [ \"r\" , \"x\" , 1 ] ], \"outcome\":\"aborted\", \"session\": 1}\r\n\
         {\"begin\":1, \"event\":\"e\"}\r\n{\"versions\":[1],\"order\":\"x\"}",
        expect![[r#"
            clock events
            event e @[1,_]
            1: r(x,1) abort
            order x: 1
        "#]],
    );
}

#[test]
fn without_a_header_every_key_is_absent_at_first() {
    for text in ["", "\n\n", "{\"session\":1,\"ops\":[]}", "{\"isolde\":1}"] {
        let history = load(text).unwrap();
        assert_eq!(history.meta().initial, crate::InitialState::every(crate::Value::ABSENT));
        assert!(history.meta().complete);
    }
}

#[test]
fn cut_anywhere_nothing_panics_and_nothing_is_dropped_in_silence() {
    let text = documented().concat().replace("{\"isolde\"", "{\"session\":1,\"ops\":[],\"was\"");
    let text = text.replace("{\"meta\"", "{\"session\":1,\"ops\":[],\"was\"");
    for len in 0..text.len() {
        let Some(part) = text.get(..len) else { continue };
        let mut builder = HistoryBuilder::new();
        let read = read::read(&source(part), &mut builder);
        let whole_lines = text[len..].starts_with('\n') || part.ends_with('\n') || part.is_empty();
        assert_eq!(read.is_ok(), whole_lines, "{part}");
    }
}

#[test]
fn a_stream_may_not_bring_an_endless_line() {
    let endless = std::io::BufReader::new(std::io::repeat(b' '));
    let error = read::read_lines_up_to(99, endless, "s", &mut HistoryBuilder::new()).unwrap_err();
    expect!["s:1:1: the line is longer than 99 bytes"].assert_eq(&error.to_string());
    let line = format!("{{\"session\":1,\"ops\":[],\"a\":{}}}\n", "1".repeat(8));
    let max = line.len() as u64;
    for (limit, fits) in [(max, true), (max - 1, false)] {
        let mut builder = HistoryBuilder::new();
        let read = read::read_lines_up_to(limit, line.as_bytes(), "s", &mut builder);
        assert_eq!(read.is_ok(), fits);
    }
}

#[test]
fn a_line_of_endless_names_is_refused_early() {
    let names: String = (0..100_000).map(|i| format!(",\"a{i}\":1")).collect();
    let error = load(format!("{{\"session\":1{names}}}\n")).map(drop).unwrap_err();
    assert_eq!(error.expected, "more than 256 attributes, which is the limit");
    let history = load(format!("{{\"isolde\":1{names}}}\n")).unwrap();
    assert_eq!(history.meta().info.len(), 100_000);
}

#[test]
fn the_writer_chooses_the_common_shape() {
    let text = "{\"isolde\":1,\"clock\":\"nanoseconds\",\"complete\":true,\"initial\":{\"default\":0}}\n\
                {\"session\":3,\"txn\":12,\"ops\":[[\"r\",17,1],[\"w\",\"x\",-2],[\"r\",4]]}\n\
                {\"session\":3,\"outcome\":\"aborted\",\"interval\":[1,null],\"ts\":[5,[6,7]],\"ops\":[]}\n\
                {\"session\":3,\"ops\":[[\"append\",1,2],[\"list\",1,[1,\"é\",null]]]}\n\
                {\"session\":3,\"ops\":[[\"cas\",1,2,3],[\"cas!\",1,null,3],[\"cas?\",\"x\",2,3]]}\n\
                {\"session\":3,\"ops\":[[\"insert\",1,2],[\"insert!\",1,3],[\"insert?\",1,4]]}\n";
    assert_eq!(written(&load(text).unwrap()), text);
    for line in text.lines().skip(1) {
        let (mut pool, mut draft) = (crate::Pool::new(), crate::TxnDraft::default());
        let fast = fast::transaction(line.as_bytes(), &mut pool, &mut draft, &mut Vec::new());
        assert_eq!(fast, Some(line.len()), "{line}");
        // The general reader says the same: a space more, and the line is not the usual one.
        let odd = line.replacen('{', "{ ", 1);
        let slow = fast::transaction(odd.as_bytes(), &mut pool, &mut draft, &mut Vec::new());
        assert_eq!(slow, None, "{odd}");
        let header = text.lines().next().unwrap_or_default();
        assert_eq!(
            written(&load(format!("{header}\n{odd}\n")).unwrap()),
            format!("{header}\n{line}\n")
        );
    }
}

#[test]
fn the_fast_path_leaves_what_it_does_not_know_alone() {
    for odd in ["1.5", "1e3", "01", "12345678901234567890", "\"\\n\"", "{}", "true", "-", "1]"] {
        let line = format!("{{\"session\":1,\"ops\":[[\"r\",1,{odd}]]}}\n");
        let (mut pool, mut draft) = (crate::Pool::new(), crate::TxnDraft::default());
        let fast = fast::transaction(line.as_bytes(), &mut pool, &mut draft, &mut Vec::new());
        assert_eq!(fast, None, "{line}");
    }
}

#[test]
fn what_changes_after_the_header_goes_into_a_trailer() {
    let mut writer = JsonlWriter::new(Vec::new());
    let history = parse("a: w(x,1)").unwrap();
    history.replay(&mut writer).unwrap();
    let (name, value) = (writer.pool().text("seed"), writer.pool().int(7));
    writer.meta().set(name, value);
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    expect![[r#"
        {"isolde":1,"clock":"nanoseconds","complete":false,"initial":{"default":null}}
        {"session":"a","ops":[["w","x",1]]}
        {"meta":{"seed":7,"complete":true}}
    "#]]
    .assert_eq(&text);
    check(
        &text,
        expect![[r#"
        meta seed 7
        a: w(x,1)
    "#]],
    );
}

#[test]
fn a_file_that_lost_its_last_line_is_not_complete() {
    let mut writer = JsonlWriter::new(Vec::new());
    parse("initial 0\na: w(x,1)\nb: r(x,1)").unwrap().replay(&mut writer).unwrap();
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    for (end, _) in text.match_indices('\n') {
        let history = load(&text[..=end]).unwrap();
        assert_eq!(history.meta().complete, end + 1 == text.len(), "{}", &text[..=end]);
    }
}

#[test]
fn what_the_format_cannot_say_is_refused() {
    let mut writer = JsonlWriter::new(Vec::new());
    let mut list = writer.pool().list(&[]);
    let event = |name| crate::Event { name, begin: None, end: None, detail: name };
    for _ in 1..crate::text::json::MAX_DEPTH {
        list = writer.pool().list(&[list]);
    }
    writer.event(event(list)).unwrap();
    let list = writer.pool().list(&[list]);
    let refused = writer.event(event(list));
    assert!(matches!(refused, Err(SinkError::Refused(_))), "{refused:?}");
    let (name, value) = (writer.pool().text("seed"), writer.pool().int(7));
    writer.meta().set(name, value);
    assert_eq!(load(writer.finish().unwrap()).unwrap().events().len(), 1);

    let mut writer = JsonlWriter::new(Vec::new());
    let (name, value) = (writer.pool().text("seed"), writer.pool().int(7));
    writer.meta().set(name, value);
    writer.version_order(crate::Key(9), &[]).unwrap_err();
    writer.meta().info.clear();
    assert!(matches!(writer.finish(), Err(SinkError::Refused(_))));
}

#[test]
fn other_formats_are_not_taken_for_ours() {
    for other in [
        "",
        "\n",
        "[1]",
        "{\"value\": [[\"r\", 1, 1, true]]}\n",
        "{\"type\":\"invoke\",\"process\":0,\"f\":\"txn\"}\n",
        "{\"params\":{\"id\":0},\"info\":\"\",\"data\":[[]]}",
        "{:type :invoke}",
        "a: r(x,1)",
        "{\"order\":1}",
        "{\"event\":1,\"type\":2}",
    ] {
        assert!(!looks_like(&source(other)), "{other}");
    }
    assert!(looks_like(&source("\n {\"txn\":1,\"session\":2,\"ops\":[[")));
}

#[test]
fn undone_operations_must_follow_from_the_savepoints() {
    let mut writer = JsonlWriter::new(Vec::new());
    let mut txn = crate::TxnDraft::default();
    txn.reset(writer.pool().session(crate::Value::from_u32(1)));
    txn.write(writer.pool().int_key(1), crate::Value::from_u32(2));
    txn.codes[0] = txn.codes[0].with_undone();
    assert!(matches!(writer.transaction(&txn), Err(SinkError::Refused(_))));
}

#[test]
fn of_an_attribute_set_twice_the_last_counts_and_the_order_stays() {
    let mut writer = JsonlWriter::new(Vec::new());
    let mut txn = crate::TxnDraft::default();
    txn.reset(writer.pool().session(crate::Value::from_u32(1)));
    txn.read(writer.pool().int_key(1), crate::Value::UNOBSERVED);
    for (name, value) in [("a", 1), ("b", 2), ("a", 3), ("c", 4)] {
        let name = writer.pool().text(name);
        txn.op_attr(name, crate::Value::from_u32(value));
        txn.attr(name, crate::Value::from_u32(value));
    }
    writer.transaction(&txn).unwrap();
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    expect![[
        r#"{"session":1,"b":2,"a":3,"c":4,"ops":[["r",1,{"$":"unobserved"},{"b":2,"a":3,"c":4}]]}"#
    ]]
    .assert_eq(text.lines().nth(1).unwrap_or_default());
}

#[test]
fn names_that_look_like_slips_are_kept_with_a_warning_each() {
    let text = r#"{"clok":"events","isolde":1,"op":1,"inital":{}}
{"session":1,"outcme":"aborted","op":7,"ops":[]}
{"session":1,"stmts":[{"intervall":[1,2],"ops":[]},{"ops":[],"txm":1}]}
{"session":1,"outcme":"aborted","interavl":[1,2],"ops":[],"attrs":{"tx":1}}
{"meta":{"completed":true}}
"#;
    let (history, warnings) = load_with_warnings(text).unwrap();
    let shown: String = warnings.kept.iter().map(|w| format!("{w}\n")).collect();
    expect![[r#"
        meta clok events
        meta op 1
        meta inital {}
        meta completed true
        1: {outcme=aborted,op=7}
        1: []{intervall=[1,2]} []{txm=1}
        1: {outcme=aborted,interavl=[1,2],tx=1}
        h.jsonl:1:2: "clok" is kept as a fact; was "clock" meant?
        h.jsonl:1:36: "inital" is kept as a fact; was "initial" meant?
        h.jsonl:2:14: "outcme" is kept as an attribute; was "outcome" meant?
        h.jsonl:2:33: "op" is kept as an attribute; was "ops" meant?
        h.jsonl:3:24: "intervall" is kept as an attribute; was "interval" meant?
        h.jsonl:4:33: "interavl" is kept as an attribute; was "interval" meant?
        h.jsonl:5:10: "completed" is kept as a fact; was "complete" meant?
    "#]]
    .assert_eq(&(to_text(&history) + &shown));
}

#[test]
fn the_sink_takes_one_version_order_for_a_key() {
    let mut writer = JsonlWriter::new(Vec::new());
    let x = writer.pool().text_key("x");
    writer.version_order(x, &[]).unwrap();
    writer.version_order(x, &[]).unwrap_err();
    assert_eq!(load(writer.finish().unwrap()).unwrap().version_orders().len(), 1);
}

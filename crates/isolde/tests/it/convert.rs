//! `isolde convert --drop`: what a format cannot hold, and what is left out for it.

use super::common::Folder;

#[test]
fn a_generated_history_converts_to_every_format_that_holds_its_operations() {
    let folder = Folder::new("convert-drop");
    let made =
        folder.isolde(&["generate", "bad.isolde", "--txns", "300", "--plant", "LostUpdate:2"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    for format in ["isolde", "jsonl", "notation", "dbcop-bincode", "jepsen-edn", "plume"] {
        let args = ["convert", "bad.isolde", format, "--to", format, "--drop", "all"];
        let ran = folder.isolde(&args);
        assert_eq!(ran.code, Some(0), "{format}: {ran:?}");
        let own = ["isolde", "jsonl", "notation"].contains(&format);
        assert_eq!(ran.err.is_empty(), own, "{format}: {ran:?}");
        assert!(own || ran.err.starts_with(&format!("note: left out of {format}: ")), "{ran:?}");
        let ran = folder.isolde(&["check", "-l", "si", format]);
        assert_eq!(ran.code, Some(1), "{format}: {ran:?}");
        assert!(ran.out.contains("2 LostUpdate"), "{format}: {ran:?}");
    }
}

#[test]
fn every_obstacle_is_named_at_once_and_in_the_same_words() {
    let folder = Folder::new("convert-obstacles");
    std::fs::write(
        folder.file("h.txt"),
        "meta server x\ninitial 5\nevent kill @[1,_] n1\na T1: r(k,5) w(k,1) @[1,2] ts(1,2) {extra=1}\n",
    )
    .unwrap();
    let ran = folder.isolde(&["convert", "h.txt", "out", "--to", "plume"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(
        ran.err,
        "error: plume cannot hold all of this history\n  intervals: of transactions\n  \
         timestamps: of the database\n  meta: server\n  events: 1 on the time line\n  attributes: extra\n  \
         names: of keys or sessions that are no numbers\n  \
         hint: --drop intervals,timestamps,meta,events,attributes,names leaves that out, and so does --drop all\n"
    );
    let ran = folder.isolde(&["convert", "h.txt", "out", "--to", "jepsen-edn"]);
    assert!(ran.err.contains("hint: --drop timestamps,meta,initial leaves"), "{ran:?}");
    // What is named is left out, whether the format could hold it or not.
    let drop = ["--drop", "timestamps,meta,initial,intervals,events"];
    let ran =
        folder.isolde(&[&["convert", "h.txt", "-", "--to", "jepsen-edn"][..], &drop].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("[:r \"k\" nil] [:w \"k\" 1]"), "{ran:?}");
    let ran =
        folder.isolde(&["convert", "h.txt", "-", "--to", "jsonl", "--drop", "intervals,meta"]);
    assert!(ran.out.contains("\"ts\"") && !ran.out.contains("\"interval\""), "{ran:?}");
    assert!(
        ran.err.contains("note: left out of jsonl: intervals (of transactions); meta (server)")
    );
    let ran = folder.isolde(&["convert", "h.txt", "-", "--to", "jsonl", "--drop", "everything"]);
    assert!(ran.code == Some(2) && ran.err.contains("parts are intervals, timestamps"), "{ran:?}");
}

#[test]
fn what_is_no_part_is_refused_whatever_is_dropped() {
    let folder = Folder::new("convert-refused");
    std::fs::write(folder.file("h.txt"), "meta server x\na: w(k,1) unknown\n").unwrap();
    let ran = folder.isolde(&["convert", "h.txt", "out", "--to", "plume", "--drop", "all"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err.contains("plume cannot hold all of this history\n  transaction 0, whose outcome"),
        "{ran:?}"
    );
    assert!(
        !ran.err.contains("--drop") && !std::fs::exists(folder.file("out")).unwrap(),
        "{ran:?}"
    );
}

#[test]
fn a_trace_becomes_a_folder_and_comes_back() {
    let folder = Folder::new("convert-folder");
    let text = "meta rows by-column\ngiven [0,1] {v:1}\n\
                a T1: [w([0,1],{v:2})]@[12,20]{lock=exclusive} @[10,40] {end-sent=30,seq=7}\n";
    std::fs::write(folder.file("h.txt"), text).unwrap();
    let ran = folder.isolde(&["convert", "h.txt", "trace", "--to", "leopard"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    let names = ["trace/trace/loader-0.0.json", "trace/init_data/table0.csv"];
    let exist = names.iter().all(|name| std::fs::exists(folder.file(name)).unwrap());
    assert!(exist, "{names:?}");
    let ran = folder.isolde(&["convert", "trace", "-", "--to", "notation"]);
    assert_eq!(ran.out.lines().count(), 3, "{ran:?}");
    assert_eq!(ran.out.split_whitespace().count(), text.split_whitespace().count(), "{ran:?}");
    // The folder `trace` of the folder is a trace, too; then nobody knows what was there before.
    for (path, initial) in [("trace", "0,1"), ("trace/trace", "every key: absent")] {
        let ran = folder.isolde(&["stat", path]);
        assert!(ran.code == Some(0) && ran.out.contains("leopard"), "{initial}: {ran:?}");
    }
    let ran = folder.isolde(&["check", "-l", "rc", "trace"]);
    assert!(ran.code == Some(3) && ran.out.contains("values are rows by column"), "{ran:?}");
    // What is there is never replaced.
    let ran = folder.isolde(&["convert", "h.txt", "trace", "--to", "leopard", "--force"]);
    assert!(ran.code == Some(2) && ran.err.contains("those are not overwritten"), "{ran:?}");
    // Standard output takes one slice, which has no place for initial rows.
    let ran = folder.isolde(&["convert", "h.txt", "-", "--to", "leopard"]);
    assert!(ran.code == Some(2) && ran.err.contains("initial row [0,1]"), "{ran:?}");
    std::fs::write(folder.file("g.txt"), text.replace("given [0,1] {v:1}\n", "meta server x\n"))
        .unwrap();
    let ran = folder.isolde(&["convert", "g.txt", "-", "--to", "leopard"]);
    assert!(ran.err.contains("meta: server\n  hint: --drop meta leaves"), "{ran:?}");
    let ran = folder.isolde(&["convert", "g.txt", "-", "--to", "leopard", "--drop", "all"]);
    assert!(
        ran.code == Some(0) && ran.out.contains("\"operationTraceType\":\"UPDATE\""),
        "{ran:?}"
    );
    std::fs::write(folder.file("plain.txt"), "a: w(x,1)\n").unwrap();
    let ran = folder.isolde(&["convert", "plain.txt", "out", "--to", "leopard", "--drop", "all"]);
    assert!(ran.code == Some(2) && ran.err.contains("whole values"), "{ran:?}");
    assert!(!std::fs::exists(folder.file("out")).unwrap());
}

//! `isolde watch`: what cannot work is refused before anything is read, and what cannot be written does not change what was
//! found.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use crate::common::{Folder, Ran};
use crate::watch::{A, B, HEADER, STALE};

#[track_caller]
fn refused(folder: &Folder, args: &[&str], words: &str) {
    let ran = folder.isolde(&[&["watch"], args].concat());
    assert!(ran.code == Some(2) && ran.err.contains(words), "{words}: {ran:#?}");
    assert!(!ran.err.contains("watching"), "{ran:#?}");
}

#[test]
fn what_cannot_be_reported_is_refused_at_the_start() {
    let folder = Folder::new("refused-report");
    let source = ["-", "--report"];
    let with = |file: &'static str| [&source[..], &[file]].concat();
    refused(&folder, &with("no/such.html"), "there is no folder no");
    let ran = folder.isolde(&[&["watch"], &with("x.pdf")[..]].concat());
    assert!(ran.code == Some(2) && !ran.err.contains(".xml"), "{ran:#?}");
    refused(&folder, &with("x.pdf"), "endings are .html, .json, .txt, .svg and .dot");
    refused(&folder, &with("x.xml"), "not about a watch");
}

#[test]
fn what_never_ends_has_no_end_to_wait_for() {
    let folder = Folder::new("refused-end");
    for source in ["tcp:127.0.0.1:0", "unix:s.sock", "http:127.0.0.1:0"] {
        refused(&folder, &[source, "--until-end"], "there is no end for --until-end");
    }
}

#[test]
fn a_source_that_is_not_there_is_refused_with_what_may_have_been_meant() {
    let folder = Folder::new("refused-missing");
    refused(&folder, &["no.jsonl"], "cannot be read: No such file");
    for missing in ["no.jsonl", "no.isolde", "no/such.jsonl", "half:way"] {
        refused(&folder, &[missing], "hint: is the path right?");
    }
    for address in ["localhost:9000", "127.0.0.1:80"] {
        let hint = format!("hint: tcp:{address} waits for connections there, http:{address}");
        refused(&folder, &[address], &hint);
    }
}

#[test]
fn a_pipe_in_place_of_a_file_is_refused_before_it_is_opened() {
    let folder = Folder::new("refused-pipe");
    let made = Command::new("mkfifo").arg(folder.file("pipe")).status().unwrap();
    assert!(made.success());
    refused(&folder, &["pipe", "--state", "state"], "pipe is no file, and cannot be read again");
}

#[test]
fn metrics_are_not_said_to_take_transactions() {
    let folder = Folder::new("refused-metrics");
    refused(&folder, &["-", "--metrics", "0.0.0.0:0"], "anyone there could see how it is doing");
    refused(&folder, &["tcp:0.0.0.0:0"], "anyone there could send transactions");
}

#[test]
fn a_standard_output_that_is_full_does_not_hide_a_violation() {
    let folder = Folder::new("refused-stdout");
    fs::write(folder.file("h.jsonl"), [HEADER, A, B, STALE].concat()).unwrap();
    for args in [&["h.jsonl", "--until-end"][..], &["h.jsonl", "--until-end", "--json"]] {
        let mut command = folder.command(&["watch"]);
        let full = File::options().write(true).open("/dev/full").unwrap();
        command.args(args).stdin(Stdio::null()).stdout(full);
        let ran = Ran::of(&command.output().unwrap());
        assert_eq!(ran.code, Some(1), "{ran:#?}");
        for words in ["StaleRead: 1", "cannot write to standard output"] {
            assert!(ran.err.contains(words), "{words}: {ran:#?}");
        }
    }
}

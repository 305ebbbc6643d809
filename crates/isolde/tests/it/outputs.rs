//! Where is written: never over what is there, unless that is forced.

use std::fs;

use super::common::{Folder, Ran};

const HISTORY: &str = "{\"session\":1,\"ops\":[[\"w\",\"x\",1]]}\n";

#[test]
fn a_report_overwrites_nothing_unless_it_is_forced() {
    let folder = Folder::new("reports-force");
    fs::write(folder.file("h.jsonl"), HISTORY).unwrap();
    for (kind, command) in [
        ("txt", &["check", "h.jsonl"][..]),
        ("html", &["check", "h.jsonl"]),
        ("json", &["test", "faulty", "--txns", "10"]),
        ("html", &["probe", "sqlite", "--only", "G1a"]),
    ] {
        let file = format!("other.{kind}");
        fs::write(folder.file(&file), "precious").unwrap();
        let ran = folder.isolde(&[command, &["--report", &file]].concat());
        assert_eq!(ran.code, Some(2), "{command:?}: {ran:?}");
        let hint = format!("{file} exists\n  hint: --force overwrites it");
        assert!(ran.err.contains(&hint), "{command:?}: {ran:?}");
        assert_eq!(fs::read_to_string(folder.file(&file)).unwrap(), "precious");
        let ran = folder.isolde(&[command, &["--report", &file, "--force"]].concat());
        assert_ne!(ran.code, Some(2), "{command:?}: {ran:?}");
        assert_ne!(fs::read_to_string(folder.file(&file)).unwrap(), "precious");
    }
}

#[test]
fn events_and_records_overwrite_nothing_unless_it_is_forced() {
    let folder = Folder::new("events-force");
    fs::write(folder.file("events"), "precious").unwrap();
    fs::write(folder.file("h.isolde"), "precious").unwrap();
    let run = ["--txns", "10"];
    for command in
        [&["test", "faulty", "--events", "events"][..], &["record", "faulty", "h.isolde"]]
    {
        let ran = folder.isolde(&[command, &run].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains("exists\n  hint: --force overwrites it"), "{ran:?}");
        assert_eq!(fs::read_to_string(folder.file("events")).unwrap(), "precious");
        let ran = folder.isolde(&[command, &run, &["--force"]].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        fs::write(folder.file("events"), "precious").unwrap();
    }
    assert_eq!(folder.isolde(&["stat", "h.isolde"]).code, Some(0));
}

#[test]
fn of_two_records_into_one_file_one_is_refused_and_the_other_whole() {
    let folder = Folder::new("two-records");
    for command in [&["record", "faulty", "same.isolde"][..], &["generate", "made.isolde"]] {
        let mut both = [0, 1].map(|_| {
            let mut child = folder.command(&[command, &["--txns", "5k"]].concat());
            child.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            Some(child.spawn().unwrap())
        });
        let ran = [0, 1].map(|i| Ran::of(&both[i].take().unwrap().wait_with_output().unwrap()));
        let mut codes = ran.each_ref().map(|ran| ran.code);
        codes.sort_unstable();
        assert_eq!(codes, [Some(0), Some(2)], "{ran:?}");
        assert!(ran.iter().any(|ran| ran.err.contains("exists")), "{ran:?}");
        let file = *command.last().unwrap();
        let stat = folder.isolde(&["stat", file]);
        assert_eq!((stat.code, stat.err.as_str()), (Some(0), ""), "{stat:?}");
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_record_on_a_full_disk_says_how_much_was_saved() {
    let folder = Folder::new("full");
    std::os::unix::fs::symlink("/dev/full", folder.file("full.isolde")).unwrap();
    let ran = folder.isolde(&["record", "faulty", "full.isolde", "--txns", "20k"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("cannot write full.isolde"), "{ran:?}");
    assert!(ran.err.contains("No space left on device"), "{ran:?}");
    assert!(!ran.err.contains("can be checked"), "{ran:?}");
}

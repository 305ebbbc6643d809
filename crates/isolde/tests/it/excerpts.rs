//! Witnesses as files: each is checked as its history was.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::Folder;

/// Two blind writes of one session, and readers that saw a value each way round. Without session order the
/// two writes are a cycle; with it, the same excerpt shows something else.
const HISTORY: &str = "\
0: w(x,0) w(y,0)
3: w(x,1)
3: w(x,2)
2: r(x,1) r(x,2)
4: r(x,0) r(x,1)
";

#[test]
fn an_excerpt_is_checked_with_the_options_that_were_asked() {
    let folder = Folder::new("asked");
    std::fs::write(folder.file("h.txt"), HISTORY).unwrap();
    let args = ["check", "-l", "ser", "--no-session-order", "--format", "notation", "h.txt"];
    let ran = folder.isolde(&[args.as_slice(), &["--excerpts", "out"]].concat());
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(!ran.err.contains("needs more of the history"), "{}", ran.err);
    let written = std::fs::read_to_string(folder.file("out/h-serializable-3-G2-item.txt")).unwrap();
    assert!(written.contains("serializable forbids it (isolde check --no-session-order); from"));
    // What is written says how it was asked, and that shows it again.
    let again = ["check", "-l", "ser", "--no-session-order", "out/h-serializable-3-G2-item.txt"];
    let again = folder.isolde(&again);
    assert!(again.code == Some(1) && again.out.contains("G2-item"), "{again:#?}");
    // Asked as usual, it says nothing of options.
    let ran = folder.isolde(&["check", "-l", "ser", "h.txt", "--excerpts", "usual"]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    for file in std::fs::read_dir(folder.file("usual")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(text.contains("serializable forbids it; from"), "{text}");
    }
}

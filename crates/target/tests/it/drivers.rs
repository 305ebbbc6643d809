//! Drivers that misbehave in every way, as small shell scripts. What matters is what becomes of the
//! transaction, and that nothing is left running.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use isolde_history::{ErrorClass, OpKind, Timestamp};
use isolde_target::{
    After, Answer, CommitOrder, Ended, Failure, Found, OpenError, OpenOptions, ReadsAt, Session,
    Target, Timestamps, check_driver, open,
};

use crate::common::{eventually, is_alive, registers, request, write};

/// A folder for the script, in which drivers leave the numbers of their processes.
struct Script {
    folder: PathBuf,
    path: PathBuf,
}

/// A driver that answers everything and keeps nothing; `cases` come first.
impl Script {
    fn new(name: &str, cases: &str) -> Script {
        let name = format!("isolde-driver-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("driver.sh");
        let text = format!(
            r#"
            cd {}; echo $$ >>pids; n=0
            say() {{ n=$((n+1)); printf '{{"id":%d,"ok":%s}}\n' $n "$1"; }}
            fail() {{ n=$((n+1)); printf '{{"id":%d,"error":%s}}\n' $n "$1"; }}
            hello='{{"protocol":1,"name":"Naughty","version":"0","kinds":["read","write","list"],
                "levels":[{{"name":"none","promises":"ser"}}]}}'
            hello=$(echo "$hello" | tr '\n' ' ')
            while read -r line; do case $line in
            {cases}
            *'"do":"hello"'*) say "$hello" ;;
            *'"do":"read"'*|*'"do":"list"'*) say null ;;
            *'"do":"commit"'*) say '"committed"' ;;
            *'"do":"close"'*) exit 0 ;;
            *) say true ;;
            esac; done"#,
            folder.display()
        );
        fs::write(&path, text).unwrap();
        Script { folder, path }
    }

    fn command(&self) -> String {
        format!("exec sh {}", self.path.display())
    }

    fn open(&self) -> Result<Box<dyn Target>, OpenError> {
        // Long enough for a shell to start on a busy machine.
        let timeout = Duration::from_secs(3);
        open(&format!("driver:{}", self.command()), &OpenOptions { timeout, ..Default::default() })
    }

    /// The processes that were started.
    fn pids(&self) -> Vec<u32> {
        let text = fs::read_to_string(self.folder.join("pids")).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    #[track_caller]
    fn assert_all_gone(&self) {
        assert!(!self.pids().is_empty());
        for pid in self.pids() {
            eventually("the driver is gone", || !is_alive(pid));
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Begins, reads, commits; what went wrong, and whether at the commit.
fn transaction(session: &mut dyn Session) -> Result<Ended, (bool, Failure)> {
    session.begin().map_err(|f| (false, f))?;
    session.run(&request(OpKind::Read, 0, 0)).map_err(|f| (false, f))?;
    session.run(&write(0, 5)).map_err(|f| (false, f))?;
    session.commit().map_err(|f| (true, f))
}

#[test]
fn a_driver_that_answers_is_a_target() {
    let script = Script::new("good", "");
    let target = script.open().unwrap();
    assert_eq!((target.name(), target.version()), ("Naughty", "0"));
    assert_eq!((target.paths(OpKind::Read).len(), target.paths(OpKind::Cas).len()), (1, 0));
    target.create(&registers(0, 3)).unwrap();
    let mut session = target.connect(&target.offers()[0]).unwrap();
    assert_eq!(transaction(&mut *session), Ok(Ended::Committed));
    session.begin().unwrap();
    let list = session.run(&request(OpKind::ListRead, 1, 0)).unwrap();
    assert_eq!(list, Answer::List(None));
    session.rollback().unwrap();
    drop(session);
    target.clean().unwrap();
    drop(target);
    assert_eq!(script.pids().len(), 2, "one for the tables, one for the session");
    script.assert_all_gone();
}

#[test]
fn what_a_driver_tells_beside_answers_is_passed_on() {
    let script = Script::new(
        "tells",
        r#"*'"do":"begin","only_reads":true'*) say '{"read_only":true}' ;;
        *'"do":"read"'*) fail '{"code":"40001","message":"m","after":"open","ended":true,"class":"serialization"}' ;;"#,
    );
    let target = script.open().unwrap();
    let mut session = target.connect(&target.offers()[0]).unwrap();
    assert_eq!(session.begin_reading(), Ok(true));
    let failure = session.run(&request(OpKind::Read, 0, 0)).unwrap_err();
    assert_eq!((failure.class, failure.after), (ErrorClass::Serialization, After::Open));
    assert!(failure.ended_here());
    session.rollback().unwrap();
    // One that is older than all this.
    let script = Script::new(
        "silent",
        r#"*'"do":"read"'*) fail '{"code":"c","message":"m","after":"open"}' ;;"#,
    );
    let target = script.open().unwrap();
    let mut session = target.connect(&target.offers()[0]).unwrap();
    assert_eq!(session.begin_reading(), Ok(false));
    let failure = session.run(&request(OpKind::Read, 0, 0)).unwrap_err();
    assert_eq!((failure.class, failure.ended_here()), (ErrorClass::Other, false));
}

/// A driver with a clock: what it says of itself, and the shell that tells times.
const SERIAL: &str = r#"*'"do":"hello"'*) say "$(echo "$hello" |
        sed 's/"promises":"ser"/"promises":"ser","commit_order":"serial","reads_at":"commit"/')" ;;"#;
const CLOCK: &str = r#"*'"do":"begin"'*) t=$(cat clock 2>/dev/null || echo 0); say true ;;
    *'"do":"commit"'*) c=$(($(cat clock 2>/dev/null || echo 0)+1)); echo $c >clock; n=$((n+1))
        printf '{"id":%d,"ok":"committed","ts":[[%d,2],[%d,2]]}\n' $n $t $c ;;"#;

#[test]
fn a_driver_tells_when_its_transactions_happened() {
    let script = Script::new("clock", &format!("{SERIAL}\n{CLOCK}"));
    let target = script.open().unwrap();
    let offer = &target.offers()[0];
    assert_eq!(target.commit_order(offer), CommitOrder::Serial(ReadsAt::Commit));
    let mut session = target.connect(offer).unwrap();
    assert_eq!(session.timestamps(), Timestamps::default());
    for (start, commit) in [(0, 1), (1, 2)] {
        transaction(&mut *session).unwrap();
        let [start, commit] =
            [start, commit].map(|physical| Some(Timestamp { physical, logical: 2 }));
        assert_eq!(session.timestamps(), Timestamps { start, commit });
    }
    // One that is older than all this.
    let script = Script::new("no-clock", "");
    let target = script.open().unwrap();
    assert_eq!(target.commit_order(&target.offers()[0]), CommitOrder::Unsaid);
    // What is known of a commit that was lost is kept.
    let lost = r#"*'"do":"commit"'*) n=$((n+1)); e='{"code":"c","message":"m","after":"lost"}'
        printf '{"id":%d,"error":%s,"ts":[5,null]}\n' $n "$e" ;;"#;
    let script = Script::new("lost-clock", lost);
    let target = script.open().unwrap();
    let mut session = target.connect(&target.offers()[0]).unwrap();
    transaction(&mut *session).unwrap_err();
    let start = Some(Timestamp::plain(5));
    assert_eq!(session.timestamps(), Timestamps { start, commit: None });
}

#[test]
fn the_check_looks_at_timestamps() {
    let stopped =
        r#"*'"do":"commit"'*) n=$((n+1)); printf '{"id":%d,"ok":"committed","ts":[4,7]}\n' $n ;;"#;
    let unsaid = "a level has 'commit_order', but 'commit' is answered without 'ts'".to_owned();
    let back = "a transaction comes before one that had ended when it began".to_owned();
    for (name, cases, expected) in [
        ("t-clock", format!("{SERIAL}\n{CLOCK}"), Found::Good),
        ("t-none", String::new(), Found::Good),
        ("t-unsaid", SERIAL.to_owned(), Found::Wrong(unsaid)),
        ("t-stopped", stopped.to_owned(), Found::Wrong(back)),
    ] {
        let script = Script::new(name, &cases);
        let checks = check_driver(&script.command(), Duration::from_secs(3), &mut |_| true);
        let check = checks.iter().find(|check| check.name == "timestamps").unwrap();
        assert_eq!(check.found, expected, "{name}");
    }
}

/// What a driver does, where that is noticed, and what it means.
const NAUGHTY: &[(&str, &str, bool, After, &str, &str)] = &[
    ("garbage", r#"*'"do":"read"'*) echo hello ;;"#, false, After::Lost, "impossible", "no JSON"),
    ("empty", r#"*'"do":"read"'*) echo ;;"#, false, After::Lost, "impossible", "no JSON"),
    ("text", r#"*'"do":"read"'*) say '"7"' ;;"#, false, After::Lost, "impossible", "\"7\""),
    ("half", r#"*'"do":"read"'*) say 1.5 ;;"#, false, After::Lost, "impossible", "1.5"),
    ("number", r#"*'"do":"write"'*) say 1 ;;"#, false, After::Lost, "impossible", "'write'"),
    ("id", r#"*'"do":"read"'*) n=77; say 1 ;;"#, false, After::Lost, "impossible", "id"),
    // Two answers to one request: the second one is taken for none.
    (
        "twice",
        r#"*'"do":"read"'*) say 1; n=$((n-1)); say 1 ;;"#,
        false,
        After::Lost,
        "impossible",
        "id",
    ),
    (
        "exit",
        r#"*'"do":"read"'*) echo oh no >&2; exit 3 ;;"#,
        false,
        After::Lost,
        "driver-ended",
        "oh no",
    ),
    ("killed", r#"*'"do":"read"'*) kill -9 $$ ;;"#, false, After::Lost, "driver-ended", "ended"),
    (
        "torn",
        r#"*'"do":"read"'*) printf '{"id":'; exit ;;"#,
        false,
        After::Lost,
        "driver-ended",
        "ended",
    ),
    (
        "mute",
        r#"*'"do":"read"'*) exec >&-; sleep 9 ;;"#,
        false,
        After::Lost,
        "driver-ended",
        "closed",
    ),
    ("hang", r#"*'"do":"read"'*) sleep 9 ;;"#, false, After::Lost, "timeout", "within 3 s"),
    (
        "drip",
        r#"*'"do":"read"'*) while :; do echo x >&2; done ;;"#,
        false,
        After::Lost,
        "timeout",
        "3 s",
    ),
    (
        "endless",
        r#"*'"do":"read"'*) head -c 4000000 /dev/zero; sleep 9 ;;"#,
        false,
        After::Lost,
        "impossible",
        "more than 1048576 bytes",
    ),
    (
        "no-after",
        r#"*read*) fail '{"code":"x","message":"y"}' ;;"#,
        false,
        After::Lost,
        "impossible",
        "after",
    ),
    (
        "class",
        r#"*'"do":"read"'*) fail '{"code":"x","message":"y","after":"open","class":"bad"}' ;;"#,
        false,
        After::Lost,
        "impossible",
        "'class' of an error is one of serialization",
    ),
    (
        "conflict",
        r#"*'"do":"read"'*) fail '{"code":"x","message":"y","after":"aborted","expected":true}' ;;"#,
        false,
        After::Aborted,
        "x",
        "y",
    ),
    (
        "still-open",
        r#"*'"do":"commit"'*) fail '{"code":"x","message":"y","after":"open"}' ;;"#,
        true,
        After::Open,
        "x",
        "y",
    ),
    (
        "unsure",
        r#"*'"do":"commit"'*) fail '{"code":"x","message":"y","after":"lost"}' ;;"#,
        true,
        After::Lost,
        "x",
        "y",
    ),
    // Whatever happens at the commit and is no answer leaves it unknown.
    (
        "commit-exit",
        r#"*'"do":"commit"'*) exit 1 ;;"#,
        true,
        After::Lost,
        "driver-ended",
        "status: 1",
    ),
    ("commit-hang", r#"*'"do":"commit"'*) sleep 9 ;;"#, true, After::Lost, "timeout", "3 s"),
    (
        "commit-ts",
        r#"*'"do":"commit"'*) n=$((n+1)); printf '{"id":%d,"ok":"committed","ts":[7]}\n' $n ;;"#,
        true,
        After::Lost,
        "impossible",
        "'ts' is [start,commit]",
    ),
    (
        "commit-true",
        r#"*'"do":"commit"'*) say true ;;"#,
        true,
        After::Lost,
        "impossible",
        "'committed'",
    ),
];

#[test]
fn what_a_naughty_driver_does_is_told_for_what_it_is() {
    for &(name, cases, at_commit, after, code, message) in NAUGHTY {
        let script = Script::new(name, cases);
        let target = script.open().unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut session = target.connect(&target.offers()[0]).unwrap();
        let mut done = transaction(&mut *session);
        if name == "twice" {
            // The first answer fits; it is the next request that gets the other one.
            assert!(done.is_err(), "{name}");
            done = done.map_err(|(_, failure)| (false, failure));
        }
        let (late, failure) = done.unwrap_err();
        assert_eq!(
            (late, failure.after, failure.code.as_str()),
            (at_commit, after, code),
            "{name}: {failure}"
        );
        assert!(failure.message.contains(message), "{name}: {failure}");
        if after == After::Lost {
            let again = session.begin().unwrap_err();
            assert_eq!(again.after, After::Lost, "{name}: nothing more can be asked");
        }
        let began = Instant::now();
        drop(session);
        drop(target);
        assert!(began.elapsed() < Duration::from_secs(30), "{name}: took {:?}", began.elapsed());
        script.assert_all_gone();
    }
}

#[test]
fn a_driver_that_is_none_is_refused_with_what_it_said() {
    let hello = |answer: &str| format!(r#"*'"do":"hello"'*) {answer} ;;"#);
    for (name, cases, complaint) in [
        ("h-exit", hello("echo no server here >&2; exit 1"), "no server here"),
        ("h-hang", hello("sleep 9"), "within 3 s"),
        ("h-old", hello(r#"say '{"protocol":7}'"#), "'protocol' has to be 1"),
        ("h-true", hello("say true"), "'protocol'"),
    ] {
        let script = Script::new(name, &cases);
        let error = script.open().err().unwrap().to_string();
        assert!(
            error.contains(complaint) && error.contains("isolde driver check"),
            "{name}: {error}"
        );
        script.assert_all_gone();
    }
    let error = open("driver:/nowhere/driver", &OpenOptions::default()).err().unwrap().to_string();
    assert!(error.contains("not found"), "{error}");
    for spec in ["driver", "driver:", "driver:  "] {
        let error = open(spec, &OpenOptions::default()).err().unwrap().to_string();
        assert!(error.contains("needs a command"), "{error}");
    }
}

/// Neither who ignores the end of its input nor what it started outlives us.
#[test]
fn the_whole_family_goes() {
    let cases = r#"*'"do":"begin"'*) sleep 1000 & echo $! >>pids; say true ;;
        *'"do":"close"'*) while :; do sleep 1; done ;;"#;
    let script = Script::new("family", cases);
    let target = script.open().unwrap();
    let mut session = target.connect(&target.offers()[0]).unwrap();
    assert_eq!(transaction(&mut *session), Ok(Ended::Committed));
    let child = script.pids()[2];
    assert!(is_alive(child));
    drop(session);
    drop(target);
    script.assert_all_gone();
}

#[test]
fn a_talkative_driver_waits_for_nobody_and_its_end_is_kept() {
    let cases = r#"*'"do":"begin"'*) head -c 500000 /dev/zero | tr '\0' x >&2; echo >&2; say true ;;
        *'"do":"commit"'*) echo the end >&2; exit 9 ;;"#;
    let script = Script::new("talkative", cases);
    let target = script.open().unwrap();
    assert_eq!(target.last_words(), None);
    let mut session = target.connect(&target.offers()[0]).unwrap();
    let (_, failure) = transaction(&mut *session).unwrap_err();
    assert!(failure.message.contains("exit status: 9") && failure.message.contains("the end"));
    let words = target.last_words().unwrap();
    assert!(words.ends_with("the end") && words.len() < 5000, "{words}");
}

/// A control process may have a server that talks all the time, also while no request is under way.
#[test]
fn a_control_process_is_never_blocked_by_what_it_says() {
    let cases =
        r#"*'"do":"create"'*) say true; head -c 500000 /dev/zero | tr '\0' x >&2; echo >said ;;"#;
    let script = Script::new("control-talks", cases);
    let target = script.open().unwrap();
    target.create(&registers(0, 3)).unwrap();
    eventually("it has said everything", || script.folder.join("said").exists());
}

#[test]
fn a_control_process_that_dies_is_quoted() {
    let cases = r#"*'"do":"create"'*) say true; echo first line >&2; echo no room >&2; exit 4 ;;"#;
    let script = Script::new("control-dies", cases);
    let target = script.open().unwrap();
    target.create(&registers(0, 3)).unwrap();
    eventually("its end is noticed", || target.last_words().is_some());
    let words = target.last_words().unwrap();
    assert!(words.contains("the control process: the driver ended (exit status: 4)"), "{words}");
    assert!(words.contains("first line") && words.contains("no room"), "{words}");
}

#[test]
fn the_check_quotes_what_a_driver_said() {
    let cases = r#"*'"do":"begin"'*) for i in 1 2 3; do echo line $i >&2; done; exit 9 ;;"#;
    let script = Script::new("c-quoted", cases);
    let checks = check_driver(&script.command(), Duration::from_secs(3), &mut |_| true);
    let open = checks.iter().find(|check| check.name == "open").unwrap();
    let Found::Wrong(what) = &open.found else { panic!("{open:?}") };
    assert!(what.contains("line 1") && what.contains("line 3"), "{what}");
}

#[test]
fn the_check_speaks_the_words_of_the_protocol() {
    let script = Script::new("c-words", "");
    let checks = check_driver(&script.command(), Duration::from_secs(3), &mut |_| true);
    let check = checks.iter().find(|check| check.name == "no transaction").unwrap();
    let expected = "'commit' was answered by \"committed\"";
    assert_eq!(check.found, Found::Wrong(expected.to_owned()));
}

#[test]
fn the_check_names_what_is_wrong() {
    let found = |name: &str, cases: &str| {
        let script = Script::new(name, cases);
        let checks = check_driver(&script.command(), Duration::from_secs(3), &mut |_| true);
        script.assert_all_gone();
        let wrong = checks.iter().filter(|check| matches!(check.found, Found::Wrong(_)));
        wrong.map(|check| check.name).collect::<Vec<_>>()
    };
    assert_eq!(found("c-hello", r#"*'"do":"hello"'*) say 1 ;;"#), ["hello"]);
    // It keeps nothing, so nearly everything is wrong; but not what it does right.
    let wrong = found("c-forgetful", "");
    for name in ["fresh rows", "own writes", "commit", "unknown request", "no transaction"] {
        assert!(wrong.contains(&name), "{name} in {wrong:?}");
    }
    for name in ["hello", "create", "open", "order", "close", "end of input"] {
        assert!(!wrong.contains(&name), "{name} in {wrong:?}");
    }
}

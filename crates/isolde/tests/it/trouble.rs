//! What a user sees when something goes wrong with the database or the machine.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, Ran, has, has_mariadb, has_postgres};
use crate::throwaway::Kept;

/// The command refuses with exit code 2, one error, and nothing left behind.
#[track_caller]
fn refuses(args: &[&str], words: &[&str]) {
    let folder = Folder::new(&format!("refused-{}", args.join("-").replace(['/', ':'], "-")));
    let began = Instant::now();
    let ran = folder.isolde(args);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert_eq!(ran.out, "", "{ran:#?}");
    assert!(ran.err.starts_with("error: "), "{ran:#?}");
    for word in words {
        assert!(ran.err.contains(word), "no '{word}' in {}", ran.err);
    }
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_target_that_does_not_exist() {
    refuses(&["test", "oracle"], &["no target 'oracle'", "hint: ", "fjall"]);
}

#[test]
fn a_level_or_an_isolation_that_does_not_exist() {
    refuses(&["test", "fjall", "--level", "acid"], &["no level 'acid'", "serializable"]);
    refuses(&["test", "fjall", "--isolation", "snapshot"], &["no level 'snapshot'"]);
    refuses(&["test", "fjall", "--level", "sser"], &["at none of its levels", "--isolation"]);
}

#[test]
fn a_workload_that_makes_no_sense() {
    refuses(&["test", "fjall", "--keys", "1"], &["keys"]);
    refuses(&["test", "fjall", "--sessions", "0"], &["session"]);
    refuses(&["test", "fjall", "--favour", "fun"], &["'fun'", "no such anomaly"]);
    refuses(&["test", "fjall", "--path", "magic"], &["'magic'", "access paths are"]);
}

#[test]
fn a_server_that_is_not_there() {
    refuses(&["test", "postgres://nobody@127.0.0.1:1/none"], &["127.0.0.1:1"]);
    refuses(&["test", "mysql://nobody@127.0.0.1:1/none"], &["127.0.0.1:1"]);
}

#[test]
fn programs_that_are_not_there() {
    refuses(&["test", "postgres", "--server-bin", "/nowhere"], &["/nowhere"]);
    refuses(&["test", "mariadb", "--server-bin", "/nowhere"], &["/nowhere"]);
}

#[test]
fn a_port_that_is_taken() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    if has_postgres() {
        refuses(&["test", "postgres", "--port", &port], &[&port]);
    }
    if has_mariadb() {
        refuses(&["test", "mariadb", "--port", &port], &[&port]);
    }
}

#[test]
fn a_path_that_the_database_does_not_have() {
    refuses(&["test", "fjall", "--path", "for-share"], &["no access path for-share"]);
    refuses(&["test", "fjall", "--keep"], &["throwaway"]);
    refuses(&["test", "fjall", "--rate", "1e-30"], &["rate"]);
}

#[test]
fn a_run_without_commits_has_tested_nothing() {
    let folder = Folder::new("nothing");
    for args in [["--txns", "0"], ["--rollbacks", "1"]] {
        let ran = folder.isolde(&[["test", "fjall"].as_slice(), &args].concat());
        assert_eq!(ran.code, Some(3), "{args:?}: {ran:#?}");
        assert!(ran.out.contains("nothing was tested"), "{ran:#?}");
    }
}

const SKEWED: [&str; 10] = [
    "test",
    "faulty",
    "--isolation",
    "snapshot",
    "--level",
    "ser",
    "--favour",
    "WriteSkew",
    "--seed",
    "9",
];

/// What one run found stays, whatever the next one with the same seed does.
#[test]
fn evidence_is_never_written_over() {
    let folder = Folder::new("again");
    for _ in 0..2 {
        assert_eq!(folder.isolde(&SKEWED).code, Some(1));
    }
    let first = folder.path().join("isolde-runs/faulty-on-purpose-snapshot-9");
    let second = folder.path().join("isolde-runs/faulty-on-purpose-snapshot-9-2");
    for kept in [first, second] {
        for file in ["history.isolde", "report.txt", "report.json", "excerpts"] {
            assert!(kept.join(file).exists(), "{}/{file}", kept.display());
        }
    }
}

#[test]
fn a_folder_of_the_user_stays() {
    let folder = Folder::new("own");
    let own = folder.path().join("results");
    std::fs::create_dir(&own).unwrap();
    let ran = folder.isolde(&["test", "fjall", "-n", "500", "--out", "results"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(own.is_dir());
}

/// Whoever reads the output and goes away early does not change the verdict.
#[test]
fn a_broken_pipe_hides_nothing() {
    let folder = Folder::new("pipe");
    let mut child = folder.command(&SKEWED).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(folder.path().join("isolde-runs/faulty-on-purpose-snapshot-9/report.json").exists());
}

/// Somebody tampers with the rows: no isolation level explains such answers, and no run with them is
/// called good.
#[test]
fn impossible_answers_are_a_fault() {
    if !(has_postgres() && has("psql", &[])) {
        return;
    }
    let server = isolde_target::open("postgres", &isolde_target::OpenOptions::default()).unwrap();
    let url = server.throwaway().unwrap().url;
    let folder = Folder::new("tampered");
    let args = ["test", &url, "--workload", "append", "--round", "1000000", "--duration", "6s"];
    let ran = disturbed(&folder, &args, |_| {
        let psql = |sql: &str| {
            let output = Command::new("psql").args([&url, "-qAtc", sql]).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let table = "select tablename from pg_tables where tablename like 'isolde%' limit 1";
        let table = psql(table);
        // One row after another, and again: the server may prefer the others.
        let spoil = |row: u32| {
            let sql = format!("update {table} set v = v || ',,' where k = {row} returning k");
            psql(&sql) == row.to_string()
        };
        assert!((0..20).cycle().take(100).any(spoil), "no row could be spoilt");
    });
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.err.contains("(impossible)") && ran.out.contains("kept"), "{ran:#?}");
}

/// A disk without room: the record ends, what was saved stays, and the command says so.
#[test]
fn a_full_disk() {
    let folder = Folder::new("full");
    std::os::unix::fs::symlink("/dev/full", folder.path().join("h.isolde")).unwrap();
    let ran = folder.isolde(&["record", "fjall", "h.isolde", "--force", "-n", "1m"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.err.contains("h.isolde") && ran.err.contains("No space left"), "{}", ran.err);
}

/// A free port of this machine.
pub(crate) fn free_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}

/// Starts a long run, waits until its history grows, does something to it, and waits for the end.
pub(crate) fn disturbed(folder: &Folder, args: &[&str], disturb: impl FnOnce(u32)) -> Ran {
    disturbed_after(4096, folder, args, disturb)
}

/// The same when the history has more than so many bytes: a transaction takes about ten.
pub(crate) fn disturbed_after(
    bytes: u64,
    folder: &Folder,
    args: &[&str],
    disturb: impl FnOnce(u32),
) -> Ran {
    let mut command = folder.command(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let began = Instant::now();
    let grows = || walk(folder.path()).any(|len| len > bytes);
    while !grows() {
        assert!(began.elapsed() < Duration::from_secs(120), "no such history yet");
        std::thread::sleep(Duration::from_millis(20));
    }
    disturb(child.id());
    Ran::of(&child.wait_with_output().unwrap())
}

/// The lengths of all histories below a folder.
fn walk(folder: &std::path::Path) -> impl Iterator<Item = u64> {
    let mut folders = vec![folder.to_owned()];
    let mut lengths = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "isolde") {
                lengths.push(entry.metadata().map_or(0, |m| m.len()));
            }
        }
    }
    lengths.into_iter()
}

pub(crate) fn signal(signal: &str, pid: u32) {
    let sent = Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Whether nobody listens on that port any more, or soon not.
pub(crate) fn is_gone(port: &str) -> bool {
    let began = Instant::now();
    let address = format!("127.0.0.1:{port}");
    while began.elapsed() < Duration::from_secs(60) {
        if std::net::TcpStream::connect(&address).is_err() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

/// The server is killed in the middle of a run: what was recorded is checked, the command says what
/// happened, and nothing is called aborted that may have committed.
#[track_caller]
fn server_dies(target: &str, program: &str) {
    let folder = Folder::new(&format!("killed-{target}"));
    let port = free_port();
    let args = ["test", target, "--duration", "10m", "--port", &port, "--seed", "1"];
    let ran = disturbed(&folder, &args, |_| {
        signal("-KILL", server(program, &port));
    });
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.err.contains("sessions gave up"), "{ran:#?}");
    assert!(ran.out.contains("holds") && ran.out.contains("kept"), "{ran:#?}");
}

/// The process of that program that was told that port. (The shell that watches over it was, too.)
fn server(program: &str, port: &str) -> u32 {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let read = |pid: u32, what: &str| std::fs::read(format!("/proc/{pid}/{what}"));
    let text =
        |pid, what| String::from_utf8_lossy(&read(pid, what).unwrap_or_default()).into_owned();
    let mut found = pids
        .filter(|pid| text(*pid, "comm").trim() == program && text(*pid, "cmdline").contains(port));
    found.next().unwrap()
}

#[test]
fn postgres_is_killed() {
    if has_postgres() {
        server_dies("postgres", "postgres");
    }
}

#[test]
fn mariadb_is_killed() {
    if has_mariadb() {
        server_dies("mariadb", "mariadbd");
    }
}

/// The limit is known before the first thread is started: one too many would end the process.
#[test]
fn more_sessions_than_threads_are_an_error_with_the_figure() {
    let folder = Folder::new("threads");
    for target in ["faulty", "fjall"] {
        let ran = folder.isolde(&["test", target, "--sessions", "100000", "--txns", "100"]);
        assert_eq!(ran.code, Some(2), "{ran:#?}");
        assert!(ran.err.contains("there is room for "), "{ran:#?}");
    }
}

/// A server that says itself that its data is damaged is not called good, though its transactions are.
#[test]
fn a_server_that_reports_its_own_corruption_is_at_fault() {
    if !has_postgres() {
        return;
    }
    let server = Kept::start("postgres");
    // Some updates of every table that is made from now on find a damaged page.
    server.run(&[
        "create function public.hurt() returns trigger language plpgsql as $$ begin \
         if new.v % 40 = 7 then raise exception 'invalid page in block 1' using errcode = 'XX001'; end if; \
         return new; end $$",
        "create function public.spread() returns event_trigger language plpgsql as $$ declare made record; begin \
         for made in select * from pg_event_trigger_ddl_commands() where object_type = 'table' loop \
         execute format('create trigger hurt before update on %s for each row execute function public.hurt()', \
         made.object_identity); end loop; end $$",
        "create event trigger spread on ddl_command_end when tag in ('CREATE TABLE') \
         execute function public.spread()",
    ]);
    let folder = Folder::new("corrupt");
    let ran = folder.isolde(&["test", &server.url, "--txns", "2k", "--seed", "1"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.out.contains("serializable: holds") && ran.out.contains("kept "), "{ran:#?}");
    assert!(ran.err.contains("reports damaged data: invalid page in block 1 (XX001)"), "{ran:#?}");
}

#[test]
fn a_folder_that_cannot_be_written_is_told_with_the_option() {
    let folder = Folder::new("read-only");
    let ran = folder.isolde(&["test", "faulty", "--txns", "100", "--out", "/proc/nowhere"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.err.contains("--out names another place"), "{ran:#?}");
}

#[test]
fn a_user_s_server_without_connections_is_told_with_its_limit() {
    if !has_postgres() {
        return;
    }
    let server = Kept::start("postgres");
    let folder = Folder::new("full");
    let ran = folder.isolde(&["test", &server.url, "--txns", "100", "--sessions", "400"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.err.contains("(max_connections is 300): use fewer --sessions"), "{ran:#?}");
}

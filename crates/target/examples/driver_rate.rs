//! How fast a driver can be: round trips through the protocol, and through a bare pipe in the same run.
//!
//! `cargo run --release -p isolde-target --example driver_rate -- SECONDS`
//! `... --example driver_rate -- SECONDS COMMAND` measures another driver instead of the trivial one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a measurement, not a part of the tool"
)]

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use isolde_history::OpKind;
use isolde_target::{OpenOptions, Path, Request, open};

const HELLO: &str = r#"{"protocol":1,"name":"Trivial","version":"0","kinds":["read"],
    "levels":[{"name":"none","promises":"ser"}]}"#;

fn main() {
    let mut words = std::env::args().skip(1);
    let first = words.next().unwrap_or_else(|| "2".to_owned());
    match first.as_str() {
        "--serve" => serve(false),
        "--echo" => serve(true),
        seconds => {
            let time = Duration::from_secs(seconds.parse().expect("seconds"));
            let own = std::env::current_exe().unwrap().display().to_string();
            let command = words.next().unwrap_or_else(|| format!("{own} --serve"));
            // In turns, so that whatever else the machine does harms both.
            let (mut bare, mut driven) = (0.0, 0.0);
            for _ in 0..3 {
                bare += ping_pong(&own, time / 3) / 3.0;
                driven += round_trips(&command, time / 3) / 3.0;
            }
            println!(
                "{{\"bare_pipe_per_second\":{bare:.0},\"driver_per_second\":{driven:.0},\
                 \"ratio\":{:.2}}}",
                driven / bare
            );
        }
    }
}

/// Reads through a session.
fn round_trips(command: &str, time: Duration) -> f64 {
    let target = open(&format!("driver:{command}"), &OpenOptions::default()).unwrap();
    let mut session = target.connect(&target.offers()[0]).unwrap();
    session.begin().unwrap();
    let (kind, path) = (OpKind::Read, Path::PrimaryKey);
    let request = Request { table: 0, row: 7, kind, path, value: 0, expected: 0 };
    per_second(time, || drop(session.run(&request).unwrap()))
}

/// The same bytes to a process that sends as many back as a driver does, and looks at nothing.
fn ping_pong(own: &str, time: Duration) -> f64 {
    let mut child = Command::new(own)
        .arg("--echo")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let request = b"{\"id\":12345,\"do\":\"read\",\"table\":0,\"row\":7}\n";
    let mut buffer = [0; 256];
    let rate = per_second(time, || {
        input.write_all(request).unwrap();
        assert!(output.read(&mut buffer).unwrap() > 0);
    });
    drop(input);
    child.wait().unwrap();
    rate
}

fn per_second(time: Duration, mut act: impl FnMut()) -> f64 {
    let (began, mut count) = (Instant::now(), 0u64);
    while began.elapsed() < time {
        (0..100).for_each(|_| act());
        count += 100;
    }
    count as f64 / began.elapsed().as_secs_f64()
}

/// A driver that reads 1 everywhere; or none, that looks at nothing.
fn serve(echo: bool) {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut buffer = [0; 4096];
    let mut answer = Vec::new();
    for id in 1.. {
        let count = input.read(&mut buffer).unwrap();
        if count == 0 {
            return;
        }
        answer.clear();
        let line = &buffer[..count];
        if echo {
            writeln!(answer, "{{\"id\":12345,\"ok\":1}}").unwrap();
        } else if line.windows(5).any(|w| w == b"hello") {
            writeln!(answer, "{{\"id\":{id},\"ok\":{}}}", HELLO.replace('\n', "")).unwrap();
        } else {
            writeln!(answer, "{{\"id\":{id},\"ok\":1}}").unwrap();
        }
        output.write_all(&answer).unwrap();
        output.flush().unwrap();
    }
}

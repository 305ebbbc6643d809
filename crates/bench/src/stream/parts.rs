//! Which streams each part measures. Each is a process of its own, so that no line has memory of another one.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::args::{Case, Order, YesNo};

/// The delays of most experiments.
const DELAYED: Order = Order::Delayed { mean: 100, deviation: 10 };

/// In order and delayed, with promises and without.
pub(super) fn rate(base: &Case) -> Result<()> {
    for promises in [YesNo::Yes, YesNo::No] {
        for order in [Order::InOrder, DELAYED] {
            told("rate", &Case { order, promises, ..base.clone() })?;
        }
    }
    Ok(())
}

/// Measures a stream in a process of its own, and prints its line.
fn told(part: &str, case: &Case) -> Result<Value> {
    let mut line = measured(case)?;
    line["part"] = json!(part);
    println!("{line}");
    Ok(line)
}

fn measured(case: &Case) -> Result<Value> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["stream", "--only=one"]).args(case.typed()).stderr(Stdio::inherit());
    let output = command.output().context("cannot start a process for a stream")?;
    ensure!(output.status.success(), "a stream failed: {}", output.status);
    serde_json::from_slice(&output.stdout).context("a stream told something else than a line")
}

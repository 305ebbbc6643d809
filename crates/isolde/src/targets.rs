//! `isolde targets`.

use anyhow::Result;
use isolde_history::OpKind;
use isolde_target::{KINDS, NONE, OpenOptions, Path, Target, without_password};
use serde_json::{Value, json};

use crate::args::TargetsArgs;
use crate::interrupt::Interrupts;
use crate::progress::Progress;
use crate::terminal;

/// The kinds of access that workloads make.
const ACCESSES: [(&str, OpKind); 6] = [
    ("read", OpKind::Read),
    ("write", OpKind::Write),
    ("append", OpKind::Append),
    ("list read", OpKind::ListRead),
    ("compare-and-set", OpKind::Cas),
    ("insert-if-absent", OpKind::InsertIfAbsent),
];

pub(crate) fn run(args: &TargetsArgs, interrupts: &Interrupts) -> Result<()> {
    let Some(name) = &args.target else { return list(args.json) };
    interrupts.listen()?;
    let opening = Progress::spinner(&format!("opening {}", without_password(name)));
    let target = isolde_target::open(
        name,
        &OpenOptions { password_file: args.password_file.clone(), ..OpenOptions::default() },
    )?;
    opening.clear();
    if args.json {
        return terminal::print(&(serde_json::to_string_pretty(&to_json(&*target))? + "\n"));
    }
    terminal::print(&to_text(&*target))
}

fn list(json: bool) -> Result<()> {
    if json {
        let all: Vec<_> = KINDS
            .iter()
            .map(|kind| json!({"name": kind.name, "urls": kind.schemes, "summary": kind.summary}))
            .collect();
        return terminal::print(&(serde_json::to_string_pretty(&all)? + "\n"));
    }
    if KINDS.is_empty() {
        return terminal::print(&format!("{NONE}\n"));
    }
    let width = KINDS.iter().map(|k| k.name.len()).max().unwrap_or(0);
    let lines = KINDS.iter().map(|kind| format!("{:width$}  {}\n", kind.name, kind.summary));
    terminal::print(&(lines.collect::<String>() + "more: isolde targets NAME\n"))
}

fn to_text(target: &dyn Target) -> String {
    let mut text = format!("{} {}\nlevels, the weakest first\n", target.name(), target.version());
    for offer in target.offers() {
        text += &format!("  {}: promises {}\n", offer.name, offer.promises);
        if !offer.remark.is_empty() {
            text += &format!("    {}\n", offer.remark);
        }
    }
    text += "access paths, and how often each is taken (0: only with --path)\n";
    for (name, kind) in ACCESSES {
        let way = |(path, weight): &(Path, u32)| format!("{} {weight}", path.name());
        let ways: Vec<String> = target.paths(kind).iter().map(way).collect();
        text += &format!("  {name}: {}\n", ways.join(", "));
    }
    text
}

fn to_json(target: &dyn Target) -> Value {
    let offers: Vec<Value> = target
        .offers()
        .iter()
        .map(|o| json!({"name": o.name, "promises": o.promises.name(), "remark": o.remark}))
        .collect();
    let paths: serde_json::Map<String, Value> = ACCESSES
        .iter()
        .map(|(name, kind)| {
            let way = |(path, weight): &(Path, u32)| (path.name().to_owned(), json!(weight));
            ((*name).to_owned(), Value::Object(target.paths(*kind).iter().map(way).collect()))
        })
        .collect();
    json!({
        "name": target.name(), "version": target.version(), "levels": offers, "paths": paths,
    })
}

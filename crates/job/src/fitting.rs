//! A history for a format that cannot hold all of it: what is left out, and what stands in the way.

use std::io;

use anyhow::{Context, Result, bail};
use isolde_history::{Format, History, HistoryPart};

use crate::notice::Notice;
use crate::output::Shape;

/// What may be left out of a history.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Dropping {
    /// These parts, whether the format could hold them or not.
    pub parts: Vec<HistoryPart>,
    /// Every other part that the format cannot hold.
    pub rest: bool,
}

/// The history as the format can hold it in that shape, and what was left out for that. What must not be left
/// out and cannot be held is an error, which names all of it at once.
pub fn fitted(
    history: History,
    (format, shape): (&Format, Shape),
    dropping: &Dropping,
) -> Result<(History, Vec<Notice>)> {
    let mut dropped: Vec<(HistoryPart, String)> = history.parts();
    dropped.retain(|(part, _)| dropping.parts.contains(part));
    let named: Vec<HistoryPart> = dropped.iter().map(|(part, _)| *part).collect();
    let history = if named.is_empty() { history } else { history.without(&named)? };
    if refusal(&history, format, shape)?.is_none() {
        return Ok((history, left_out(format, &dropped)));
    }
    let Obstacles { parts, other } = obstacles(&history, format, shape)?;
    if !dropping.rest || other.is_some() {
        bail!(complaint(format, &parts, other.as_deref()));
    }
    let rest: Vec<HistoryPart> = parts.iter().map(|(part, _)| *part).collect();
    dropped.extend(parts);
    Ok((history.without(&rest)?, left_out(format, &dropped)))
}

fn left_out(format: &Format, dropped: &[(HistoryPart, String)]) -> Vec<Notice> {
    let each = dropped.iter().map(|(part, held)| format!("{} ({held})", part.name()));
    let each: Vec<String> = each.collect();
    let note = format!("left out of {}: {}", format.name, each.join("; "));
    if each.is_empty() { Vec::new() } else { vec![Notice::Note(note)] }
}

/// Why a format cannot hold a history, in the words of its writer.
fn refusal(history: &History, format: &Format, shape: Shape) -> Result<Option<String>> {
    let written = match shape {
        Shape::Folder => {
            let write = format.write_folder.context("the format is not written as a folder")?;
            write(history, &mut |_| Ok(Box::new(io::sink())))
        }
        Shape::File => {
            let write = format.write.context("the format is not written")?;
            write(history, &mut io::sink())
        }
    };
    Ok(written.err().map(|error| error.to_string()))
}

/// What keeps a history from being held.
struct Obstacles {
    /// Parts that can be left out.
    parts: Vec<(HistoryPart, String)>,
    /// What is still in the way without them.
    other: Option<String>,
}

/// What a format is about: it does not get better without that.
fn essential(format: &Format) -> &'static [HistoryPart] {
    match format.name {
        "timekiller" => &[HistoryPart::Timestamps],
        "leopard" => &[
            HistoryPart::Intervals,
            HistoryPart::Attributes,
            HistoryPart::Statements,
            HistoryPart::Names,
        ],
        _ => &[],
    }
}

/// What cannot be held, part by part: a writer itself names only the first thing that it cannot hold.
fn obstacles(history: &History, format: &Format, shape: Shape) -> Result<Obstacles> {
    let mut there = history.parts();
    there.retain(|(part, _)| !essential(format).contains(part));
    let all: Vec<HistoryPart> = there.iter().map(|(part, _)| *part).collect();
    if let Some(other) = refusal(&history.without(&all)?, format, shape)? {
        return Ok(Obstacles { parts: Vec::new(), other: Some(other) });
    }
    // One part after another is put back, and those that can be held stay.
    let mut parts: Vec<(HistoryPart, String)> = Vec::new();
    let mut left = all;
    for (part, held) in there {
        let less: Vec<HistoryPart> = left.iter().copied().filter(|other| *other != part).collect();
        if refusal(&history.without(&less)?, format, shape)?.is_some() {
            parts.push((part, held));
        } else {
            left = less;
        }
    }
    Ok(Obstacles { parts, other: None })
}

fn complaint(format: &Format, parts: &[(HistoryPart, String)], other: Option<&str>) -> String {
    let name = format.name;
    let mut text = format!("{name} cannot hold all of this history");
    for (part, held) in parts {
        text += &format!("\n  {}: {held}", part.name());
    }
    match other {
        Some(other) => {
            let prefix = format!("{name} cannot hold it: ");
            text += &format!("\n  {}", other.strip_prefix(&prefix).unwrap_or(other));
        }
        None => {
            let names: Vec<&str> = parts.iter().map(|(part, _)| part.name()).collect();
            text += &format!(
                "\n  hint: --drop {} leaves that out, and so does --drop all",
                names.join(",")
            );
        }
    }
    text
}

//! Witnesses as files of their own: small histories in any format that is written, or pictures.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use isolde_history::notation::parse;
use isolde_history::{Format, History, Key};
use isolde_report::{Case, Exhibit, dot, svg};
use isolde_spec::{Promise, Witness, excerpt};

use crate::asking::Asking;
use crate::notice::Notice;
use crate::plain::{Plain, plain};
use crate::shown::shown;
use crate::{load, output};

/// How many keys are named when they are numbered.
const KEYS: usize = 8;

/// What a witness is written as.
#[derive(Clone, Copy)]
pub enum As {
    /// The notation, with a comment that says what it is.
    Notation,
    /// A history in another format.
    Format(&'static Format),
    /// A picture.
    Svg,
    /// A graph for Graphviz.
    Dot,
}

impl As {
    /// By the name of a format, or of a picture.
    pub fn named(name: &str) -> Result<As> {
        Ok(match name {
            "svg" => As::Svg,
            "dot" => As::Dot,
            "notation" => As::Notation,
            _ => {
                let format = load::named(name)?;
                if format.write.is_none() {
                    bail!("{name} is read but not written\n  hint: see `isolde formats`");
                }
                As::Format(format)
            }
        })
    }

    /// By the ending of a file's name.
    pub fn of(file: &Path) -> Result<As> {
        Ok(match file.extension().and_then(|e| e.to_str()) {
            Some("txt") => As::Notation,
            Some("svg") => As::Svg,
            Some("dot" | "gv") => As::Dot,
            _ => As::Format(output::format(file, None)?),
        })
    }

    fn ending(self) -> &'static str {
        match self {
            As::Notation => "txt",
            As::Svg => "svg",
            As::Dot => "dot",
            As::Format(format) => match format.name {
                "isolde" => "isolde",
                "jsonl" => "jsonl",
                "jepsen-edn" => "edn",
                "dbcop-bincode" => "bincode",
                name if name.ends_with("json") => "json",
                _ => "txt",
            },
        }
    }
}

/// Writes every witness: `NAME-LEVEL-NUMBER-ANOMALY.txt`. One that the format cannot express is named,
/// and does not keep the others from being written. Each is checked as the history was.
pub fn write(
    folder: &Path,
    stem: &str,
    case: &Case<'_>,
    asking: &Asking,
    named: Option<&str>,
) -> Result<Vec<Notice>> {
    let kind = named.map_or(Ok(As::Notation), As::named)?;
    let mut notices = Vec::new();
    std::fs::create_dir_all(folder).with_context(|| shown(folder))?;
    for verdict in case.decided.iter().map(|d| &d.verdict) {
        let promise = verdict.promise;
        for (at, witness) in verdict.witnesses().iter().enumerate() {
            let exhibit = Exhibit::new(case.history, promise, at + 1, witness);
            let name = format!("{stem}-{}-{}.{}", exhibit.id, witness.anomaly, kind.ending());
            let history = case.history;
            // The folder is the command's own: a second check writes the same files again.
            let force = true;
            let shown =
                ShownWitness { history, promise, witness, exhibit: &exhibit, asking, force };
            match shown.write(&folder.join(name), kind, &case.name) {
                Err(error) if matches!(kind, As::Format(_)) => {
                    let text = format!("{} was not written: {error:#}", exhibit.id);
                    notices.push(Notice::Warning(text));
                }
                said => notices.extend(said?),
            }
        }
    }
    Ok(notices)
}

/// What the files of each history begin with: its name, with a number where two histories have the same.
#[derive(Default, Debug)]
pub struct Stems(HashMap<String, usize>);

impl Stems {
    /// What the files of that history begin with.
    pub fn of(&mut self, file: &Path) -> String {
        let stem = match file.file_stem() {
            _ if file.as_os_str() == "-" => "stdin".into(),
            Some(stem) => stem.to_string_lossy(),
            None => "history".into(),
        };
        let count = self.0.entry(stem.clone().into_owned()).or_default();
        *count += 1;
        if *count == 1 { stem.into_owned() } else { format!("{stem}-{count}") }
    }
}

/// One witness to be written.
pub struct ShownWitness<'a> {
    /// Where it was found.
    pub history: &'a History,
    /// The promise that it breaks.
    pub promise: Promise,
    /// The witness.
    pub witness: &'a Witness,
    /// The same, as it is shown.
    pub exhibit: &'a Exhibit,
    /// How it was asked.
    pub asking: &'a Asking,
    /// Whether a file that exists is overwritten.
    pub force: bool,
}

impl ShownWitness<'_> {
    /// Writes it into a file; `from` is where it was found.
    pub fn write(&self, to: &Path, kind: As, from: &str) -> Result<Vec<Notice>> {
        let mut notices = Vec::new();
        if matches!(kind, As::Notation | As::Format(_)) {
            notices.extend(self.does_not_stand_alone()?);
        }
        let text = match kind {
            As::Svg => svg(self.exhibit),
            As::Dot => dot(self.exhibit),
            As::Notation => self.notation(from),
            As::Format(format) => {
                notices.extend(self.history(to, format)?);
                return Ok(notices);
            }
        };
        output::write(to, self.force, |out| Ok(out.write_all(text.as_bytes())?))?;
        Ok(notices)
    }

    /// As a history in another format: as it is, or where the format cannot say that, as plain reads and
    /// writes that show the same.
    fn history(&self, to: &Path, format: &'static Format) -> Result<Option<Notice>> {
        let mut note = None;
        let write = format.write.context("the format is not written")?;
        let written = |history: &History| {
            let mut bytes = Vec::new();
            write(history, &mut bytes).map(|()| bytes)
        };
        let mut bytes = written(&parse(&excerpt(self.history, self.witness))?);
        if let Err(refused) = &bytes {
            let forms = [false, true].map(|absent| plain(self.history, self.witness, absent));
            let same = |plain: &Plain| self.shows_the_same(&plain.history);
            let mut forms = forms.into_iter().flatten().filter(same);
            let found = forms.find_map(|plain| Some((written(&plain.history).ok()?, plain.keys)));
            let (plain, keys) = found.with_context(|| refused.to_string())?;
            let named = |(key, number): &(Key, u32)| {
                format!("{number} is {}", key_name(self.history, *key))
            };
            let keys: Vec<String> = keys.iter().take(KEYS).map(named).collect();
            note = Some(Notice::Note(format!(
                "{} cannot hold times and names; wrote plain integer reads and writes, which show \
                 the same anomaly (key {})",
                format.name,
                keys.join(", ")
            )));
            bytes = Ok(plain);
        }
        let bytes = bytes?;
        output::write(to, self.force, |out| Ok(out.write_all(&bytes)?))?;
        Ok(note)
    }

    /// Some need more of the history than their own transactions: then the small history is said to show
    /// something else, or nothing for sure.
    fn does_not_stand_alone(&self) -> Result<Option<Notice>> {
        let alone = parse(&excerpt(self.history, self.witness))?;
        let verdict = self.asking.ask(&alone, self.promise);
        if verdict.witnesses().iter().any(|w| w.anomaly == self.witness.anomaly) {
            return Ok(None);
        }
        let found: Vec<&str> = verdict.counts.iter().map(|c| c.anomaly.name()).collect();
        let says = match verdict.holds() {
            Some(false) => format!("it shows {}", found.join(", ")),
            Some(true) => "it shows nothing".to_owned(),
            None => "it is not decided".to_owned(),
        };
        let id = &self.exhibit.id;
        let text = format!("{id} needs more of the history: checked alone, {says}");
        Ok(Some(Notice::Warning(text)))
    }

    /// Whether another history breaks the promise by the same anomaly.
    fn shows_the_same(&self, other: &History) -> bool {
        let verdict = self.asking.ask(other, self.promise);
        verdict.witnesses().iter().any(|w| w.anomaly == self.witness.anomaly)
    }

    fn notation(&self, from: &str) -> String {
        let (anomaly, promise) =
            (self.witness.anomaly, Promise { session_order: true, ..self.promise });
        let from = from.replace(['\n', '\r'], " ");
        let story = self.exhibit.story.replace(['\n', '\r'], " ");
        let meaning = anomaly.entry().meaning;
        // Asked in another way it may show something else.
        let asked = match self.asking.typed.as_str() {
            "" => String::new(),
            typed => format!(" (isolde check{typed})"),
        };
        format!(
            "# {anomaly}: {meaning}\n# {story}\n# {promise} forbids it{asked}; from {from}\n{}",
            excerpt(self.history, self.witness)
        )
    }
}

fn key_name(history: &History, key: Key) -> String {
    let mut name = String::new();
    let value = history.pool().key_name(key);
    isolde_history::notation::write_value(history.pool(), value, &mut name);
    name
}

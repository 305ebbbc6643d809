//! Every file format, one module each, and the table that lists them.

pub(crate) mod awdit;
pub(crate) mod cobra;
pub(crate) mod dbcop2_json;
pub(crate) mod dbcop_bincode;
pub(crate) mod dbcop_common;
pub(crate) mod dbcop_hist;
pub(crate) mod dbcop_json;
pub(crate) mod isopredict;
pub(crate) mod jepsen;
pub(crate) mod jepsen_log;
pub(crate) mod plume;
pub(crate) mod porcupine_kv;
pub(crate) mod three_ts;
pub(crate) mod timekiller;
pub(crate) mod unknown;
pub(crate) mod viper;

use std::io::Write;

use crate::builder::HistoryBuilder;
use crate::error::ReadError;
use crate::history::History;
use crate::sink::{Sink, SinkError};
use crate::source::{Source, whole};

/// Reads a source into any sink.
pub type Read = fn(&Source, &mut dyn Sink) -> Result<(), ReadError>;
/// Reads a source into a history.
pub type Load = fn(&Source) -> Result<HistoryBuilder, ReadError>;
/// Writes a history.
pub type Save = fn(&History, &mut dyn Write) -> Result<(), SinkError>;

/// A file format: what it is called, how to recognise, read and write it.
pub struct Format {
    /// The name that `--format` takes.
    pub name: &'static str,
    /// One line that says whose it is.
    pub title: &'static str,
    /// What a line of it looks like.
    pub example: &'static str,
    /// Whether the content is of this format: cheap, looks at the beginning only, and says yes to
    /// no other format's files.
    pub looks_like: fn(&Source) -> bool,
    /// Reads it into any sink.
    pub read: Read,
    /// Reads a whole history on all cores, where that is worth the trouble.
    pub load: Option<Load>,
    /// Writes it. What the format cannot express is refused by name.
    pub write: Option<Save>,
}

/// Every format. Recognition tries them in this order, so the ones with an unmistakable beginning
/// come first.
pub static FORMATS: &[&Format] = &[
    &crate::native::FORMAT,
    &crate::jsonl::FORMAT,
    &crate::notation::FORMAT,
    &dbcop_bincode::FORMAT,
    &cobra::FORMAT,
    &viper::FORMAT,
    &timekiller::FORMAT,
    &dbcop_json::FORMAT,
    &dbcop2_json::FORMAT,
    &jepsen::JEPSEN_JSON,
    &porcupine_kv::FORMAT,
    &jepsen::JEPSEN_EDN,
    &jepsen_log::FORMAT,
    &plume::FORMAT,
    &isopredict::FORMAT,
    &three_ts::FORMAT,
    &awdit::FORMAT,
    &dbcop_hist::FORMAT,
];

impl Format {
    /// The format of that name.
    pub fn named(name: &str) -> Option<&'static Format> {
        FORMATS.iter().copied().find(|f| f.name == name)
    }

    /// The format that the content shows.
    pub fn recognise(source: &Source) -> Result<&'static Format, ReadError> {
        FORMATS.iter().copied().find(|f| (f.looks_like)(source)).ok_or_else(|| {
            if source.is_empty() {
                return whole(source.name(), "the input is empty".to_owned());
            }
            let complaint = "the format is not recognised from the content";
            let mut error = whole(source.name(), complaint.to_owned());
            let names: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
            error.hint = Some(format!(
                "--format takes one of {}, and then the error says where the file differs",
                names.join(", ")
            ));
            error
        })
    }

    /// Reads a whole history.
    pub fn load(&self, source: &Source) -> Result<HistoryBuilder, ReadError> {
        if let Some(load) = self.load {
            return load(source);
        }
        let mut builder = HistoryBuilder::new();
        (self.read)(source, &mut builder)?;
        Ok(builder)
    }
}

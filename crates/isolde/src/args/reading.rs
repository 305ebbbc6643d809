//! How a history is read: the same for every command that does.

use anyhow::Result;
use isolde_job::load::{self, Reading};
use isolde_job::quoted;

use crate::typed::{bytes, fact};

/// How much text a history may have, if nothing else is said.
const MAX_INPUT: &str = "64G";

/// How a history is read.
#[derive(clap::Args, Debug)]
pub(crate) struct ReadArgs {
    /// The format of the history (see `isolde formats`) [default: recognised from the content]
    #[arg(long, short, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// The value that every key has before the first transaction, such as 0 or absent, where the format
    /// has no place for it
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) initial: Option<String>,
    /// A fact about the run where the format has no place for it: commit-order=serial says that the order
    /// of commit timestamps is a serial order; can be repeated
    #[arg(long = "fact", value_name = "NAME=VALUE", value_parser = fact)]
    pub(crate) facts: Vec<(String, String)>,
    /// How much text a history may have once it is unpacked, such as 500M or 100G
    #[arg(long, value_name = "BYTES", default_value = MAX_INPUT, value_parser = bytes)]
    pub(crate) max_input: u64,
    /// How much memory may be used for the history and its check, such as 500M or 4G; what needs more is
    /// unknown, and a text that needs more is not read
    /// [default: half of the machine's]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
}

impl ReadArgs {
    /// For the reader.
    pub(crate) fn reading(&self) -> Result<Reading> {
        Ok(Reading {
            format: self.format.as_deref().map(load::named).transpose()?,
            max_input: self.max_input,
            memory: self.memory,
            initial: self.initial.clone(),
            facts: self.facts.clone(),
        })
    }

    /// What must be typed to read the same file in the same way, with a space before each word.
    pub(crate) fn typed(&self) -> String {
        let mut words = String::new();
        if let Some(format) = &self.format {
            words += &format!(" --format {}", quoted(format));
        }
        if let Some(initial) = &self.initial {
            words += &format!(" --initial {}", quoted(initial));
        }
        for (name, value) in &self.facts {
            words += &format!(" --fact {}", quoted(&format!("{name}={value}")));
        }
        if bytes(MAX_INPUT) != Ok(self.max_input) {
            words += &format!(" --max-input {}", self.max_input);
        }
        words
    }
}

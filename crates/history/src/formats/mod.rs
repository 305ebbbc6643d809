//! Every file format, one module each, and the table that lists them.

pub(crate) mod awdit;
#[cfg(feature = "files")]
pub(crate) mod beginning;
pub(crate) mod cobra;
pub(crate) mod dbcop2_json;
pub(crate) mod dbcop_bincode;
pub(crate) mod dbcop_common;
pub(crate) mod dbcop_hist;
pub(crate) mod dbcop_json;
mod guess;
pub(crate) mod isopredict;
pub(crate) mod jepsen;
pub(crate) mod jepsen_line;
pub(crate) mod jepsen_log;
pub(crate) mod jepsen_txt;
pub(crate) mod leopard;
pub(crate) mod plume;
pub(crate) mod porcupine_kv;
pub(crate) mod three_ts;
pub(crate) mod timekiller;
pub(crate) mod unknown;
pub(crate) mod viper;

use crate::error::ReadError;
use crate::source::{Source, whole};

pub use crate::format::{Format, Load, MakeFile, Read, Save, SaveFolder};

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
    &leopard::FORMAT,
    &dbcop_json::FORMAT,
    &dbcop2_json::FORMAT,
    &jepsen::JEPSEN_JSON,
    &porcupine_kv::FORMAT,
    &jepsen::JEPSEN_EDN,
    &jepsen_log::FORMAT,
    &jepsen_txt::FORMAT,
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
            error.hint = Some(guess::hint(source, FORMATS));
            error
        })
    }
}

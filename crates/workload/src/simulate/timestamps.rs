//! What timestamps a simulated history shall have: how they look, and whether they tell the truth.

use std::str::FromStr;

use isolde_history::Timestamp;

use super::timestamp_faults::TimestampFault;
use crate::settings::Kind;

/// How timestamps are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimestampStyle {
    /// One number.
    #[default]
    Plain,
    /// Coarse time, and a number that tells apart what happened within it.
    Hybrid,
}

impl TimestampStyle {
    /// Every style.
    pub const ALL: [TimestampStyle; 2] = [TimestampStyle::Plain, TimestampStyle::Hybrid];

    /// Its name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            TimestampStyle::Plain => "plain",
            TimestampStyle::Hybrid => "hybrid",
        }
    }

    /// The style of that name.
    pub fn named(name: &str) -> Option<TimestampStyle> {
        TimestampStyle::ALL.into_iter().find(|style| style.name() == name)
    }

    /// The timestamp of that step of the database's clock.
    pub(crate) const fn timestamp(self, steps: i64) -> Timestamp {
        match self {
            TimestampStyle::Plain => Timestamp::plain(steps),
            TimestampStyle::Hybrid => {
                Timestamp { physical: steps.div_euclid(COARSE), logical: steps.rem_euclid(COARSE) }
            }
        }
    }
}

/// How many steps have the same physical part in a hybrid timestamp.
const COARSE: i64 = 64;

/// Faulty timestamps to plant. Written `swapped:10`, `swapped`, or `10` for all faults in turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlantedFault {
    /// Which; `None`: all of them, in turn.
    pub fault: Option<TimestampFault>,
    /// How many.
    pub count: u64,
}

impl FromStr for PlantedFault {
    type Err = String;

    fn from_str(text: &str) -> Result<PlantedFault, String> {
        if let Ok(count) = text.parse() {
            return Ok(PlantedFault { fault: None, count });
        }
        let (name, count) = match text.split_once(':') {
            Some((name, count)) => (name, count.parse().ok()),
            None => (text, Some(1)),
        };
        let count = count.ok_or_else(|| format!("'{text}' does not say how many to plant"))?;
        let fault = TimestampFault::named(name).ok_or_else(|| {
            let names = TimestampFault::ALL.map(TimestampFault::name).join(", ");
            format!("there is no fault of timestamps '{name}'; there are {names}")
        })?;
        Ok(PlantedFault { fault: Some(fault), count })
    }
}

impl PlantedFault {
    /// What may be planted for it with so many sessions at a time.
    pub(crate) fn choice(self, kind: Kind, slots: usize) -> Vec<TimestampFault> {
        let all = TimestampFault::ALL.into_iter();
        let asked = all.filter(|fault| self.fault.is_none_or(|named| named == *fault));
        asked.filter(|fault| fault.recipe(kind).at_a_time() <= slots).collect()
    }
}

/// What timestamps a simulated history shall have.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timestamps {
    /// How they are written.
    pub style: TimestampStyle,
    /// By how many ticks the clock of each session is off, at most. With more than 0, timestamps
    /// contradict the order in which things happened, whatever the database promises.
    pub drift: u32,
    /// Whether every transaction that only read has a commit timestamp. Otherwise, as sources of
    /// timestamps differ, some have none.
    pub readers_commit: bool,
    /// Faults to plant.
    pub planted: Vec<PlantedFault>,
}

impl Timestamps {
    pub(crate) fn validate(&self, kind: Kind, slots: usize) -> Result<(), String> {
        for planted in self.planted.iter().filter(|planted| planted.count > 0) {
            if planted.choice(kind, slots).is_empty() {
                let what = planted.fault.map_or("any of them", TimestampFault::name);
                return Err(format!(
                    "faulty timestamps take several sessions at a time, and there are {slots}: \
                     {what} cannot be planted\n  hint: more sessions, or a higher concurrency"
                ));
            }
        }
        Ok(())
    }
}

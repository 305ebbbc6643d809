//! How a watch of a stream went, as data: one list of figures that every renderer shows, and figures over time.

mod html;
mod json;
mod text;

use isolde_spec::Answer;
use serde_json::Value;

use crate::answers;
use crate::curve::Curve;

/// What a watch found, and how it went.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// What was watched.
    pub source: String,
    /// The promise that transactions were held to; `None` if nothing came.
    pub promise: Option<String>,
    /// Whether it was kept.
    pub holds: Option<bool>,
    /// By client intervals: that nothing was found among so many dependencies.
    pub not_found: Option<Answer>,
    /// All figures, in the order in which they are shown.
    pub figures: Vec<WatchedFigure>,
    /// What the user may do about something.
    pub hint: Option<String>,
    /// When figures over time were taken, in seconds since the watch began.
    pub seconds: Vec<f64>,
    /// Figures over time.
    pub curves: Vec<Curve>,
    /// How long it took until a verdict that was wrong at first was right: how often less than 1, 2, 4, 8 milliseconds
    /// and so on.
    pub rectified: Vec<u64>,
    /// How many violations are not shown one by one.
    pub not_shown: u64,
}

/// One figure.
#[derive(Clone, Debug)]
pub struct WatchedFigure {
    /// Its name for machines.
    pub key: &'static str,
    /// Its value for machines.
    pub value: Value,
    /// Its name for people.
    pub name: &'static str,
    /// What people are told; lines after the first are details. `None` if there is nothing to tell.
    pub text: Option<String>,
}

impl Watched {
    /// What became of the promise, in a word or a few.
    fn verdict(&self) -> String {
        if let Some(among) = self.not_found.as_ref().and_then(answers::among) {
            return format!("no violation {among}");
        }
        let words = match self.holds {
            Some(true) => "nothing was found",
            Some(false) => "violated",
            None => "unknown",
        };
        words.to_owned()
    }

    /// The answer for machines.
    fn answer(&self) -> &'static str {
        match (&self.not_found, self.holds) {
            (Some(answer), _) => answers::name(answer),
            (None, Some(true)) => "holds",
            (None, Some(false)) => "violated",
            (None, None) => "unknown",
        }
    }

    /// The promise and what became of it.
    fn headline(&self) -> String {
        format!("{}: {}", self.promise.as_deref().unwrap_or("no promise"), self.verdict())
    }
}

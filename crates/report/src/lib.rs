//! Showing a verdict to people and to machines. How it was found is not known here.

mod case;
mod decided;
mod exhibit;
mod forced;
pub mod handbook;
mod json;
mod names;
mod sentence;
mod stuck;
mod style;
mod text;
mod wrap;

pub use case::Case;
pub use decided::Decided;
pub use exhibit::{Basis, Exhibit, Link, Part, PartOp, Role, Row, StuckOrder, Timeline, What};
pub use json::to_json;
pub use style::Style;
pub use text::{Telling, exhibit_to_text, summary_to_json, summary_to_text, to_text};
pub use wrap::number;

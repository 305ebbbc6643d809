//! Showing a verdict to people and to machines. How it was found is not known here.

mod case;
mod decided;
mod exhibit;
mod forced;
pub mod handbook;
mod html;
mod json;
mod names;
mod stuck;
mod summary;
mod text;
mod witness;
mod wrap;

pub use case::Case;
pub use decided::Decided;
pub use exhibit::{Basis, Exhibit, Link, Part, PartOp, Role, Row, StuckOrder, Timeline, What};
pub use html::HtmlReport;
pub use json::to_json;
pub use summary::{summary_to_json, summary_to_text};
pub use text::to_text;
pub use wrap::number;

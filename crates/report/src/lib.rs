//! Showing a verdict to people and to machines. How it was found is not known here.

mod answers;
mod case;
mod course;
mod curve;
mod decided;
mod exhibit;
mod forced;
pub mod handbook;
mod html;
mod json;
mod junit;
mod mirrored;
mod names;
mod picture;
mod sentence;
mod stamps;
mod stuck;
mod style;
mod text;
mod timed;
mod watched;
mod wrap;
mod xml;

pub use case::Case;
pub use curve::Curve;
pub use decided::Decided;
pub use exhibit::{
    Basis, Blamed, Exhibit, Fact, Lasting, Link, Part, PartOp, Role, Row, StuckOrder, Timeline,
    What,
};
pub use html::HtmlReport;
pub use json::{REPORT_VERSION, case_to_json, fault_to_json, to_json, witness_to_json};
pub use junit::Junit;
pub use picture::{Picture, dot, lattice, picture, picture_css, svg};
pub use style::{Ink, Style};
pub use text::{
    Telling, compared_to_text, exhibit_to_line, exhibit_to_text, faults_to_text, notes_to_text,
    summary_to_json, summary_to_text, to_text, transactions_to_text,
};
pub use watched::{Watched, WatchedFigure};
pub use wrap::{number, paragraph};
pub use xml::escape;

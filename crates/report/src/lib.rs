//! Showing a verdict to people and to machines. How it was found is not known here.

mod json;
mod names;
mod text;

pub use json::to_json;
pub use text::to_text;

//! Scanners that the text formats share: they work on bytes, never recurse, and point at the byte
//! that is wrong.

pub mod cursor;
pub mod edn;
pub mod json;

pub use cursor::Cursor;
pub use edn::Edn;
pub use json::Json;

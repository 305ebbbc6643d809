//! Names of files, as messages show them.

use std::path::Path;

use isolde_history::printable;

/// The name of a file, with escapes where a terminal would obey it instead of showing it.
pub fn shown(path: &Path) -> String {
    printable(&path.display().to_string()).into_owned()
}

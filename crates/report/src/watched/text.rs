//! A watch in words.

use std::fmt::Write as _;

use super::Watched;

impl Watched {
    /// What was found and how it went, for a terminal.
    pub fn to_text(&self) -> String {
        let mut out = self.headline() + "\n";
        let told = |figure: &super::WatchedFigure| Some((figure.name, figure.text.clone()?));
        for (name, text) in self.figures.iter().filter_map(told) {
            let mut lines = text.lines();
            let first = lines.next().unwrap_or_default();
            // Writing to a String cannot fail.
            let _ = writeln!(out, "  {name:<12}  {first}");
            lines.for_each(|line| out += &format!("    {line}\n"));
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(out, "  hint: {hint}");
        }
        out
    }
}

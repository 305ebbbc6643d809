//! What standard output can show.

use std::io::IsTerminal;

use isolde_report::Style;

/// Colours and lines for a terminal that has them; plain text for everything else. `NO_COLOR` and its
/// relatives are heeded.
pub(crate) fn style() -> Style {
    let stdout = std::io::stdout();
    let colour = anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
    let unicode = stdout.is_terminal() && supports_unicode::on(supports_unicode::Stream::Stdout);
    Style { colour, unicode }
}

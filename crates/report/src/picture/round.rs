//! Numbers on axes.

use crate::wrap::number;

/// A round number that is not less, and not much more.
pub(super) fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.max(1e-9).log10().floor());
    let steps = [1.0, 2.0, 2.5, 4.0, 5.0, 6.0, 8.0, 10.0];
    let fits = steps.into_iter().find(|step| step * power >= value * (1.0 - 1e-9));
    fits.unwrap_or(10.0) * power
}

/// A number without digits that say nothing.
pub(super) fn plain(value: f64) -> String {
    if value >= 10.0 || value.fract() == 0.0 {
        return number(value.round() as u64);
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

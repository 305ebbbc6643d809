//! What a word on the command line means.

use isolde_spec::{Anomaly, CATALOGUE, Level};
use isolde_workload::Kind;

/// A kind of workload by its name.
pub(crate) fn kind(name: &str) -> Result<Kind, String> {
    Kind::named(name).ok_or_else(|| {
        let names = Kind::ALL.map(Kind::name);
        format!("workloads are {}", names.join(", "))
    })
}

/// A level by its name or short form.
pub(crate) fn level(name: &str) -> Result<Level, String> {
    Level::named(name).ok_or_else(|| {
        let names = Level::ALL.map(Level::name);
        format!("levels are {}", names.join(", "))
    })
}

/// An anomaly by its name.
pub(crate) fn anomaly(name: &str) -> Result<Anomaly, String> {
    let entry = CATALOGUE.iter().find(|entry| entry.name.eq_ignore_ascii_case(name));
    entry.map(|entry| entry.anomaly).ok_or_else(|| "there is no such anomaly".to_owned())
}

/// A number that may end in k or m.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.as_bytes().last().map(u8::to_ascii_lowercase) {
        Some(b'k') => (&text[..text.len() - 1], 1_000),
        Some(b'm') => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    let number = digits.replace('_', "").parse::<u64>().ok();
    let number = number.and_then(|number| number.checked_mul(factor));
    number.ok_or_else(|| "not a number such as 50000, 50k or 2m".to_owned())
}

/// The same, where there cannot be as many.
pub(crate) fn small_count(text: &str) -> Result<u32, String> {
    u32::try_from(count(text)?).map_err(|_| "that is too many".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_end_in_k_or_m() {
        assert_eq!(count("7"), Ok(7));
        assert_eq!(count("10k"), Ok(10_000));
        assert_eq!(count("2M"), Ok(2_000_000));
        assert_eq!(count("1_000"), Ok(1_000));
        for text in ["", "k", "-1", "1.5m", "1g", "99999999999999999999", "99999999999999m", "ä"] {
            assert!(count(text).is_err(), "{text}");
        }
        assert!(small_count("5000m").is_err());
    }
}

//! What people type: numbers such as `200k` or `1.5m`, times such as `30s`, names of things.

use std::time::Duration;

use isolde_history::{HistoryPart, info};
use isolde_run::Fault;
use isolde_spec::{Anomaly, CATALOGUE, Level};
use isolde_target::Path;
use isolde_workload::Kind;
use isolde_workload::simulate::TimestampStyle;

/// A count: digits, with `k` for thousands, `m` for millions, `g` for thousands of millions.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let plain = text.replace('_', "").to_lowercase();
    let digits = plain.trim_end_matches(['k', 'm', 'g']);
    let factor = match &plain[digits.len()..] {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        _ => return Err("expected a number such as 5000, 200k or 1.5m".to_owned()),
    };
    if factor == 1.0 {
        return digits.parse().map_err(|_| "expected a number such as 5000 or 200k".to_owned());
    }
    let number: Option<f64> = digits.parse().ok();
    let product = number.map(|n| n * factor).filter(|n| (0.0..1e15).contains(n));
    product.map(|n| n.round() as u64).ok_or_else(|| "expected a number such as 200k".to_owned())
}

/// The same, of what there are never very many.
pub(crate) fn small_count(text: &str) -> Result<u32, String> {
    u32::try_from(count(text)?).map_err(|_| "that is too many".to_owned())
}

/// The same, and not 0.
pub(crate) fn some(text: &str) -> Result<u32, String> {
    match small_count(text)? {
        0 => Err("expected 1 or more".to_owned()),
        count => Ok(count),
    }
}

/// A kind of workload.
pub(crate) fn kind(name: &str) -> Result<Kind, String> {
    Kind::named(name)
        .ok_or_else(|| format!("workloads are {}", Kind::ALL.map(Kind::name).join(", ")))
}

/// How timestamps are written. The name of a file may stand where it is optional.
pub(crate) fn style(name: &str) -> Result<TimestampStyle, String> {
    TimestampStyle::named(name).ok_or_else(|| {
        "timestamps are plain or hybrid; before the name of a file, write --timestamps=plain"
            .to_owned()
    })
}

/// A level.
pub(crate) fn level(name: &str) -> Result<Level, String> {
    let all = || Level::ALL.map(Level::name);
    Level::named(name)
        .ok_or_else(|| meant(name, &all()) + &format!("levels are {}", all().join(", ")))
}

/// An anomaly.
pub(crate) fn anomaly(name: &str) -> Result<Anomaly, String> {
    let all = || CATALOGUE.iter().map(|entry| entry.name).collect::<Vec<_>>();
    Anomaly::named(name).ok_or_else(|| {
        let (near, all) = (meant(name, &all()), all().join(", "));
        format!("there is no such anomaly; {near}there are {all}")
    })
}

/// A question about the nearest of some names, if one is near.
fn meant(name: &str, names: &[&str]) -> String {
    let near = isolde_target::nearest(name, names.iter().copied());
    near.map_or(String::new(), |near| format!("did you mean {near}? "))
}

/// Any whole number.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// An access path.
pub(crate) fn path(name: &str) -> Result<Path, String> {
    let all = || Path::ALL.map(Path::name).join(", ");
    Path::named(name).ok_or_else(|| format!("access paths are {}", all()))
}

/// A time, written as in faults.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    isolde_run::time(text)
}

/// How far clocks are apart: nanoseconds with a unit, or a bare number of whatever unit the history's
/// clock has.
pub(crate) fn skew(text: &str) -> Result<i64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" | "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => 0.0,
    };
    let expected = || "expected a time such as 500us or 2ms, or a whole number".to_owned();
    let whole = digits.parse::<i64>().ok().filter(|_| factor == 1.0);
    let scaled = digits.parse::<f64>().ok().filter(|_| factor > 1.0).map(|n| n * factor);
    let scaled = scaled.filter(|n| n.abs() < 9e18).map(|n| n.round() as i64);
    whole.or(scaled).filter(|skew| *skew >= 0).ok_or_else(expected)
}

/// A fact about a run: its name and its value.
pub(crate) fn fact(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = parts.ok_or("expected NAME=VALUE, such as commit-order=serial")?;
    // A wrong word here would be overlooked, and another question be asked than was meant.
    let known: [(&str, &[&str]); 2] =
        [(info::COMMIT_ORDER, &[info::SERIAL]), (info::READS_AT, &[info::AT_COMMIT, "start"])];
    for (fact, values) in known {
        if name.eq_ignore_ascii_case(fact) && (name != fact || !values.contains(&value)) {
            return Err(format!("expected {fact}={}", values.join(&format!(" or {fact}="))));
        }
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// An amount of memory: bytes, with `K`, `M`, `G` for their powers of 1024.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let plain = text.replace('_', "").to_lowercase();
    let plain = plain.strip_suffix("ib").or(plain.strip_suffix('b')).unwrap_or(&plain);
    let digits = plain.trim_end_matches(['k', 'm', 'g']);
    let factor: u64 = match &plain[digits.len()..] {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => 0,
    };
    let expected = || "expected an amount of memory such as 500M or 4G".to_owned();
    let number: f64 = digits.parse().map_err(|_| expected())?;
    let bytes = Some(number * factor as f64).filter(|bytes| (1.0..1e18).contains(bytes));
    bytes.map(|bytes| bytes as u64).ok_or_else(expected)
}

/// What `convert` leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dropped {
    /// A part of the history.
    Part(HistoryPart),
    /// Every part that the target cannot hold.
    All,
}

/// What `convert` leaves out.
pub(crate) fn dropped(name: &str) -> Result<Dropped, String> {
    if name == "all" {
        return Ok(Dropped::All);
    }
    let all = || HistoryPart::ALL.map(HistoryPart::name).join(", ");
    HistoryPart::named(name)
        .map(Dropped::Part)
        .ok_or_else(|| format!("parts are {}, or all", all()))
}

/// What goes wrong on purpose.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Wrong {
    /// An anomaly in the engine that is faulty on purpose.
    Planted(Anomaly),
    /// A fault of servers or connections.
    Fault(Fault),
}

/// What goes wrong on purpose: a fault of servers, or an anomaly.
pub(crate) fn fault(text: &str) -> Result<Wrong, String> {
    if let Some(anomaly) = Anomaly::named(text) {
        return Ok(Wrong::Planted(anomaly));
    }
    let planted = "or an anomaly, such as lost-update, for the target 'faulty'";
    text.parse().map(Wrong::Fault).map_err(|why: String| format!("{why}; {planted}"))
}

/// A setting: a name and a value.
pub(crate) fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE, such as fsync=off".to_owned()),
    }
}

/// A share from 0 to 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share: Option<f64> = text.parse().ok();
    share.filter(|s| (0.0..=1.0).contains(s)).ok_or_else(|| "expected 0 to 1".to_owned())
}

/// A share, from 0 to 1 or as a percentage.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let (number, whole) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.parse().map(|number: f64| number / whole);
    let share = share.ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected 0 to 1, or 0% to 100%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_may_be_percentages() {
        assert_eq!(["0.9", "90%", "1", "0%"].map(percent), [Ok(0.9), Ok(0.9), Ok(1.0), Ok(0.0)]);
        for wrong in ["", "%", "2", "101%", "-1%", "nan"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_skew_of_clocks_may_have_a_unit() {
        let read = |text| skew(text).ok();
        assert_eq!(read("7"), Some(7));
        assert_eq!(read("2ns"), Some(2));
        assert_eq!(read("1.5ms"), Some(1_500_000));
        assert_eq!(read("2s"), Some(2_000_000_000));
        for wrong in ["", "-5", "-1ms", "ms", "1.5", "2h", "nan", "1e30s", "9223372036854775808"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn counts_as_people_type_them() {
        let read = |text| count(text).ok();
        assert_eq!(read("5000"), Some(5000));
        assert_eq!(read("200k"), Some(200_000));
        assert_eq!(read("1.5M"), Some(1_500_000));
        assert_eq!(read("1_000"), Some(1000));
        assert_eq!(read("18446744073709551615"), Some(u64::MAX));
        for wrong in ["", "k", "-1", "1.5", "1kk", "1e300m", "nan", "99999999999999999999", "ä"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn small_counts_are_small() {
        assert_eq!(small_count("4g"), Ok(4_000_000_000));
        assert!(small_count("5g").is_err());
    }

    #[test]
    fn memory_as_people_type_it() {
        let read = |text| bytes(text).ok();
        assert_eq!(read("500M"), Some(500 << 20));
        assert_eq!(read("1.5g"), Some(3 << 29));
        assert_eq!(read("64KiB"), Some(64 << 10));
        assert_eq!(read("1048576"), Some(1 << 20));
        for wrong in ["", "M", "0", "-1M", "1T", "1MM", "nan", "inf", "1e30G"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times_as_people_type_them() {
        let read = |text| duration(text).ok();
        assert_eq!(read("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(read("30"), Some(Duration::from_secs(30)));
        assert_eq!(read("1.5m"), Some(Duration::from_secs(90)));
        for wrong in ["", "s", "-1s", "1y", "1e300h", "inf"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}

//! Where in the history violations are, counted in bins.

use isolde_spec::{Counted, Verdict};
use serde_json::{Value, json};

use crate::wrap::number;

/// How many bins there are at most.
const BINS: usize = 60;

/// One anomaly: how often it was counted, and where it was found as far as that is known.
pub(super) struct Series<'c, I> {
    /// How often.
    pub(super) counted: &'c Counted,
    /// After how many transactions each is visible.
    pub(super) positions: I,
}

/// The anomalies of a verdict.
pub(super) fn of(txns: usize, verdict: &Verdict) -> Value {
    let series = verdict.counts.iter();
    let series =
        series.map(|counted| Series { counted, positions: counted.positions.iter().copied() });
    chart(txns, series)
}

/// The chart of some anomalies over a history of so many transactions; null if fewer
/// than two are placed.
pub(super) fn chart<'c, I>(txns: usize, series: impl Iterator<Item = Series<'c, I>>) -> Value
where
    I: Iterator<Item = u32>,
{
    let size = txns.div_ceil(BINS).max(1);
    let bins = txns.div_ceil(size).max(1);
    let (mut rows, mut placed) = (Vec::new(), Vec::new());
    for one in series {
        let mut counts = vec![0u64; bins];
        let mut found = 0;
        for position in one.positions {
            let position = usize::try_from(position).unwrap_or(usize::MAX);
            let bin = (position.saturating_sub(1) / size).min(bins - 1);
            if let Some(count) = counts.get_mut(bin) {
                *count += 1;
                found += 1;
            }
        }
        rows.push(json!([one.counted.anomaly.name(), counts]));
        placed.push((one.counted, found));
    }
    if placed.iter().map(|(_, found)| *found).sum::<u64>() < 2 {
        return Value::Null;
    }
    json!({"txns": txns, "size": size, "series": rows, "note": note(&placed)})
}

/// How many of the counted ones are in the chart.
fn note(placed: &[(&Counted, u64)]) -> String {
    let what = "Each violation is counted where it becomes visible";
    if placed.iter().all(|(counted, found)| counted.count <= *found) {
        return format!("{what}. All that were counted are here.");
    }
    let some = |(counted, found): &(&Counted, u64)| {
        let least = if counted.at_least { "at least " } else { "" };
        format!("{} of {least}{} {}", number(found), number(counted.count), counted.anomaly)
    };
    let some: Vec<String> = placed.iter().map(some).collect();
    format!("{what}. Here are those whose place was kept: {}.", some.join(", "))
}

#[cfg(test)]
mod tests {
    use isolde_spec::Anomaly;

    use super::*;

    fn drawn(txns: usize, count: u64, positions: &[u32]) -> Value {
        let positions = positions.to_vec();
        let counted = Counted { anomaly: Anomaly::LostUpdate, count, at_least: false, positions };
        let positions = counted.positions.iter().copied();
        chart(txns, [Series { counted: &counted, positions }].into_iter())
    }

    #[test]
    fn a_short_history_has_a_bin_for_each_transaction() {
        let chart = drawn(4, 2, &[1, 4]);
        assert_eq!(chart["size"], 1);
        assert_eq!(chart["series"][0][1], json!([1, 0, 0, 1]));
        assert!(chart["note"].as_str().unwrap().ends_with("All that were counted are here."));
    }

    #[test]
    fn a_long_one_has_few_bins_and_says_what_is_missing() {
        let chart = drawn(6001, 3412, &[0, 6001, 7000, u32::MAX]);
        assert_eq!(chart["size"], 101);
        let bins = chart["series"][0][1].as_array().unwrap();
        assert_eq!((bins.len(), &bins[0], &bins[59]), (60, &json!(1), &json!(3)));
        assert!(chart["note"].as_str().unwrap().contains("4 of 3,412 LostUpdate"));
    }

    #[test]
    fn one_violation_or_none_makes_no_chart() {
        assert_eq!(drawn(0, 3, &[]), Value::Null);
        assert_eq!(drawn(9, 1, &[3]), Value::Null);
    }
}

//! Where in the history violations are, counted in bins.

use isolde_spec::{Counted, Verdict};
use serde_json::{Value, json};

use crate::wrap::number;

/// How many bins there are at most.
const BINS: usize = 60;

/// Something that is counted over the run.
struct Series<'v> {
    name: &'static str,
    /// After how many transactions each is visible.
    places: &'v [u32],
    /// How often it was counted, if not every place is known.
    of: Option<u64>,
}

/// What is counted over the run of a verdict, in so many transactions; null if fewer than two are
/// placed. Where the search for cycles stopped early, the cycles that were found say nothing of the
/// run: the transactions in cycles, of which none is left out, stand in their place.
pub(super) fn of(txns: usize, verdict: &Verdict) -> Value {
    let anomaly = |c: &'_ Counted| (c.count > c.positions.len() as u64).then_some(c.count);
    let exact = verdict.counts.iter().filter(|c| !c.at_least);
    let mut series: Vec<Series<'_>> = exact
        .map(|c| Series { name: c.anomaly.name(), places: &c.positions, of: anomaly(c) })
        .collect();
    let sampled: Vec<&Counted> = verdict.counts.iter().filter(|c| c.at_least).collect();
    let places = verdict.procedure.places.iter();
    let in_cycles = places.into_iter().find(|(_, places)| !places.is_empty());
    match in_cycles {
        Some((name, places)) if !sampled.is_empty() => {
            series.push(Series { name, places, of: None });
        }
        _ => {
            let some = sampled.iter();
            series.extend(some.map(|c| Series {
                name: c.anomaly.name(),
                places: &c.positions,
                of: Some(c.count),
            }));
        }
    }
    let stopped = in_cycles.is_some() && !sampled.is_empty();
    chart(txns, &series, &if stopped { stopped_note(&sampled) } else { note(&series) })
}

fn chart(txns: usize, series: &[Series<'_>], note: &str) -> Value {
    let size = txns.div_ceil(BINS).max(1);
    let bins = txns.div_ceil(size).max(1);
    let mut rows = Vec::new();
    for one in series {
        let mut counts = vec![0u64; bins];
        for position in one.places {
            let position = usize::try_from(*position).unwrap_or(usize::MAX);
            let bin = (position.saturating_sub(1) / size).min(bins - 1);
            if let Some(count) = counts.get_mut(bin) {
                *count += 1;
            }
        }
        rows.push(json!([one.name, counts]));
    }
    if series.iter().map(|one| one.places.len()).sum::<usize>() < 2 {
        return Value::Null;
    }
    json!({"txns": txns, "size": size, "series": rows, "note": note})
}

/// How many of the counted ones are in the chart.
fn note(series: &[Series<'_>]) -> String {
    let what = "Each violation is counted where it becomes visible";
    if series.iter().all(|one| one.of.is_none_or(|of| of <= one.places.len() as u64)) {
        return format!("{what}. All that were counted are here.");
    }
    let some = series.iter().map(|one| {
        let placed = one.places.len() as u64;
        format!("{} of {} {}", number(placed), number(one.of.unwrap_or(placed)), one.name)
    });
    let some: Vec<String> = some.collect();
    format!("{what}. Here are those whose place was kept: {}.", some.join(", "))
}

/// What is shown where the search for cycles stopped before all were found.
fn stopped_note(sampled: &[&Counted]) -> String {
    let found = |c: &&Counted| format!("{} {}", number(c.count), c.anomaly);
    let found: Vec<String> = sampled.iter().map(found).collect();
    format!(
        "All transactions that are in forbidden cycles are here. The search for the cycles \
         themselves stopped when it had found {}, spread over the run; --witnesses and \
         --search-budget make it go on.",
        found.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use isolde_spec::{Anomaly, Answer, Level, Procedure, Promise};

    use super::*;

    fn verdict(count: u64, at_least: bool, positions: &[u32]) -> Verdict {
        let positions = positions.to_vec();
        let counts = vec![Counted { anomaly: Anomaly::LostUpdate, count, at_least, positions }];
        let promise = Promise::of(Level::Serializable);
        let (notes, procedure) = (Vec::new(), Procedure::default());
        Verdict { promise, answer: Answer::Holds, counts, notes, procedure }
    }

    fn drawn(txns: usize, count: u64, positions: &[u32]) -> Value {
        of(txns, &verdict(count, false, positions))
    }

    #[test]
    fn where_the_search_stopped_all_transactions_in_cycles_are_drawn() {
        let mut stopped = verdict(2, true, &[1, 2]);
        stopped.procedure.places = vec![("transactions in cycles", vec![1, 2, 99, 100])];
        let chart = of(100, &stopped);
        assert_eq!(chart["series"].as_array().unwrap().len(), 1);
        assert_eq!(chart["series"][0][0], "transactions in cycles");
        assert_eq!(chart["series"][0][1][49], 2, "the end of the run is there");
        assert!(chart["note"].as_str().unwrap().contains("2 LostUpdate, spread over the run"));
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

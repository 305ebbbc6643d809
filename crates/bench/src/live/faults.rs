//! How soon each anomaly is found that the faulty engine has on purpose; and that none is found where
//! it has none.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use isolde_check::{Options as CheckOptions, check};
use isolde_history::{History, HistoryBuilder};
use isolde_run::{Limits, Options, Ran};
use isolde_spec::{Anomaly, Level, Promise, Verdict};
use isolde_target::{FAULTY, Offer};
use isolde_workload::{Kind, Settings, favoured};
use serde_json::json;

use crate::live::{self, Ground};
use crate::measure::round;

#[derive(clap::Args)]
pub(crate) struct FaultsArgs {
    /// How many transactions a run with a fault has
    #[arg(long, default_value_t = 10_000)]
    txns: u64,
    /// How many a run without one has, at each level of the engine
    #[arg(long, default_value_t = 1_000_000)]
    sound_txns: u64,
    /// How many sessions run at the same time
    #[arg(long, default_value_t = 8)]
    sessions: u32,
    /// How many rows there are
    #[arg(long, default_value_t = 50)]
    keys: u32,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// With how many seeds each fault is tried
    #[arg(long, default_value_t = 1)]
    seeds: u64,
}

pub(crate) fn run(args: &FaultsArgs) -> Result<()> {
    let mut wrong = 0;
    for seed in args.seed..args.seed.saturating_add(args.seeds) {
        for anomaly in favoured() {
            wrong += u64::from(!fault(args, anomaly, seed)?);
        }
    }
    for offer in live::open(FAULTY)?.offers() {
        wrong += u64::from(!sound(args, offer)?);
    }
    match wrong {
        0 => Ok(()),
        n => bail!("{n} runs were not judged as they should be"),
    }
}

/// One run and its record.
struct Played {
    ran: Ran,
    history: History,
}

impl Played {
    fn new(
        args: &FaultsArgs,
        mut ground: Ground,
        offer: &Offer,
        settings: Settings,
    ) -> Result<Played> {
        let txns = Some(if settings.favour.is_some() { args.txns } else { args.sound_txns });
        let limits = Limits { txns, ..Limits::default() };
        let options = Options { limits, ..Options::default() };
        let mut tape = HistoryBuilder::new();
        let ran = ground.run(offer, settings, &options, &mut tape)?;
        Ok(Played { ran, history: tape.finish() })
    }

    /// The verdict, and the seconds that it took.
    fn check(&self, level: Level) -> (Verdict, f64) {
        let began = Instant::now();
        let verdict = check(&self.history, Promise::of(level), &CheckOptions::default());
        (verdict, began.elapsed().as_secs_f64())
    }
}

fn settings(args: &FaultsArgs, favour: Option<Anomaly>, seed: u64) -> Settings {
    let FaultsArgs { sessions, keys, .. } = *args;
    Settings { sessions, keys, seed, favour, ..live::settings(Kind::Mini) }
}

/// One anomaly. Whether it was found under its name, at the levels that forbid it and no other.
fn fault(args: &FaultsArgs, anomaly: Anomaly, seed: u64) -> Result<bool> {
    let ground = Ground::planted(anomaly)?;
    let offer = *ground.target.offers().last().context("no level")?;
    let played = Played::new(args, ground, &offer, settings(args, Some(anomaly), seed))?;
    let weakest = anomaly.entry().forbidden_from;
    let (verdict, seconds) = played.check(weakest);
    let counted = verdict.counts.iter().find(|counted| counted.anomaly == anomaly);
    let position = counted.and_then(|counted| counted.positions.first()).copied();
    let (mut misjudged, mut beside) = (Vec::new(), Vec::new());
    let single = |level: &Level| matches!(level, Level::Sequential | Level::Linearizable);
    for level in Level::ALL.into_iter().filter(|level| !single(level)) {
        let (verdict, _) = played.check(level);
        let names: Vec<Anomaly> = verdict.counts.iter().map(|c| c.anomaly).collect();
        // The most basic comes first; what it brings with it may follow.
        beside.extend(names.iter().skip(1).map(|name| name.name()));
        let found = verdict.holds() == Some(false) && names.first() == Some(&anomaly);
        let right = if anomaly.forbidden_at(level) { found } else { verdict.holds() == Some(true) };
        if !right {
            let names: Vec<&str> = names.iter().map(|name| name.name()).collect();
            misjudged.push(json!({
                "level": level.name(),
                "holds": verdict.holds(),
                "found": names,
            }));
        }
    }
    beside.sort_unstable();
    beside.dedup();
    let txns = played.history.txn_count();
    let generation = played.ran.progress.elapsed.as_secs_f64();
    let share = position.map(|position| f64::from(position) / txns.max(1) as f64);
    println!(
        "{}",
        json!({
            "bench": "faults",
            "fault": anomaly.name(),
            "level": weakest.name(),
            "found": counted.map_or(0, |counted| counted.count),
            "found_beside": beside,
            "visible_after_transactions": position,
            "seconds_to_detection": share.map(|share| round(generation * share + seconds)),
            "generation_seconds": round(generation),
            "verification_seconds": round(seconds),
            "transactions": txns,
            "committed": played.ran.progress.committed,
            "misjudged_levels": misjudged,
            "seed": seed,
        })
    );
    Ok(position.is_some() && misjudged.is_empty())
}

/// No anomaly, at one of the engine's levels. Whether nothing was found.
fn sound(args: &FaultsArgs, offer: &Offer) -> Result<bool> {
    let played = Played::new(args, Ground::open(FAULTY)?, offer, settings(args, None, args.seed))?;
    let (verdict, seconds) = played.check(offer.promises);
    let found: Vec<&str> = verdict.counts.iter().map(|c| c.anomaly.name()).collect();
    println!(
        "{}",
        json!({
            "bench": "faults",
            "fault": null,
            "isolation": offer.name,
            "level": offer.promises.name(),
            "holds": verdict.holds(),
            "found": found,
            "transactions": played.history.txn_count(),
            "committed": played.ran.progress.committed,
            "generation_seconds": round(played.ran.progress.elapsed.as_secs_f64()),
            "verification_seconds": round(seconds),
            "seed": args.seed,
        })
    );
    Ok(verdict.holds() == Some(true))
}

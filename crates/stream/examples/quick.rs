#![allow(missing_docs, clippy::unwrap_used)]
use isolde_history::*;
use isolde_spec::*;
use isolde_stream::*;
use isolde_workload::simulate::{self, simulate, Timestamps, Database};
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n: u64 = args[1].parse().unwrap();
    let kind = match args[2].as_str() { "tpcc" => isolde_workload::Kind::Tpcc, "twitter" => isolde_workload::Kind::Twitter, _ => isolde_workload::Kind::Mix };
    let batch: usize = args[3].parse().unwrap();
    let rounds: i64 = args[4].parse().unwrap();
    let mem: usize = args[5].parse().unwrap();
    let promises = args[6] == "p";
    let workload = isolde_workload::Settings { sessions: 24, max_txn_len: 8, ..isolde_workload::Settings::new(kind) };
    let workload = isolde_workload::Settings { max_txn_len: if kind == isolde_workload::Kind::Mix {8} else {workload.max_txn_len}, ..workload };
    let plan = simulate::Plan { workload, database: Database::that_keeps(Level::SnapshotIsolation), txns: n, intervals: false, timestamps: Some(Timestamps::default()), ..simulate::Plan::default() };
    let mut b = HistoryBuilder::new();
    simulate(&plan, &mut b).unwrap();
    let h = b.finish();
    println!("made {} txns {} ops {} keys, {} MB", h.txn_count(), h.op_count(), h.key_count(), h.heap_bytes() >> 20);
    let ids: Vec<TxnId> = h.txns().map(|t| t.id()).collect();
    let span = h.txns().filter_map(|t| t.commit_ts()).map(|t| t.physical).max().unwrap() + 10;
    let folder = std::env::temp_dir().join("quick-stream");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let promise = Promise::by_timestamps(Level::SnapshotIsolation);
    let mut stream = Stream::new(Settings { folder: Some(folder.clone()), memory: mem << 20, ..Settings::new(promise) }).unwrap();
    let mut spent = 0.0; let mut total = 0;
    let mut order = ids.clone();
    order.sort_by_key(|id| { let t = h.txn(*id); t.commit_ts().or(t.start_ts()) });
    for round in 0..rounds {
        for part in order.chunks(batch) {
            let mut b = HistoryBuilder::new();
            h.copy_meta(&h.meta().initial.given, &mut b);
            for id in part { h.copy_txn(*id, &mut |_| true, &mut b).unwrap(); }
            let last = h.txn(*part.last().unwrap()); let last = last.commit_ts().or(last.start_ts()).unwrap();
            if promises { let e = StreamPromise { session: None, watermark: Some(Timestamp::plain(last.physical)), end: false }.to_event(b.pool()); b.event(e).unwrap(); }
            let batch = b.finish();
            total += part.len();
            let now = (total as f64 / 400.0) as i64;
            let begin = Instant::now();
            stream.push(batch, now).unwrap();
            spent += begin.elapsed().as_secs_f64();
            if total % (batch_report()) < part.len() {
                let s = stream.status();
                let rss = std::fs::read_to_string("/proc/self/status").unwrap(); let rss = rss.lines().find(|l| l.starts_with("RssAnon")).unwrap().to_owned();
                println!("{total} {:.0}/s mem {} MB disk {} MB viol {} reload {} keys {} open {} flips {} {rss}", total as f64 / spent, s.memory >> 20, s.disk >> 20, s.violations, s.reloads, s.keys, s.open, s.flips);
            }
        }
        let _ = (span, round);
    }
    stream.finish(1 << 40).unwrap();
    println!("{:?}", stream.status());
}
fn batch_report() -> usize { 100_000 }

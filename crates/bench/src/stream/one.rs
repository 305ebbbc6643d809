//! One stream in this process, with a clock.

use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use isolde_history::{History, HistoryBuilder, read_lines};
use isolde_spec::Promise;
use isolde_stream::{Settings, Status, Stream, Told};
use serde_json::{Value, json};

use super::args::StreamCase;
use super::source::{Batch, Fed, Source};
use crate::gauge::{Resident, thread_seconds};
use crate::measure::round;
use crate::{counting, plan};

/// Into how many slices a stream is cut, to see whether it gets slower.
const SLICES: u64 = 20;
/// After how many batches memory is looked at.
const LOOK: u64 = 40;
/// How long the source has a head start, so that the memory of what waits is known.
const HEAD_START: Duration = Duration::from_millis(300);

/// Measures the stream, and gives a line.
pub(super) fn measured(case: &StreamCase) -> Result<Value> {
    // What it holds it counts itself, and of the process the system tells.
    counting::stop();
    let spill = SpillFolder::new(&case.folder)?;
    let mut settings = Settings::new(Promise::by_timestamps(case.level));
    settings.memory = usize::try_from(case.memory << 20).unwrap_or(usize::MAX);
    settings.timeout = case.timeout;
    settings.folder = Some(spill.0.clone());
    let mut stream = Stream::new(settings)?;
    let disk = DiskThread::start(&mut stream);
    let mut course = Course::new(case, stream);
    let source = Source::start(case)?;
    let first = source.batches.recv().context("the source made nothing")?;
    std::thread::sleep(HEAD_START);
    course.source_mb = Resident::now().now_mb;
    let began = Instant::now();
    course.take(first)?;
    while let Ok(batch) = source.batches.recv() {
        course.take(batch)?;
    }
    course.finish()?;
    let seconds = began.elapsed().as_secs_f64();
    source.end()?;
    // With the stream goes what gives the thread its work.
    let mut line = course.line(case, seconds);
    drop(course);
    let disk_seconds = disk.end()?;
    let cpu = line["cpu_seconds"].as_f64().unwrap_or_default();
    let txns = line["transactions"].as_f64().unwrap_or_default();
    line["disk_cpu_seconds"] = json!(round(disk_seconds));
    line["rate_one_core"] = json!((txns / (cpu + disk_seconds).max(1e-9)).round());
    Ok(line)
}

/// The thread on which the stream writes to the disk, as in a watch.
struct DiskThread(JoinHandle<f64>);

impl DiskThread {
    fn start(stream: &mut Stream) -> DiskThread {
        let (sender, jobs) = sync_channel::<Box<dyn FnOnce() + Send>>(1);
        stream.write_elsewhere(Box::new(move |job| {
            // The thread ends when nobody sends any more, so it is there.
            let _ = sender.send(job);
        }));
        DiskThread(std::thread::spawn(move || {
            jobs.into_iter().for_each(|job| job());
            thread_seconds()
        }))
    }

    /// How long it was busy.
    fn end(self) -> Result<f64> {
        self.0.join().map_err(|_| anyhow!("the thread that writes to the disk failed"))
    }
}

/// A stream that is fed.
struct Course {
    stream: Stream,
    now: i64,
    batches: u64,
    txns: u64,
    /// Processor time of judging alone, and of decoding.
    cpu: f64,
    decoding: f64,
    text_bytes: u64,
    /// How many violations and corrections were told.
    told: u64,
    corrections: u64,
    counted: usize,
    disk: u64,
    /// Memory of the process before the stream had anything.
    source_mb: f64,
    resident: Resident,
    slice: u64,
    slices: Vec<Slice>,
}

/// How far it had come.
#[derive(Clone, Copy)]
struct Slice {
    txns: u64,
    cpu: f64,
    counted: usize,
    resident_mb: f64,
}

impl Course {
    fn new(case: &StreamCase, stream: Stream) -> Course {
        Course {
            stream,
            now: 0,
            batches: 0,
            txns: 0,
            cpu: 0.0,
            decoding: 0.0,
            text_bytes: 0,
            told: 0,
            corrections: 0,
            counted: 0,
            disk: 0,
            source_mb: 0.0,
            resident: Resident::default(),
            slice: (case.txns / SLICES).max(1),
            slices: Vec::new(),
        }
    }

    fn take(&mut self, batch: Batch) -> Result<()> {
        self.now = batch.now;
        self.txns += batch.txns;
        let begun = thread_seconds();
        let (history, bytes) = match batch.what {
            Fed::Decoded(history) => (*history, 0),
            Fed::Lines(text) => (decoded(&text)?, text.len()),
        };
        self.text_bytes += bytes as u64;
        let decoded = thread_seconds();
        self.decoding += decoded - begun;
        self.stream.push(history, batch.now)?;
        self.events();
        self.cpu += thread_seconds() - decoded;
        self.batches += 1;
        if self.batches.is_multiple_of(LOOK) {
            self.look();
        }
        Ok(())
    }

    fn events(&mut self) {
        for event in self.stream.take_events() {
            self.told += u64::from(matches!(event.what, Told::Violation(_)));
            self.corrections += u64::from(matches!(event.what, Told::Correction(_)));
        }
    }

    fn look(&mut self) {
        let status = self.stream.status();
        let resident = Resident::now();
        self.counted = self.counted.max(status.memory);
        self.disk = self.disk.max(status.disk);
        self.resident.now_mb = self.resident.now_mb.max(resident.now_mb);
        self.resident.peak_mb = resident.peak_mb;
        let before = self.slices.last().map_or(0, |slice| slice.txns);
        if self.txns >= self.slice * (self.slices.len() as u64 + 1) && self.txns > before {
            let (txns, cpu, counted) = (self.txns, self.cpu, status.memory);
            self.slices.push(Slice { txns, cpu, counted, resident_mb: resident.now_mb });
        }
    }

    fn finish(&mut self) -> Result<()> {
        let before = thread_seconds();
        self.stream.finish(self.now)?;
        self.events();
        self.cpu += thread_seconds() - before;
        self.look();
        Ok(())
    }

    fn line(&self, case: &StreamCase, seconds: f64) -> Value {
        let status = self.stream.status();
        let mut line = json!({
            "bench": "stream",
            "workload": case.workload.name(),
            "level": case.level.name(),
            "database": case.database().name(),
            "transactions": self.txns,
            "operations": status.ops,
            "sessions": case.sessions,
            "from": plan::name(&case.from),
            "batch": case.batch,
            "order": case.order.to_string(),
            "arrivals_a_second": case.rate,
            "timeout_ms": case.timeout,
            "promises": plan::name(&case.promises),
            "wrong_share": case.violations,
            "memory_limit_mb": case.memory,
            "seed": case.seed,
        });
        let per_second = |seconds: f64| json!((self.txns as f64 / seconds.max(1e-9)).round());
        line["rate"] = per_second(self.cpu);
        line["rate_of_operations"] = json!((status.ops as f64 / self.cpu.max(1e-9)).round());
        if self.text_bytes > 0 {
            line["rate_of_decoding"] = per_second(self.decoding);
            // On one core; the watch decodes on another one.
            line["rate_with_decoding"] = per_second(self.decoding + self.cpu);
            line["text_mb"] = json!(megabytes(self.text_bytes as usize));
        }
        line["rate_wall"] = per_second(seconds);
        line["cpu_seconds"] = json!(round(self.cpu));
        line["seconds"] = json!(round(seconds));
        line["counted_peak_mb"] = json!(megabytes(self.counted));
        line["resident_peak_mb"] = json!(round(self.resident.now_mb));
        line["high_water_mb"] = json!(round(self.resident.peak_mb));
        line["source_mb"] = json!(round(self.source_mb));
        line["disk_mb"] = json!(megabytes(self.disk as usize));
        line["told"] = json!(self.told);
        show(&status, &mut line);
        self.show_slices(&mut line);
        line
    }

    fn show_slices(&self, line: &mut Value) {
        let before = [(0, 0.0)].into_iter().chain(self.slices.iter().map(|s| (s.txns, s.cpu)));
        let rates = before.zip(&self.slices).map(|((txns, cpu), slice)| {
            ((slice.txns - txns) as f64 / (slice.cpu - cpu).max(1e-9)).round()
        });
        line["rates"] = json!(rates.collect::<Vec<_>>());
        let counted = self.slices.iter().map(|slice| megabytes(slice.counted));
        line["counted_mb"] = json!(counted.collect::<Vec<_>>());
        let resident = self.slices.iter().map(|slice| round(slice.resident_mb));
        line["resident_mb"] = json!(resident.collect::<Vec<_>>());
    }
}

/// What the stream itself says.
fn show(status: &Status, line: &mut Value) {
    let by_anomaly =
        status.by_anomaly.iter().map(|(name, count)| ((*name).to_owned(), json!(count)));
    line["violations"] = json!(status.violations);
    line["by_anomaly"] = Value::Object(by_anomaly.collect());
    line["corrections"] = json!(status.corrections);
    line["flips"] = json!(status.flips);
    line["flipped"] = json!(status.flipped);
    line["flipped_transactions"] = json!(status.flipped_txns);
    line["rectified"] = json!(status.rectified);
    line["longest_change_ms"] = json!(status.longest_change);
    line["reloads"] = json!(status.reloads);
    line["keys_held"] = json!(status.keys);
    line["late"] = json!(status.late);
    line["too_late"] = json!(status.too_late);
    line["doubts"] = json!(status.doubts);
}

fn decoded(text: &[u8]) -> Result<History> {
    let mut builder = HistoryBuilder::new();
    read_lines(text, "lines", &mut builder)?;
    Ok(builder.finish())
}

fn megabytes(bytes: usize) -> f64 {
    round(bytes as f64 / f64::from(1 << 20))
}

/// A folder for what does not fit into memory; it goes with this.
struct SpillFolder(PathBuf);

impl SpillFolder {
    fn new(parent: &Path) -> Result<SpillFolder> {
        let folder = parent.join(format!("isolde-stream-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(SpillFolder(folder))
    }
}

impl Drop for SpillFolder {
    fn drop(&mut self) {
        // A folder that stays behind is a pity, not a fault of the measurement.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

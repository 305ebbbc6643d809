//! A history in a file that goes when it is not needed any more.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use isolde_history::NativeWriter;
use isolde_workload::simulate::{self, PlantedFault, Timestamps, simulate};

use super::stamped_plan::StampedPlan;

/// A file in Isolde's own format.
pub(super) struct StampedFile {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// How long it took to make it.
    pub(super) seconds: f64,
}

impl StampedFile {
    /// Writes transactions as they are made, so that a large history never is in memory.
    pub(super) fn new(folder: &Path, plan: &StampedPlan) -> Result<StampedFile> {
        let path = folder.join(format!("isolde-timestamps-{}.isolde", std::process::id()));
        let begin = Instant::now();
        // From here on it is removed, also if something goes wrong.
        let mut file = StampedFile { path, bytes: 0, seconds: 0.0 };
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&file.path)?);
        let mut writer = NativeWriter::new(&mut out)?;
        simulate(&simulated(plan), &mut writer)?;
        writer.finish()?;
        out.flush()?;
        file.bytes = std::fs::metadata(&file.path)?.len();
        file.seconds = begin.elapsed().as_secs_f64();
        Ok(file)
    }
}

impl Drop for StampedFile {
    fn drop(&mut self) {
        // A file that stays behind is a pity, not a fault of the measurement.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn simulated(plan: &StampedPlan) -> simulate::Plan {
    let planted = vec![PlantedFault { fault: None, count: plan.faults }];
    let (style, drift) = (plan.style, plan.drift);
    let timestamps = Timestamps { style, drift, planted, ..Timestamps::default() };
    simulate::Plan {
        workload: plan.workload.clone(),
        database: plan.database,
        txns: plan.txns,
        // The clients' clocks are not asked, and would only make the file larger.
        intervals: false,
        timestamps: Some(timestamps),
        ..simulate::Plan::default()
    }
}

//! A job from the outside: what it tells, how it is ended, what becomes of it when a database hangs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod events;
mod hung;
mod together;

use std::path::PathBuf;

use isolde_job::{RunPlan, TestPlan};

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("isolde-job-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// A short test that is kept in it.
    fn plan(&self, target: &str) -> TestPlan {
        let mut plan = TestPlan::of(RunPlan::on(target));
        plan.folder = self.0.clone();
        plan.run.workload.seed = Some(1);
        plan.run.driving.txns = Some(2000);
        plan
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

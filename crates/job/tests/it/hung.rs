//! Databases that hang end the job, not the process.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use isolde_history::OpKind;
use isolde_job::{Event, Stage, Stop, TrialOutcome, test_on};
use isolde_spec::Level;
use isolde_target::{
    Answer, Ended, Failure, Mishap, Offer, OpenOptions, Path, Request, Session, Table, Target,
};

use super::Folder;

/// An engine for one session that hangs after so many statements.
struct Hanging {
    left: Arc<AtomicU64>,
}

const OFFERS: &[Offer] = &[Offer { name: "serial", promises: Level::Serializable, remark: "" }];

impl Target for Hanging {
    fn name(&self) -> &str {
        "hanging"
    }

    fn version(&self) -> &str {
        "1"
    }

    fn offers(&self) -> &'static [Offer] {
        OFFERS
    }

    fn paths(&self, _: OpKind) -> &'static [(Path, u32)] {
        &[(Path::PrimaryKey, 1)]
    }

    fn create(&self, _: &Table) -> Result<(), Failure> {
        Ok(())
    }

    fn connect(&self, _: &Offer) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(Hangs { left: Arc::clone(&self.left), rows: HashMap::new() }))
    }

    /// What hangs is not asked to clean up.
    fn clean(&self) -> Result<(), Failure> {
        if self.left.load(Ordering::SeqCst) == 0 { hang() } else { Ok(()) }
    }
}

struct Hangs {
    left: Arc<AtomicU64>,
    rows: HashMap<u32, i64>,
}

impl Session for Hangs {
    fn begin(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn run(&mut self, request: &Request) -> Result<Answer, Failure> {
        let less = |left: u64| left.checked_sub(1);
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_err() {
            hang();
        }
        Ok(match request.kind {
            OpKind::Read => Answer::Value(Some(self.rows.get(&request.row).copied().unwrap_or(0))),
            _ => {
                self.rows.insert(request.row, request.value);
                Answer::Done(true)
            }
        })
    }

    fn commit(&mut self) -> Result<Ended, Failure> {
        Ok(Ended::Committed)
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

#[test]
fn an_engine_that_hangs_is_an_event_and_a_result() {
    let folder = Folder::new("engine");
    let mut plan = folder.plan("hanging");
    plan.run.workload.sessions = 1;
    let left = Arc::new(AtomicU64::new(500));
    let target = Arc::new(Hanging { left });
    let mut stage = Stage::on(target, &plan.run, &plan.levels).unwrap();
    stage.set_hang_after(Duration::from_millis(300));
    let (mut hung, mut over) = (None, false);
    let trials = test_on(&stage, &plan, &Stop::new(), &mut |event| match event {
        Event::Hung { hung: told, file } => {
            assert!(file.exists());
            hung = Some(*told);
        }
        Event::Tested { trial, .. } => {
            // What was done until then is recorded and was checked.
            assert!(trial.history.txn_count() > 100 && !trial.history.meta().complete);
            assert!(trial.says_little().unwrap().contains("hangs"));
        }
        Event::Over { .. } => over = true,
        _ => {}
    });
    assert_eq!(trials.unwrap().worst(), TrialOutcome::AtFault);
    assert!(hung.unwrap().sessions == 1 && over);
}

#[test]
fn a_server_that_hangs_ends_the_job_with_a_notice() {
    let folder = Folder::new("server");
    let mut plan = folder.plan("postgres");
    plan.run.driving.txns = Some(1_000_000);
    plan.run.driving.timeout = Duration::from_secs(1);
    let options = OpenOptions { timeout: plan.run.driving.timeout, ..OpenOptions::default() };
    let target: Arc<dyn Target> = match isolde_target::open("postgres", &options) {
        Ok(target) => Arc::from(target),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "CI has PostgreSQL: {error}");
            eprintln!("SKIPPED: no PostgreSQL can be started on this machine: {error}");
            return;
        }
    };
    let stage = Stage::on(Arc::clone(&target), &plan.run, &plan.levels).unwrap();
    let (mut paused, mut gave_up) = (false, false);
    let trials = test_on(&stage, &plan, &Stop::new(), &mut |event| match event {
        Event::Progress { progress, .. } if !paused && progress.committed > 0 => {
            paused = true;
            target.nodes()[0].harm(Mishap::Pause).unwrap();
        }
        Event::Notice(notice) => gave_up |= notice.text().contains("sessions gave up"),
        _ => {}
    });
    assert!(paused && gave_up);
    assert_eq!(trials.unwrap().worst(), TrialOutcome::AtFault);
    target.nodes()[0].mend().unwrap();
}

//! Several jobs in one process.

use std::sync::mpsc::channel;
use std::thread;

use isolde_job::{Event, Stop, TrialOutcome, test};
use isolde_report::Style;
use isolde_spec::Anomaly;

use super::Folder;

#[test]
fn two_jobs_do_not_disturb_each_other() {
    let (endless, planted) = (Folder::new("endless"), Folder::new("planted"));
    let mut plan = endless.plan("fjall");
    plan.run.driving.txns = Some(u64::MAX);
    let stop = Stop::new();
    let handle = stop.clone();
    let (runs, running) = channel();
    let first = thread::spawn(move || {
        let mut interrupted = false;
        let mut text = String::new();
        let trials = test(&plan, &stop, &mut |event| match event {
            Event::Progress { progress, .. } if progress.committed > 0 => {
                let _ = runs.send(());
            }
            Event::Ran { ran } => interrupted = ran.interrupted,
            Event::Tested { trial, place } => text = trial.to_text(place, false, Style::default()),
            _ => {}
        });
        // There is no terminal, so there was no Ctrl-C.
        assert!(text.contains("; ended early") && !text.contains("Ctrl-C"), "{text}");
        (trials.unwrap().worst(), interrupted)
    });
    running.recv().unwrap();
    // While the one runs, another one does so from its beginning to its end, with a handle of its own.
    let mut plan = planted.plan("faulty");
    plan.run.planted = vec![Anomaly::LostUpdate];
    let own = Stop::new();
    let second = test(&plan, &own, &mut |_| {}).unwrap();
    assert_eq!(second.worst(), TrialOutcome::Violated);
    assert!(!own.run_ended() && !first.is_finished());
    handle.end_run();
    let (outcome, interrupted) = first.join().unwrap();
    assert_eq!((outcome, interrupted), (TrialOutcome::Holds, true));
}

#[test]
fn jobs_on_one_folder_keep_what_they_find_apart() {
    let folder = Folder::new("shared-folder");
    let mut plan = folder.plan("faulty");
    plan.run.planted = vec![Anomaly::LostUpdate];
    thread::scope(|scope| {
        let job = || test(&plan, &Stop::new(), &mut |_| {}).unwrap().worst();
        let jobs: Vec<_> = (0..3).map(|_| scope.spawn(job)).collect();
        assert!(jobs.into_iter().all(|job| job.join().unwrap() == TrialOutcome::Violated));
    });
    let kept: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(kept.len(), 3);
    assert!(kept.iter().all(|folder| folder.join("report.html").is_file()));
}

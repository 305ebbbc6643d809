//! What a job tells.

use isolde_job::{Often, Stop, TestPlan, TrialOutcome, test};
use isolde_spec::Anomaly;
use serde_json::Value;

use super::Folder;

fn told(plan: &TestPlan) -> (TrialOutcome, Vec<Value>) {
    let mut told = Vec::new();
    let trials = test(plan, &Stop::new(), &mut |event| told.push(event.to_json())).unwrap();
    (trials.worst(), told)
}

fn names(told: &[Value]) -> Vec<&str> {
    let mut names: Vec<&str> = told.iter().map(|e| e["event"].as_str().unwrap()).collect();
    // How often depends on the machine.
    names.retain(|name| *name != "progress");
    names
}

#[test]
fn a_run_that_finds_nothing_is_told_from_opening_to_over_and_leaves_nothing() {
    let folder = Folder::new("nothing");
    let (outcome, told) = told(&folder.plan("fjall"));
    assert_eq!(outcome, TrialOutcome::Holds);
    let expected = ["opening", "opened", "began", "ran", "checking", "decided", "tested", "over"];
    assert_eq!(names(&told), expected);
    let of = |name: &str| told.iter().find(|e| e["event"] == name).unwrap();
    assert_eq!(of("opened")["target"]["name"], "fjall");
    assert_eq!(of("began")["seed"], 1);
    assert_eq!(of("ran")["transactions"], 2000);
    assert_eq!(of("decided")["holds"], true);
    assert_eq!(of("tested")["outcome"], "holds");
    assert_eq!(of("over")["trials"], 1);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
}

#[test]
fn what_is_found_is_kept_and_ends_the_repetition() {
    let folder = Folder::new("found");
    let mut plan = folder.plan("faulty");
    plan.run.planted = vec![Anomaly::LostUpdate];
    plan.often = Often { most: 20, ..Often::default() };
    let (outcome, told) = told(&plan);
    assert_eq!(outcome, TrialOutcome::Violated);
    assert_eq!(names(&told)[names(&told).len() - 3..], ["tested", "kept", "over"]);
    let kept = told.iter().find(|e| e["event"] == "kept").unwrap();
    let kept = std::path::Path::new(kept["folder"].as_str().unwrap());
    for name in ["history.isolde", "report.txt", "report.json", "report.html", "excerpts"] {
        assert!(kept.join(name).exists(), "{name}");
    }
    // Nobody typed a command, so there is none to type again.
    assert!(!std::fs::read_to_string(kept.join("report.txt")).unwrap().contains("again "));
}

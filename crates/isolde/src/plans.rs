//! From what was typed to what a job shall do.

use anyhow::Result;
use isolde_job::{
    CommandLine, Driving, Often, OnlinePlan, RunPlan, ServerPlan, TestPlan, WorkloadPlan,
};
use isolde_run::Fault;
use isolde_spec::Anomaly;

use crate::args::{RunArgs, ShowName, TestArgs};
use crate::typed::Wrong;

/// One run.
pub(crate) fn run(args: &RunArgs) -> RunPlan {
    let (w, d, s) = (&args.workload, &args.driving, &args.server);
    RunPlan {
        target: args.target.clone(),
        password_file: args.password_file.clone(),
        isolation: args.isolation.clone(),
        workload: WorkloadPlan {
            kind: w.workload,
            sessions: w.sessions,
            keys: w.keys,
            distribution: w.distribution,
            max_txn_len: w.max_txn_len,
            reads: w.reads,
            favour: w.favour,
            rollbacks: w.rollbacks,
            round: w.round,
            seed: w.seed,
        },
        driving: Driving {
            txns: d.txns,
            commits: d.commits,
            duration: d.duration,
            rate: d.rate,
            retries: d.retries,
            timeout: d.timeout,
            paths: d.path.clone(),
            statement_times: !d.no_statement_times,
        },
        faults: faults(args),
        planted: planted(args),
        show: args.evidence.and_then(ShowName::shown),
        server: ServerPlan {
            server_bin: s.server_bin.clone(),
            port: s.port,
            settings: s.setting.clone(),
            keep: s.keep,
        },
        command: Some(CommandLine::new(std::env::args().skip(1))),
    }
}

/// Runs that are checked.
pub(crate) fn test(args: &TestArgs) -> Result<TestPlan> {
    // A budget alone is as many runs as fit into it.
    let unlimited = if args.budget.is_some() { u64::MAX } else { 1 };
    let often = Often {
        most: args.trials.or(args.repeat).unwrap_or(unlimited),
        until_found: args.trials.is_none(),
        budget: args.budget,
    };
    Ok(TestPlan {
        run: run(&args.run),
        levels: isolde_job::levels(&args.level)?,
        often,
        check_timeout: args.check_timeout,
        check_memory: args.check_memory,
        folder: args.out.clone(),
        keep_all: args.keep_history,
        all_witnesses: args.all,
        online: args.online.then_some(OnlinePlan { stop: args.stop }),
        intervals: by_intervals(args).then(|| args.intervals.question()).transpose()?,
    })
}

/// Whether runs are judged by client intervals.
fn by_intervals(args: &TestArgs) -> bool {
    args.run.evidence == Some(ShowName::Intervals)
}

/// What goes wrong with servers and connections.
fn faults(args: &RunArgs) -> Vec<Fault> {
    let fault = |wrong: &Wrong| match wrong {
        Wrong::Fault(fault) => Some(fault.clone()),
        Wrong::Planted(_) => None,
    };
    args.fault.iter().filter_map(fault).collect()
}

/// The anomalies to plant.
fn planted(args: &RunArgs) -> Vec<Anomaly> {
    let anomaly = |wrong: &Wrong| match wrong {
        Wrong::Planted(anomaly) => Some(*anomaly),
        Wrong::Fault(_) => None,
    };
    args.fault.iter().filter_map(anomaly).collect()
}

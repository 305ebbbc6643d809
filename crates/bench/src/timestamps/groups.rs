//! In how many groups keys are looked at: the less memory, the more often. That is what the paper calls the frequency of
//! collection.

use anyhow::Result;
use isolde_check::Options;
use isolde_spec::Level;
use isolde_workload::{Distribution, Kind, Settings};
use serde_json::json;

use super::args::TimestampsArgs;
use super::file::StampedFile;
use super::staged::Staged;
use super::stamped_plan::StampedPlan;

const GROUPS: [usize; 5] = [1, 2, 4, 8, 16];

/// The sweep never clears lists, nor keys with something wrong, so that all of them are looked at. It clears the
/// paper's default, which needs no groups.
pub(super) fn run(args: &TimestampsArgs) -> Result<()> {
    let (zipf, uniform) = (Distribution::Zipf(1.0), Distribution::Uniform);
    let (append, mix) = (Kind::Append, Kind::Mix);
    for (kind, distribution, drift) in
        [(append, uniform, 0), (mix, uniform, 1), (mix, zipf, 1), (mix, zipf, 0)]
    {
        let plan = args.plan(kind, Level::SnapshotIsolation);
        let workload = Settings { distribution, ..plan.workload };
        let plan = StampedPlan { workload, txns: args.txns * 10, drift, ..plan };
        let file = StampedFile::new(&args.folder, &plan)?;
        for groups in GROUPS {
            let options = Options { key_groups: groups, ..Options::default() };
            let best = Staged::best(&file.path, plan.level, &options, args.command.runs)?;
            let mut line = plan.line("groups");
            line["groups"] = json!(groups);
            best.show(&mut line);
            println!("{line}");
        }
    }
    Ok(())
}

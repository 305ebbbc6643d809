//! The stages of a check apart, by size.

use anyhow::Result;
use isolde_check::Options;
use isolde_spec::Level;
use isolde_workload::Kind;

use super::args::TimestampsArgs;
use super::file::StampedFile;
use super::staged::Staged;
use super::stamped_plan::StampedPlan;

pub(super) fn run(args: &TimestampsArgs) -> Result<()> {
    for (kind, faults) in [(Kind::Mix, false), (Kind::Mix, true), (Kind::Append, false)] {
        for times in [1, 2, 5, 10] {
            let plan = args.plan(kind, Level::SnapshotIsolation);
            let faults = if faults { args.txns / 10 } else { 0 };
            let plan = StampedPlan { txns: args.txns * times, faults, ..plan };
            let file = StampedFile::new(&args.folder, &plan)?;
            let best =
                Staged::best(&file.path, plan.level, &Options::default(), args.command.runs)?;
            let mut line = plan.line("stages");
            best.show(&mut line);
            println!("{line}");
        }
    }
    Ok(())
}

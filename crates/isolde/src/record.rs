//! `isolde record`.

use anyhow::{Result, bail};
use serde_json::json;

use crate::args::RecordArgs;
use crate::exit::{EXIT_FAULT, EXIT_OK};
use crate::running::Stage;
use crate::{interrupt, ran};

pub(crate) fn run(args: &RecordArgs) -> Result<u8> {
    if !args.force && args.to.exists() {
        bail!("{} exists\n  hint: --force overwrites it", args.to.display());
    }
    let known = args.to.extension().is_some_and(|e| e == "isolde" || e == "jsonl");
    if !known {
        bail!(
            "a run is recorded as .isolde or .jsonl, not as {}\n  hint: `isolde convert` makes others of them",
            args.to.display()
        );
    }
    interrupt::listen()?;
    let stage = Stage::open(&args.run, &[])?;
    let ran = stage.run(stage.seed(), &args.to);
    stage.clean();
    let ran = ran?;
    ran::warn(&*stage.target, &ran, stage.has_faults());
    if args.json {
        let mut report = stage.to_json(stage.seed());
        report["history"] = json!(args.to.display().to_string());
        report["run"] = ran::to_json(&ran);
        report["peak_memory_bytes"] = json!(ran::peak_memory());
        ran::print(&(serde_json::to_string_pretty(&report)? + "\n"))?;
    } else {
        ran::print(&format!(
            "database   {}\nworkload   {}\nrun        {}\nhistory    {}\n",
            stage.place(),
            stage.workload(stage.seed()),
            ran::to_text(&ran),
            args.to.display()
        ))?;
    }
    Ok(if ran.gave_up.is_empty() { EXIT_OK } else { EXIT_FAULT })
}

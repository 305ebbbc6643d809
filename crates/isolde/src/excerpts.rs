//! `isolde check --excerpts`: witnesses as files.

use std::path::Path;

use anyhow::{Context, Result};
use isolde_history::History;
use isolde_report::Decided;
use isolde_spec::excerpt;

/// Writes a small history for every witness: `NAME-LEVEL-NUMBER-ANOMALY.txt`.
pub(crate) fn write(
    folder: &Path,
    file: &Path,
    history: &History,
    decided: &[Decided],
) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    let stem = file.file_stem().map_or("history".into(), std::ffi::OsStr::to_string_lossy);
    for verdict in decided.iter().map(|d| &d.verdict) {
        let level = verdict.promise.level;
        for (number, witness) in verdict.witnesses().iter().enumerate() {
            let anomaly = witness.anomaly;
            let path = folder.join(format!("{stem}-{level}-{}-{anomaly}.txt", number + 1));
            let text = format!(
                "# {anomaly}: {}\n# {level} forbids it; from {}\n{}",
                anomaly.entry().meaning,
                file.display(),
                excerpt(history, witness)
            );
            std::fs::write(&path, text).with_context(|| format!("{}", path.display()))?;
        }
    }
    Ok(())
}

//! Completions and the man page, from the same source as `--help`.

use anyhow::Result;
use clap::CommandFactory;

use crate::args::Args;

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<()> {
    // Into memory first: the generator does not report errors of a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "isolde", &mut script);
    print(&script)
}

/// One page for the command and all its subcommands.
pub(crate) fn man_page() -> Result<()> {
    let mut page = Vec::new();
    let command = Args::command();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for sub in command.get_subcommands() {
        let name = format!("isolde {}", sub.get_name());
        let man = clap_mangen::Man::new(sub.clone().bin_name(name.clone()));
        let mut part = Vec::new();
        man.render_description_section(&mut part)?;
        man.render_synopsis_section(&mut part)?;
        man.render_options_section(&mut part)?;
        // Sections of a subcommand stand under its name.
        let part = String::from_utf8_lossy(&part).replace(".SH ", ".SS ");
        page.extend_from_slice(format!(".SH {}\n{part}", name.to_uppercase()).as_bytes());
    }
    print(&page)
}

fn print(bytes: &[u8]) -> Result<()> {
    use std::io::Write;
    std::io::stdout().lock().write_all(bytes)?;
    Ok(())
}

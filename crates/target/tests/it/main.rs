//! All tests of targets from outside, in one program: linked once, run on all
//! cores. A new file is named here; `tidy` looks whether it is.

mod addresses;
mod clusters;
mod common;
mod console_rows;
mod drivers;
mod embedded;
mod hermitage;
mod mishaps;
mod outcomes;
mod paths;
mod promises;
mod servers;
mod verdicts;

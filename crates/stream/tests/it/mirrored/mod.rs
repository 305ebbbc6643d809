//! Servers' mechanisms against a model that acts them out: whether a trace can be explained at all is found by trying
//! every instant inside the intervals.

mod acted;
mod by_values;
mod explained;
mod mutated;
mod regressions;
mod script;
mod twin;
mod world;

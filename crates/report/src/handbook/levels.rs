//! The pages of levels.

use isolde_spec::Level;

use super::LevelPage;

/// One page for each.
pub(super) static PAGES: &[LevelPage] = &[LevelPage {
    level: Level::Serializable,
    also_called: &[],
    promise: "",
    definition: "",
    allows: "",
    forbids: "",
    offered_by: &[],
    reproduce: &[],
}];

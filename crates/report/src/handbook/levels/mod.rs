//! The pages of levels.

mod operations;
mod strong;
mod weak;

use isolde_spec::Level;

use super::page::LevelPage;

/// All of them.
static PAGES: [&[LevelPage]; 3] = [&weak::PAGES, &strong::PAGES, &operations::PAGES];

/// The page of a level.
pub(super) fn page(level: Level) -> &'static LevelPage {
    // Every level has a page (a test checks it); the first stands in for none.
    pages().find(|page| page.level == level).unwrap_or(&weak::PAGES[0])
}

/// Every page.
pub(super) fn pages() -> impl Iterator<Item = &'static LevelPage> {
    PAGES.iter().flat_map(|pages| pages.iter())
}

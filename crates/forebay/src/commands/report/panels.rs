//! The panels of the page: one file each, one line here.

mod compare;
mod cost;
mod files;
mod flow;
mod io;
mod occupancy;
mod operations;
pub(super) mod overview;
mod sizes;
mod tiers;

use serde_json::Value;

use super::indexed_run::IndexedRun;
use super::price_sheet::ReportPrices;
use super::strings::StringTable;

/// One panel.
pub(super) struct Panel {
    /// Its name in the data.
    pub(super) name: &'static str,
    pub(super) draws: PanelContent,
}

/// What it shows.
pub(super) enum PanelContent {
    /// One run: each has this panel.
    Run(fn(&IndexedRun, &mut StringTable, Option<&ReportPrices>) -> Value),
    /// All of them.
    All(fn(&[IndexedRun], &mut StringTable, Option<&ReportPrices>) -> Value),
}

/// All panels, in the order of the page.
pub(super) const PANELS: &[Panel] = &[
    overview::PANEL,
    occupancy::PANEL,
    io::PANEL,
    operations::PANEL,
    sizes::PANEL,
    files::PANEL,
    flow::PANEL,
    tiers::PANEL,
    cost::PANEL,
    compare::PANEL,
];

#[cfg(test)]
mod tests {
    //! If this fails, one panel takes the place of another in the data.
    use super::*;

    #[test]
    fn every_panel_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<&str> =
            PANELS.iter().map(|panel| panel.name).collect();
        assert_eq!(names.len(), PANELS.len());
        let of_all = PANELS.iter().filter(|panel| matches!(panel.draws, PanelContent::All(_)));
        assert!(of_all.clone().all(|panel| !["runs", "strings", "schema"].contains(&panel.name)));
        assert_eq!(of_all.count(), 1);
    }
}

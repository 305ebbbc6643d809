//! Every case at every level, and what the levels amount to.

use std::sync::atomic::AtomicBool;

use isolde_spec::Level;
use isolde_target::{Consoles, Failure, Offer, Target};

use crate::case::Case;
use crate::outcome::Outcome;
use crate::recorded::{Recorded, done_on, note};
use crate::replay::in_rooms;
use crate::room::NOT_FOR_IT;
use crate::schedule::{Played, Schedule};

/// What became of one case at one level.
#[derive(Clone, PartialEq, Debug)]
pub struct Cell {
    /// What was run.
    pub schedule: Schedule,
    /// What was observed, and when.
    pub played: Played,
    /// What that means.
    pub outcome: Outcome,
    /// Whether the level promises that it cannot happen, and it did.
    pub finding: bool,
}

/// All cases at all levels.
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix {
    /// The database system and its version.
    pub database: (String, String),
    /// The levels.
    pub offers: Vec<Offer>,
    /// The cases.
    pub cases: Vec<Case>,
    /// What became of them: for each case, one for each level.
    pub cells: Vec<Vec<Cell>>,
}

/// What a level amounts to, as far as the cases tell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Amount {
    /// The strongest levels that nothing contradicts.
    pub holds: Vec<Level>,
    /// The weakest levels that are contradicted, and of those by which people know databases all that
    /// are; and by which cases.
    pub contradicted: Vec<(Level, Vec<String>)>,
}

/// With fewer cases no level is named.
const FEW: usize = 5;

/// The levels of which cases can tell: not those of real time and of single operations.
fn tellable() -> impl Iterator<Item = Level> + Clone {
    Level::ALL.into_iter().filter(|level| !level.needs_real_time() && !level.of_operations())
}

/// Runs the cases; `progress` is told after each run how many are done.
pub fn probe(
    target: &dyn Target,
    consoles: &dyn Consoles,
    cases: Vec<Case>,
    offers: Vec<Offer>,
    (stop, progress): (&AtomicBool, &(dyn Fn(usize) + Sync)),
) -> Result<Matrix, Failure> {
    let name = target.name();
    let width = offers.len().max(1);
    let all = in_rooms(consoles, cases.len() * offers.len(), stop, progress, &|room, at| {
        let (case, offer) = (&cases[at / width], &offers[at % width]);
        let (schedule, labels) = case.schedule(name);
        let (played, outcome) = match room.play(offer, &[], &schedule) {
            Ok(played) => {
                let outcome = Outcome::of(case, &schedule, &labels, &played.events);
                (played, outcome)
            }
            Err(failure) if failure.code == NOT_FOR_IT => {
                (Played::default(), Outcome::NotForIt(failure.message))
            }
            Err(failure) => (Played::default(), Outcome::Unknown(failure.to_string())),
        };
        let finding = outcome == Outcome::Allowed && case.forbidden_at(offer.promises);
        Cell { schedule, played, outcome, finding }
    })?;
    if all.len() < cases.len() * offers.len() {
        let message = "ended before all cases had run";
        return Err(Failure::new(isolde_target::After::Lost, "interrupted", message));
    }
    let cells = all.chunks(width).map(<[Cell]>::to_vec).collect();
    let database = (name.to_owned(), target.version().to_owned());
    Ok(Matrix { database, offers, cases, cells })
}

impl Matrix {
    /// What became of all cases at one level.
    pub fn column(&self, offer: usize) -> impl Iterator<Item = (&Case, &Cell)> {
        self.cases.iter().zip(&self.cells).filter_map(move |(c, row)| Some((c, row.get(offer)?)))
    }

    /// Whether some level let through what it promises to forbid.
    pub fn has_findings(&self) -> bool {
        self.cells.iter().flatten().any(|cell| cell.finding)
    }

    /// Why the first case was not run, if none was.
    pub fn nothing_ran(&self) -> Option<&str> {
        let mut cells = self.cells.iter().flatten();
        if cells.any(|cell| !matches!(cell.outcome, Outcome::NotForIt(_))) {
            return None;
        }
        self.cells.first()?.first()?.outcome.detail()
    }

    /// Whether some case did not run to its end.
    pub fn has_unknown(&self) -> bool {
        self.cells.iter().flatten().any(|cell| matches!(cell.outcome, Outcome::Unknown(_)))
    }

    /// What a level amounts to.
    pub fn amount(&self, offer: usize) -> Amount {
        let allowed: Vec<&Case> = self
            .column(offer)
            .filter(|(_, cell)| cell.outcome == Outcome::Allowed)
            .map(|(case, _)| case)
            .collect();
        let against = |level: Level| -> Vec<String> {
            let forbidden = allowed.iter().filter(|case| case.forbidden_at(level));
            forbidden.map(|case| case.name.clone()).collect()
        };
        let (holds, broken): (Vec<Level>, Vec<Level>) =
            tellable().partition(|level| against(*level).is_empty());
        let strongest = |level: &&Level| !holds.iter().any(|o| o != *level && o.implies(**level));
        let known = [Level::SnapshotIsolation, Level::Serializable];
        let weakest = |level: &&Level| {
            known.contains(level) || !broken.iter().any(|o| o != *level && level.implies(*o))
        };
        Amount {
            holds: holds.iter().filter(strongest).copied().collect(),
            contradicted: broken.iter().filter(weakest).map(|l| (*l, against(*l))).collect(),
        }
    }

    /// How many cases say something of a level: they are about an anomaly, and ran to their end.
    pub fn evidence(&self, offer: usize) -> usize {
        let over =
            |cell: &Cell| !matches!(cell.outcome, Outcome::Unknown(_) | Outcome::NotForIt(_));
        self.column(offer).filter(|(case, cell)| case.tells() && over(cell)).count()
    }

    /// What a level amounts to, in one sentence; a probe shows violations and proves nothing, and with a few
    /// cases not even a level is named.
    pub fn amount_told(&self, offer: usize) -> String {
        let (count, amount) = (self.evidence(offer), self.amount(offer));
        let names: Vec<&str> = amount.holds.iter().map(|l| l.name()).collect();
        let cases = if count == 1 { "case" } else { "cases" };
        let mut told = match names.as_slice() {
            _ if count == 0 => "no case that ran says anything of a level".to_owned(),
            [] => "weaker than every level".to_owned(),
            _ if count < FEW => format!("{count} {cases} run, too few to name a level"),
            names => format!("consistent with {} on the {count} cases run", names.join(" or ")),
        };
        for (level, cases) in &amount.contradicted {
            told += &format!("; weaker than {level} ({})", cases.join(", "));
        }
        let open =
            self.column(offer).filter(|(_, c)| matches!(c.outcome, Outcome::Unknown(_))).count();
        if open > 0 {
            told += &format!("; {open} more did not run to their end");
        }
        told
    }

    /// Whether nothing contradicts what a level promises. Levels of real time count, too: of what they
    /// forbid, the cases can tell a part.
    pub fn keeps_promise(&self, offer: usize) -> bool {
        !self.column(offer).any(|(_, cell)| cell.finding)
    }

    /// The runs, to be kept in a file.
    pub fn record(&self) -> Vec<Recorded> {
        let done = done_on(&self.database.0);
        let version = self.database.1.split(['-', ' ']).next().unwrap_or_default();
        let dbms = format!("{}-{version}", self.database.0.to_lowercase().replace(' ', "-"));
        let mut runs = Vec::new();
        for (case, row) in self.cases.iter().zip(&self.cells) {
            let ran = |cell: &&Cell| !matches!(cell.outcome, Outcome::NotForIt(_));
            for (offer, cell) in self.offers.iter().zip(row).filter(|(_, cell)| ran(cell)) {
                let snapshots = offer.name.strip_suffix("-snapshot");
                let plain = offer.name == "repeatable-read" && self.database.0 == "MariaDB";
                runs.push(Recorded {
                    line: runs.len() + 1,
                    case: case.name.clone(),
                    dbms: dbms.clone(),
                    snapshots: if snapshots.is_some() {
                        Some(true)
                    } else {
                        plain.then_some(false)
                    },
                    level: snapshots.unwrap_or(offer.name).replace('-', " "),
                    schedule: cell.schedule.clone(),
                    observed: cell.played.events.iter().map(|event| note(event, done)).collect(),
                });
            }
        }
        runs
    }
}

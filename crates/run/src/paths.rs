//! Which access path a step takes.

use isolde_history::OpKind;
use isolde_target::{Path, Target};

/// Which access paths to take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PathChoice {
    /// Any that the target has, as often as the target finds sensible.
    Random,
    /// Only these, each as often as the others; kinds of access that have none of them take the
    /// first that the target has.
    Only(Vec<Path>),
}

/// The paths that a run takes, for each kind of access: one look-up a step.
pub(crate) struct Paths {
    /// For each kind, every path as often as its weight.
    by_kind: [Vec<Path>; OpKind::ALL.len()],
}

impl Paths {
    pub(crate) fn new(target: &dyn Target, choice: &PathChoice) -> Paths {
        Paths { by_kind: OpKind::ALL.map(|kind| spread(target.paths(kind), choice)) }
    }

    /// The path that these random bits choose.
    pub(crate) fn pick(&self, kind: OpKind, bits: u32) -> Path {
        let paths = &self.by_kind[kind as usize];
        let at = (u64::from(bits) * paths.len() as u64) >> 32;
        paths.get(at as usize).copied().unwrap_or(Path::PrimaryKey)
    }

    /// Whether there is any choice; where there is none, the record need not say what was taken.
    pub(crate) fn vary(&self) -> bool {
        self.by_kind.iter().any(|paths| paths.iter().any(|p| *p != Path::PrimaryKey))
    }
}

fn spread(offered: &[(Path, u32)], choice: &PathChoice) -> Vec<Path> {
    let asked: Vec<Path> = match choice {
        PathChoice::Random => offered
            .iter()
            .flat_map(|&(path, weight)| std::iter::repeat_n(path, weight as usize))
            .collect(),
        PathChoice::Only(paths) => {
            offered.iter().map(|&(path, _)| path).filter(|path| paths.contains(path)).collect()
        }
    };
    match (asked.is_empty(), offered.first()) {
        (true, Some(&(first, _))) => vec![first],
        _ => asked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFERED: &[(Path, u32)] = &[(Path::PrimaryKey, 2), (Path::Index, 1), (Path::Scan, 0)];

    #[test]
    fn weights_say_how_often_and_zero_is_only_on_demand() {
        let random = spread(OFFERED, &PathChoice::Random);
        assert_eq!(random, [Path::PrimaryKey, Path::PrimaryKey, Path::Index]);
        let only = spread(OFFERED, &PathChoice::Only(vec![Path::Scan, Path::Upsert]));
        assert_eq!(only, [Path::Scan]);
    }

    #[test]
    fn a_kind_without_the_asked_path_takes_the_first_one() {
        assert_eq!(spread(OFFERED, &PathChoice::Only(vec![Path::Upsert])), [Path::PrimaryKey]);
        assert_eq!(spread(&[], &PathChoice::Random), []);
    }
}

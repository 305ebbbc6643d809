//! From versions of a row to their order: the transaction that ends one begins the next.

use std::collections::HashMap;

/// A version of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RowVersion<V> {
    pub(super) value: V,
    /// The transaction that wrote it.
    pub(super) begun_by: u64,
    /// The transaction that overwrote or deleted it, if one did.
    pub(super) ended_by: Option<u64>,
}

/// Versions that follow each other without a gap, as indices, oldest first.
pub(super) type Piece = Vec<usize>;

/// The chains that the versions make: one, unless the row was deleted in between. An error says why there are
/// none.
pub(super) fn pieces<V>(versions: &[RowVersion<V>]) -> Result<Vec<Piece>, String> {
    let mut by_start = HashMap::with_capacity(versions.len());
    let mut by_end = HashMap::with_capacity(versions.len());
    for (at, version) in versions.iter().enumerate() {
        if by_start.insert(version.begun_by, at).is_some() {
            return Err(format!("transaction {} left two versions", version.begun_by));
        }
        if by_end.insert(version.ended_by, at).is_some() {
            return Err(match version.ended_by {
                Some(txn) => format!("two versions were ended by transaction {txn}"),
                None => "two versions are there at once".to_owned(),
            });
        }
    }
    let begins = |at: &usize| !by_end.contains_key(&Some(versions[*at].begun_by));
    let next = |at: &usize| versions[*at].ended_by.and_then(|txn| by_start.get(&txn).copied());
    let heads = (0..versions.len()).filter(begins);
    let pieces: Vec<Piece> =
        heads.map(|head| std::iter::successors(Some(head), next).collect()).collect();
    // What is in no piece is in a circle.
    match pieces.iter().map(Vec::len).sum::<usize>() == versions.len() {
        true => Ok(pieces),
        false => Err("the chain of versions is a circle".to_owned()),
    }
}

/// The transactions whose commits have to be known to put several pieces in order: those at their ends.
pub(super) fn undecided<V>(versions: &[RowVersion<V>], pieces: &[Piece]) -> Vec<u64> {
    match pieces {
        [] | [_] => Vec::new(),
        several => several
            .iter()
            .filter_map(|piece| ends(versions, piece))
            .flat_map(|(b, e)| e.into_iter().chain([b]))
            .collect(),
    }
}

/// Who began a piece, and who ended it.
fn ends<V>(versions: &[RowVersion<V>], piece: &[usize]) -> Option<(u64, Option<u64>)> {
    Some((versions[*piece.first()?].begun_by, versions[*piece.last()?].ended_by))
}

/// The pieces one after another, by when the transactions at their ends were committed.
pub(super) fn joined<V>(
    versions: &[RowVersion<V>],
    pieces: Vec<Piece>,
    committed: &HashMap<u64, u64>,
) -> Result<Vec<usize>, String> {
    if pieces.len() < 2 {
        return Ok(pieces.into_iter().flatten().collect());
    }
    let at = |txn: u64| {
        let open = || {
            format!(
                "the chain of versions is open, and the commit of transaction {txn} is not known"
            )
        };
        committed.get(&txn).copied().ok_or_else(open)
    };
    let mut placed = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let Some((begun_by, ended_by)) = ends(versions, &piece) else { continue };
        let over = ended_by.map_or(Ok(u64::MAX), at)?;
        placed.push((at(begun_by)?, over, piece));
    }
    placed.sort_unstable();
    // A row is deleted before another one is put in its place.
    if placed.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        return Err("the chain of versions is open, and its pieces overlap".to_owned());
    }
    Ok(placed.into_iter().flat_map(|(_, _, piece)| piece).collect())
}

/// The values in that order.
pub(super) fn sorted<V>(versions: Vec<RowVersion<V>>, order: &[usize]) -> Vec<V> {
    let mut values: Vec<Option<V>> = versions.into_iter().map(|v| Some(v.value)).collect();
    order.iter().filter_map(|at| values.get_mut(*at)?.take()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Versions by value, beginning and end; 0 is no end.
    fn versions(all: &[(i64, u64, u64)]) -> Vec<RowVersion<i64>> {
        let version = |&(value, begun_by, end): &(i64, u64, u64)| RowVersion {
            value,
            begun_by,
            ended_by: (end > 0).then_some(end),
        };
        all.iter().map(version).collect()
    }

    fn order(all: &[(i64, u64, u64)], committed: &[(u64, u64)]) -> Result<Vec<i64>, String> {
        let versions = versions(all);
        let pieces = pieces(&versions)?;
        let asked = undecided(&versions, &pieces);
        let known = committed.iter().copied().filter(|(txn, _)| asked.contains(txn)).collect();
        let order = joined(&versions, pieces, &known)?;
        Ok(sorted(versions, &order))
    }

    #[test]
    fn a_chain_that_closes_is_the_order_whatever_the_numbers() {
        assert_eq!(order(&[(5, 7, 0)], &[]), Ok(vec![5]));
        assert_eq!(order(&[], &[]), Ok(vec![]));
        // Transaction 97 wrote another row first, and this one after 98 had.
        assert_eq!(order(&[(201, 98, 97), (0, 94, 98), (101, 97, 0)], &[]), Ok(vec![0, 201, 101]));
        // The row is gone in the end.
        assert_eq!(order(&[(2, 4, 9), (1, 3, 4)], &[]), Ok(vec![1, 2]));
    }

    #[test]
    fn pieces_are_joined_by_commits() {
        // Deleted by 42, there again by 35, which got its number before.
        let all = [(31, 35, 48), (0, 19, 42), (32, 48, 0)];
        let commits = [(19, 20), (42, 43), (35, 46)];
        assert_eq!(order(&all, &commits), Ok(vec![0, 31, 32]));
        assert!(order(&all, &commits[..2]).unwrap_err().contains("commit of transaction 35"));
        assert!(order(&all, &[(19, 20), (42, 47), (35, 46)]).unwrap_err().contains("overlap"));
    }

    #[test]
    fn what_branches_has_no_order() {
        let two_ends = [(0, 1, 5), (1, 2, 5), (2, 5, 0)];
        assert!(order(&two_ends, &[]).unwrap_err().contains("ended by transaction 5"));
        assert!(order(&[(0, 1, 0), (1, 2, 0)], &[]).unwrap_err().contains("at once"));
        assert!(order(&[(0, 1, 2), (1, 1, 0)], &[]).unwrap_err().contains("left two versions"));
        assert!(order(&[(0, 1, 2), (1, 2, 1)], &[]).unwrap_err().contains("circle"));
    }
}

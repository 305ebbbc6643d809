//! What the versions of a row come to, however the server shows them.

use crate::shown::RowVersions;

impl RowVersions {
    /// What a register held, oldest first, or why there is no order. The 0 with which we filled the table is
    /// nobody's version.
    pub(crate) fn of_register(
        row: u32,
        values: Vec<i64>,
        unordered: Option<String>,
        filled: bool,
    ) -> RowVersions {
        let odd = filled && unordered.is_none() && values.first() != Some(&0);
        let unordered = match odd {
            true => Some("the chain of versions does not begin with the first one".to_owned()),
            false => unordered,
        };
        let values = values.into_iter().filter(|value| !filled || *value != 0).collect();
        RowVersions { row, values, unordered }
    }
}

/// The versions of a list, added one after another: its elements, if every version goes on where the one before
/// ends.
#[derive(Default)]
pub(crate) struct ListVersions {
    newest: Vec<i64>,
    /// The elements of versions with which the next one did not begin.
    replaced: Vec<i64>,
    unordered: Option<String>,
}

impl ListVersions {
    /// The next version; nothing if it is no list.
    pub(crate) fn add(&mut self, version: Option<Vec<i64>>) {
        let Some(version) = version else {
            return self.doubt("a version is no list of integers".to_owned());
        };
        let before = std::mem::replace(&mut self.newest, version);
        if !self.newest.starts_with(&before) {
            let count = before.len();
            self.doubt(format!("a list of {count} elements was not lengthened but replaced"));
            self.replaced.extend(before);
        }
    }

    /// They are in no order, for this reason.
    pub(crate) fn doubt(&mut self, why: String) {
        self.unordered.get_or_insert(why);
    }

    pub(crate) fn finish(self, row: u32) -> RowVersions {
        let ListVersions { newest: mut values, replaced, unordered } = self;
        if unordered.is_some() {
            values.extend(replaced);
            values.sort_unstable();
            values.dedup();
        }
        RowVersions { row, values, unordered }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_fill_is_nobodys_version() {
        let of =
            |values: &[i64], filled| RowVersions::of_register(7, values.to_vec(), None, filled);
        let full = of(&[0, 5, 3], true);
        assert_eq!((full.row, full.values, full.unordered), (7, vec![5, 3], None));
        let empty = of(&[5, 3], false);
        assert_eq!((empty.values, empty.unordered), (vec![5, 3], None));
        let odd = of(&[5, 0, 3], true);
        assert_eq!(odd.values, [5, 3]);
        assert!(odd.unordered.unwrap().contains("does not begin"));
    }

    #[test]
    fn a_list_is_its_newest_version_if_all_others_are_its_beginnings() {
        let list = |versions: &[&[i64]]| {
            let mut list = ListVersions::default();
            versions.iter().for_each(|version| list.add(Some(version.to_vec())));
            list
        };
        let whole = list(&[&[1], &[1, 2, 3], &[1, 2, 3, 4]]).finish(1);
        assert_eq!((whole.values, whole.unordered), (vec![1, 2, 3, 4], None));
        let torn = list(&[&[1], &[1, 2], &[1, 3]]).finish(1);
        assert_eq!(torn.values, [1, 2, 3]);
        assert!(torn.unordered.unwrap().contains("2 elements was not lengthened"));
        let mut odd = list(&[&[1]]);
        odd.add(None);
        assert!(odd.finish(1).unordered.unwrap().contains("no list"));
    }
}

//! What runs that were killed left on a server of the user's.

/// Something that a run left behind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leftover {
    /// `table`, `schema` or `database`.
    pub kind: &'static str,
    /// Its name, as SQL takes it.
    pub name: String,
    /// Whether a session uses it at this moment: its run is not over.
    pub in_use: bool,
}

/// Whether a name is one that Isolde gives to tables: `isolde_`, twelve or more hexadecimal digits in one or two
/// groups, a number. No other table is called so by chance.
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
pub(crate) fn is_table(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("isolde_") else { return false };
    let Some((tag, number)) = rest.rsplit_once('_') else { return false };
    let hex = |group: &str| {
        !group.is_empty() && group.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
    };
    let digits = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    tag.len() >= 12 && tag.split('_').count() <= 2 && tag.split('_').all(hex) && digits
}

/// What the names of rooms for schedules begin with.
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
pub(crate) const ROOM: &str = "isolde_probe_";

/// Whether a name is one that Isolde gives to rooms for schedules.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) fn is_room(name: &str) -> bool {
    let tag = name.strip_prefix(ROOM).unwrap_or_default();
    tag.len() == 12 && tag.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
}

#[cfg(test)]
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ours_are_ours() {
        for ours in
            ["isolde_0123456789ab_0", "isolde_0123456789ab_17", "isolde_1f3a_18c0ffee1234_2"]
        {
            assert!(is_table(ours), "{ours}");
        }
        for other in [
            "isolde",
            "isolde_users",
            "isolde_users_1",
            "isolde_0123456789ab",
            "isolde_0123456789ab_x",
            "isolde_0123_1",
            "my_isolde_0123456789ab_0",
            "isolde_0123456789AB_0",
        ] {
            assert!(!is_table(other), "{other}");
        }
    }
}

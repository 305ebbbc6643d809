//! The name that a misspelt one was probably meant to be.

/// The nearest of some names, if it is near enough: for longer names two or three letters may
/// be wrong. Case and separators do not count.
pub fn nearest<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let typed = plain(typed);
    let most = (typed.len() / 4).clamp(1, 3);
    let near = names.into_iter().map(|name| (distance(&typed, &plain(name)), name));
    let best = near.min_by_key(|(distance, _)| *distance)?;
    (best.0 <= most && typed.len() > 2).then_some(best.1)
}

fn plain(name: &str) -> Vec<char> {
    name.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect()
}

/// How many letters have to be put in, left out or replaced.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut last = at;
        let mut left = at + 1;
        for (place, wanted) in row.iter_mut().skip(1).zip(other) {
            let replaced = last + usize::from(letter != wanted);
            last = *place;
            left = replaced.min(last + 1).min(left + 1);
            *place = left;
        }
        row.iter_mut().take(1).for_each(|first| *first = at + 1);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let levels = ["serializable", "repeatable-read", "read-committed", "si"];
        assert_eq!(nearest("serialisable", levels), Some("serializable"));
        assert_eq!(nearest("repeatable read", levels), Some("repeatable-read"));
        assert_eq!(nearest("Read_Comitted", levels), Some("read-committed"));
        assert_eq!(nearest("fast", levels), None);
        assert_eq!(nearest("x", levels), None);
        assert_eq!(nearest("postgress", ["postgres", "mysql"]), Some("postgres"));
        let of = |one: &str, other: &str| distance(&plain(one), &plain(other));
        assert_eq!((of("kitten", "sitting"), of("", "abc"), of("abc", "")), (3, 3, 3));
    }
}

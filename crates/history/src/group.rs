//! Items put together by a dense number.

/// Sorts items by the number of their group, which is below `groups`, and keeps their order within
/// it: the items, and where each group ends. A counting sort, so the items are asked for twice.
pub(crate) fn grouped<T: Copy, I: Iterator<Item = (usize, T)>>(
    groups: usize,
    filler: T,
    items: impl Fn() -> I,
) -> (Vec<T>, Vec<u32>) {
    let mut ends = vec![0u32; groups];
    items().for_each(|(group, _)| ends[group] += 1);
    let mut sum = 0;
    for end in &mut ends {
        sum += std::mem::replace(end, sum);
    }
    let mut sorted = vec![filler; sum as usize];
    items().for_each(|(group, item)| {
        let at = &mut ends[group];
        sorted[*at as usize] = item;
        *at += 1;
    });
    (sorted, ends)
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn groups_keep_the_order_of_their_items() {
        let items = [(2, 'a'), (0, 'b'), (2, 'c'), (0, 'd')];
        let (sorted, ends) = grouped(4, ' ', || items.into_iter());
        assert_eq!(sorted, ['b', 'd', 'a', 'c']);
        assert_eq!(ends, [2, 2, 4, 4]);
    }
}

//! Things in a row that keep their distance: each as near to where it wants to be as the others let
//! it.

/// Something in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    /// Where its middle wants to be.
    pub(super) at: f64,
    /// How much.
    pub(super) weight: f64,
    /// How far it must be from the one before, middle to middle.
    pub(super) gap: f64,
}

/// Where the middles are. The sum of squares of what they are off is the least possible: with the
/// gaps taken away this is isotonic regression, and neighbours that push each other are pooled.
pub(super) fn keep_distance(wishes: &[Wish]) -> Vec<f64> {
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    let mut offsets = Vec::with_capacity(wishes.len());
    let mut offset = 0.0;
    for (at, wish) in wishes.iter().enumerate() {
        offset += if at == 0 { 0.0 } else { wish.gap };
        offsets.push(offset);
        let mut pool = (wish.at - offset, wish.weight.max(1e-6), 1);
        while let Some(before) = pools.pop_if(|before| before.0 > pool.0) {
            let weight = before.1 + pool.1;
            let mean = (before.0 * before.1 + pool.0 * pool.1) / weight;
            pool = (mean, weight, before.2 + pool.2);
        }
        pools.push(pool);
    }
    let flat = pools.iter().flat_map(|(mean, _, count)| std::iter::repeat_n(*mean, *count));
    flat.zip(offsets).map(|(mean, offset)| mean + offset).collect()
}

/// The same between two walls. If there is not room enough, they come as close as they must.
pub(super) fn keep_inside(wishes: &[Wish], low: f64, high: f64) -> Vec<f64> {
    let needed: f64 = wishes.iter().skip(1).map(|wish| wish.gap).sum();
    let room = (high - low).max(0.0);
    let factor = if needed > room { room / needed } else { 1.0 };
    let closer: Vec<Wish> = wishes.iter().map(|w| Wish { gap: w.gap * factor, ..*w }).collect();
    let mut offset = 0.0;
    let free = keep_distance(&closer);
    free.iter()
        .zip(&closer)
        .enumerate()
        .map(|(at, (place, wish))| {
            offset += if at == 0 { 0.0 } else { wish.gap };
            (place - offset).min(high - needed * factor).max(low) + offset
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(at: f64) -> Wish {
        Wish { at, weight: 1.0, gap: 10.0 }
    }

    #[test]
    fn neighbours_push_each_other() {
        assert_eq!(keep_distance(&[wish(0.0), wish(50.0)]), [0.0, 50.0]);
        assert_eq!(keep_distance(&[wish(20.0), wish(20.0), wish(20.0)]), [10.0, 20.0, 30.0]);
        assert!(keep_distance(&[]).is_empty());
    }

    #[test]
    fn walls_hold() {
        assert_eq!(keep_inside(&[wish(90.0), wish(90.0)], 0.0, 90.0), [80.0, 90.0]);
        assert_eq!(keep_inside(&[wish(5.0), wish(5.0), wish(5.0)], 0.0, 10.0), [0.0, 5.0, 10.0]);
    }
}

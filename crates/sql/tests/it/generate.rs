//! What is generated, without a server.

use isolde_sql::dialect::SQLITE;
use isolde_sql::generate::{Generator, RandomGenerator};

#[test]
fn the_same_seed_and_number_give_the_same_case() {
    let mut first = RandomGenerator::new(5, &SQLITE);
    let forward: Vec<_> = (0..50).map(|number| first.case(number)).collect();
    let mut second = RandomGenerator::new(5, &SQLITE);
    let mut backward: Vec<_> = (0..50).rev().map(|number| second.case(number)).collect();
    backward.reverse();
    assert_eq!(forward, backward);
    assert_ne!(forward[3], RandomGenerator::new(6, &SQLITE).case(3));
}

//! Prints cases: the dialect, the seed, the first number and how many.
use isolde_sql::dialect::Dialect;
use isolde_sql::generate::{Generator, RandomGenerator};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(1u64);
    let dialect = words.first().and_then(|name| Dialect::of(name));
    let Some(dialect) = dialect else {
        return eprintln!("a dialect: PostgreSQL, MariaDB, MySQL, SQLite");
    };
    let mut generator = RandomGenerator::new(number(1), dialect);
    for number in number(2)..number(2) + number(3) {
        let case = generator.case(number);
        println!("-- case {number}, order {:?}", case.order);
        case.schema.iter().chain(&case.rows).for_each(|sql| println!("{sql};"));
        for (at, transaction) in case.transactions.iter().enumerate() {
            println!("-- transaction {at}\n{};", transaction.begin);
            transaction.statements.iter().for_each(|statement| println!("{};", statement.sql));
            println!("{};", if transaction.commits { "COMMIT" } else { "ROLLBACK" });
        }
    }
}

//! An auction site as RUBiS has it: users register, list items, bid, comment and look at items.
//!
//! There are four items a user. Users and items that come later have as many rows again, and of bids and
//! comments a few are kept; new ones replace the oldest.

use crate::application::{Numbers, Region, Row, Steps, by_weight, row};
use crate::pick::Picker;
use crate::plan::Step;
use crate::random::Random;

/// How many items there are for each user.
const ITEMS: u64 = 4;
/// How many bids of an item, and comments on a user, are kept.
const BIDS: u64 = 4;
const COMMENTS: u64 = 4;
/// Which share of users and items that are referred to came later.
const NEW: f64 = 0.2;
/// How many operations the longest transaction has.
pub(crate) const LONGEST: u32 = 2 + BIDS as u32;

type RubisAction = fn(&Rubis, &Picker, &mut Numbers, &mut Steps<'_>);

/// All transactions.
pub(crate) static TABLE: [Row<RubisAction>; 5] = [
    row("register-user", 5, Rubis::register_user),
    row("list-item", 10, Rubis::list_item),
    row("bid", 35, Rubis::bid),
    row("comment", 10, Rubis::comment),
    row("view", 40, Rubis::view),
];

/// How many rows so many users have.
pub(crate) fn rows(users: u32) -> u64 {
    Rubis::new(users).rows()
}

/// Where the rows of all users and items are.
#[derive(Clone, Debug)]
pub(crate) struct Rubis {
    /// How many users there are at first.
    first_users: u64,
    users: Region,
    items: Region,
    bids: Region,
    comments: Region,
    types: Picker,
}

impl Rubis {
    pub(crate) fn new(users: u32) -> Rubis {
        let first_users = u64::from(users);
        let users = Region::after(0, 2 * first_users);
        let items = Region::after(users.end(), 2 * ITEMS * first_users);
        let bids = Region::after(items.end(), 2 * ITEMS * first_users * BIDS);
        let comments = Region::after(bids.end(), 2 * first_users * COMMENTS);
        Rubis { first_users, users, items, bids, comments, types: by_weight(&TABLE) }
    }

    const fn rows(&self) -> u64 {
        self.comments.end()
    }

    pub(crate) fn fill(
        &self,
        users: &Picker,
        numbers: &mut Numbers,
        random: &mut Random,
        steps: &mut Vec<Step>,
    ) {
        let action = TABLE[self.types.pick(random) as usize].1;
        action(self, users, numbers, &mut Steps { random, steps });
    }

    fn first_items(&self) -> u64 {
        ITEMS * self.first_users
    }

    fn some_user(&self, users: &Picker, steps: &mut Steps<'_>) -> u64 {
        let later = if steps.random.chance(NEW) { self.first_users } else { 0 };
        u64::from(users.pick(steps.random)) + later
    }

    /// An item: a user that is popular has popular items.
    fn some_item(&self, users: &Picker, steps: &mut Steps<'_>) -> u64 {
        let later = if steps.random.chance(NEW) { self.first_items() } else { 0 };
        let seller = u64::from(users.pick(steps.random));
        seller * ITEMS + steps.random.below(ITEMS) + later
    }

    /// The user who sells an item.
    fn seller(&self, item: u64) -> u64 {
        item % self.first_items() / ITEMS
    }

    /// Looks whether the name is taken.
    fn register_user(&self, _: &Picker, numbers: &mut Numbers, steps: &mut Steps<'_>) {
        let new = self.first_users + numbers.next() % self.first_users;
        steps.update(self.users.row(new));
    }

    fn list_item(&self, users: &Picker, numbers: &mut Numbers, steps: &mut Steps<'_>) {
        let seller = self.some_user(users, steps);
        steps.read(self.users.row(seller));
        steps.write(self.items.row(self.first_items() + numbers.next() % self.first_items()));
    }

    fn bid(&self, users: &Picker, numbers: &mut Numbers, steps: &mut Steps<'_>) {
        let (user, item) = (self.some_user(users, steps), self.some_item(users, steps));
        steps.read(self.users.row(user));
        steps.read(self.items.row(item));
        steps.write(self.bids.row(item * BIDS + numbers.place(BIDS)));
        steps.write(self.items.row(item));
    }

    fn comment(&self, users: &Picker, numbers: &mut Numbers, steps: &mut Steps<'_>) {
        let (item, user) = (self.some_item(users, steps), self.some_user(users, steps));
        steps.read(self.items.row(item));
        steps.read(self.users.row(user));
        steps.write(self.comments.row(user * COMMENTS + numbers.place(COMMENTS)));
        steps.write(self.users.row(user));
    }

    fn view(&self, users: &Picker, _: &mut Numbers, steps: &mut Steps<'_>) {
        let item = self.some_item(users, steps);
        steps.read(self.items.row(item));
        steps.read(self.users.row(self.seller(item)));
        for number in 0..BIDS {
            steps.read(self.bids.row(item * BIDS + number));
        }
    }
}

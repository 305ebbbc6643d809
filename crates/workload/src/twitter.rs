//! A small Twitter: users post, follow and unfollow each other, and look at their timelines.
//!
//! A user has a row for the accounts that it follows, one for its followers, one for the number of its
//! latest tweet, and a few for its tweets, of which a new one replaces the oldest. A tweet of 140 words is
//! one value.

use crate::application::{Numbers, Region, Row, Steps, by_weight, row};
use crate::pick::Picker;
use crate::plan::Step;
use crate::random::Random;

/// How many tweets of a user are kept.
const TWEETS: u64 = 10;
/// How many accounts a timeline shows, at least and at most.
const SHOWN: (u64, u64) = (5, 10);
/// How many operations the longest transaction has.
pub(crate) const LONGEST: u32 = 1 + 2 * SHOWN.1 as u32;

type TwitterAction = fn(&Twitter, &Picker, &mut Numbers, &mut Steps<'_>);

/// All transactions.
pub(crate) static TABLE: [Row<TwitterAction>; 4] = [
    row("post", 30, Twitter::post),
    row("follow", 10, Twitter::follow),
    row("unfollow", 5, Twitter::unfollow),
    row("timeline", 55, Twitter::timeline),
];

/// How many rows so many users have.
pub(crate) fn rows(users: u32) -> u64 {
    Twitter::new(users).rows()
}

/// Where the rows of all users are.
#[derive(Clone, Debug)]
pub(crate) struct Twitter {
    follows: Region,
    followers: Region,
    latest: Region,
    tweets: Region,
    types: Picker,
}

impl Twitter {
    pub(crate) fn new(users: u32) -> Twitter {
        let users = u64::from(users);
        let follows = Region::after(0, users);
        let followers = Region::after(follows.end(), users);
        let latest = Region::after(followers.end(), users);
        let tweets = Region::after(latest.end(), users * TWEETS);
        Twitter { follows, followers, latest, tweets, types: by_weight(&TABLE) }
    }

    const fn rows(&self) -> u64 {
        self.tweets.end()
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

    fn tweet(&self, user: u64, number: u64) -> u32 {
        self.tweets.row(user * TWEETS + number)
    }

    fn post(&self, users: &Picker, numbers: &mut Numbers, steps: &mut Steps<'_>) {
        let user = u64::from(users.pick(steps.random));
        steps.read(self.latest.row(user));
        steps.write(self.tweet(user, numbers.place(TWEETS)));
        steps.write(self.latest.row(user));
    }

    fn follow(&self, users: &Picker, _: &mut Numbers, steps: &mut Steps<'_>) {
        let (user, other) = pair(users, steps);
        steps.update(self.follows.row(user));
        steps.update(self.followers.row(other));
    }

    /// A user first looks whether it follows the other one at all.
    fn unfollow(&self, users: &Picker, _: &mut Numbers, steps: &mut Steps<'_>) {
        let (user, other) = pair(users, steps);
        steps.read(self.follows.row(user));
        steps.read(self.followers.row(other));
        steps.write(self.follows.row(user));
        steps.write(self.followers.row(other));
    }

    fn timeline(&self, users: &Picker, _: &mut Numbers, steps: &mut Steps<'_>) {
        let user = users.pick(steps.random);
        steps.read(self.follows.row(u64::from(user)));
        for _ in 0..steps.between(SHOWN.0, SHOWN.1) {
            let other = u64::from(users.pick_other(user, steps.random));
            let number = steps.random.below(TWEETS);
            steps.read(self.latest.row(other));
            steps.read(self.tweet(other, number));
        }
    }
}

fn pair(users: &Picker, steps: &mut Steps<'_>) -> (u64, u64) {
    let user = users.pick(steps.random);
    (u64::from(user), u64::from(users.pick_other(user, steps.random)))
}

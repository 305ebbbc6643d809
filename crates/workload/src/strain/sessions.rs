//! Many sessions, long lists, and transactions one after another.

use isolde_history::SinkError;

use super::maker::StrainMaker;
use crate::random::Random;

/// Several transactions append the element, each in its turn; at the end a few read all of it.
pub(super) fn equal_elements(maker: &mut StrainMaker, appends: u32) -> Result<(), SinkError> {
    maker.of_lists();
    for i in 0..appends {
        maker.begin(i % 8).append(0, 7).commit()?;
    }
    for session in 0..3 {
        maker.begin(session).list_of(0, 7, appends)?.commit()?;
    }
    Ok(())
}

/// How many transactions read the list right after they have appended to it.
const READERS: u32 = 20;

/// Every read of the list ends with elements of the reader's own, which equal those of others.
pub(super) fn own_equal_elements(maker: &mut StrainMaker, appends: u32) -> Result<(), SinkError> {
    maker.of_lists();
    let share = (appends / (2 * READERS)).max(1);
    let mut there = 0;
    for i in 0..=READERS {
        maker.begin(i % 8);
        let more = if i == 0 { appends.saturating_sub(READERS * share) } else { share };
        for _ in 0..more {
            maker.append(0, 7);
        }
        there += more;
        maker.list_of(0, 7, there)?.commit()?;
    }
    Ok(())
}

pub(super) fn updates(
    maker: &mut StrainMaker,
    sessions: u32,
    violating: bool,
) -> Result<(), SinkError> {
    let keys = (sessions / 10).max(1);
    let mut current = vec![0; keys as usize];
    for session in 0..sessions {
        let key = session % keys;
        let last = std::mem::replace(&mut current[key as usize], session + 1);
        maker.begin(session).read(key, last).write(key, session + 1).commit()?;
        if violating && session == sessions / 2 {
            let (question, answer) = (keys, keys + 1);
            maker.begin(sessions).read(question, 0).write(question, 1).commit()?;
            maker
                .begin(sessions + 1)
                .read(question, 1)
                .read(answer, 0)
                .write(answer, 1)
                .commit()?;
            maker.begin(sessions + 2).read(answer, 1).read(question, 0).commit()?;
        }
    }
    Ok(())
}

pub(super) fn blind_writes(maker: &mut StrainMaker, txns: u32, seed: u64) -> Result<(), SinkError> {
    const KEYS: u32 = 10;
    let mut random = Random::new(seed);
    let mut current = [0; KEYS as usize];
    for i in 0..txns {
        let begin = 10 * i64::from(i);
        maker.begin(i % 16).between(begin, begin + 5);
        let mut read = Vec::with_capacity(3);
        while read.len() < 3 {
            let key = random.below(u64::from(KEYS)) as u32;
            if !read.contains(&key) {
                maker.read(key, current[key as usize]);
                read.push(key);
            }
        }
        // Some of the writers have read the key before: a mixture is harder than blind writes alone.
        let written = random.below(u64::from(KEYS)) as u32;
        current[written as usize] = i + 1;
        maker.write(written, i + 1).commit()?;
    }
    Ok(())
}

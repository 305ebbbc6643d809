//! What can be typed after `isolde replay`.

use std::path::PathBuf;

use super::ReadArgs;
use crate::address::To;
use crate::delay::Delay;
use crate::typed::{count, seed, some};

/// Send a recorded history as a stream of lines
///
/// For trying what reads a stream: the header first, then one line of .jsonl for each transaction
/// (docs/history-format.md), as a recorder writes them while a database runs. They come in the order of
/// their commit timestamps, or as they were recorded where there are none, and those of a session always
/// keep their order. The same seed gives the same bytes.
///
/// Records arrive late in practice. --delay holds each transaction back for a random time: transaction
/// number n commits at n/RATE seconds and is sent when its delay is over, so that others overtake it. Without
/// --rate nothing waits, and the delays only change the order, as if 10k committed each second.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  isolde replay history.isolde | isolde check -\n  \
                        isolde replay history.isolde --rate 10k --batch 500 --delay normal:100ms,10ms\n  \
                        isolde replay history.isolde --shuffle --seed 7 --promises\n  \
                        isolde replay history.isolde --rate 1k --to localhost:4000\n  \
                        isolde replay history.isolde --to unix:/tmp/isolde.sock")]
pub(crate) struct ReplayArgs {
    /// The history: a file, a folder of logs, or - for standard input
    pub(crate) history: PathBuf,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// Where to send: HOST:PORT, or unix:PATH for a socket of this machine [default: standard output]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) to: Option<To>,
    /// How many transactions a second, such as 10k; 0: as fast as possible
    #[arg(long, value_name = "COUNT", default_value = "0", value_parser = count)]
    pub(crate) rate: u64,
    /// How many transactions are sent at once
    #[arg(long, value_name = "COUNT", default_value = "500", value_parser = some)]
    pub(crate) batch: u32,
    /// Hold transactions back: normal:MEAN,DEVIATION such as normal:100ms,10ms, or fixed:TIME
    #[arg(long, value_name = "DELAY")]
    pub(crate) delay: Option<Delay>,
    /// Send the transactions in any order that keeps the order of each session
    #[arg(long)]
    pub(crate) shuffle: bool,
    /// Say now and then which timestamps will not come any more, and when a session ends
    #[arg(long)]
    pub(crate) promises: bool,
    /// Random seed
    #[arg(long, default_value = "0", value_parser = seed)]
    pub(crate) seed: u64,
}

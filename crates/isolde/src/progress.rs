//! A bar or a spinner on the terminal, and nothing elsewhere: not where standard error is a file, and not in
//! builds without the feature `progress`.

/// How far something is.
pub(crate) struct Progress {
    #[cfg(feature = "progress")]
    bar: indicatif::ProgressBar,
    /// How much there is to do.
    length: u64,
}

#[cfg(feature = "progress")]
impl Progress {
    /// Something that turns, for work of unknown duration.
    pub(crate) fn spinner(what: &str) -> Progress {
        let bar = indicatif::ProgressBar::new_spinner();
        let progress = Progress { bar, length: 0 }.styled("{spinner} {msg} {elapsed}");
        progress.say(what.to_owned());
        progress.bar.enable_steady_tick(std::time::Duration::from_millis(100));
        progress
    }

    /// Something that grows, in the words of indicatif.
    pub(crate) fn bar(length: u64, style: &str) -> Progress {
        Progress { bar: indicatif::ProgressBar::new(length), length }.styled(style)
    }

    fn styled(self, style: &str) -> Progress {
        if let Ok(style) = indicatif::ProgressStyle::with_template(style) {
            self.bar.set_style(style);
        }
        self
    }

    pub(crate) fn reach(&self, position: u64) {
        self.bar.set_position(position);
    }

    pub(crate) fn say(&self, message: String) {
        self.bar.set_message(message);
    }

    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(not(feature = "progress"))]
impl Progress {
    pub(crate) fn spinner(_: &str) -> Progress {
        Progress { length: 0 }
    }

    pub(crate) fn bar(length: u64, _: &str) -> Progress {
        Progress { length }
    }

    #[expect(clippy::unused_self, reason = "there is nothing to show it on")]
    pub(crate) fn reach(&self, _: u64) {}

    #[expect(clippy::unused_self, reason = "as above")]
    pub(crate) fn say(&self, _: String) {}

    #[expect(clippy::unused_self, reason = "as above")]
    pub(crate) fn clear(&self) {}
}

impl Progress {
    pub(crate) fn length(&self) -> u64 {
        self.length
    }
}

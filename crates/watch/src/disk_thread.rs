//! The thread on which a stream writes to the disk what need not be waited for.

use std::sync::mpsc::sync_channel;

use isolde_stream::Stream;

/// Lets a stream write on a thread of its own, which ends when the stream does.
pub(crate) fn write_elsewhere(stream: &mut Stream) {
    let (sender, jobs) = sync_channel::<Box<dyn FnOnce() + Send>>(1);
    let named = std::thread::Builder::new().name("disk".to_owned());
    let started = named.spawn(move || jobs.into_iter().for_each(|job| job()));
    // Without a thread to spare it writes where it is.
    if started.is_ok() {
        stream.write_elsewhere(Box::new(move |job| {
            // The thread ends when nobody can send any more.
            let _ = sender.send(job);
        }));
    }
}

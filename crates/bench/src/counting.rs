//! An allocator that counts: the only way to know the peak of one call.
#![allow(unsafe_code, reason = "an allocator is unsafe by nature; this one only counts")]

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering};

use mimalloc::MiMalloc;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The allocator of the command, with two counters.
pub(crate) struct Counting;

fn grown(by: usize) {
    let now = NOW.fetch_add(by, Ordering::Relaxed) + by;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: every call is passed on to mimalloc unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { MiMalloc.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        grown(new_size);
        unsafe { MiMalloc.realloc(ptr, layout, new_size) }
    }
}

/// Bytes allocated now.
pub(crate) fn now() -> usize {
    NOW.load(Ordering::Relaxed)
}

/// Starts a new peak.
pub(crate) fn reset_peak() {
    PEAK.store(now(), Ordering::Relaxed);
}

/// The most bytes allocated at once since the last reset.
pub(crate) fn peak() -> usize {
    PEAK.load(Ordering::Relaxed)
}

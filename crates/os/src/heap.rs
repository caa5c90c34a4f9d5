//! What the allocator keeps for later use, and what it gives back to the system.

/// Blocks of this many bytes and more go back to the system when they are let go. Untold, glibc
/// raises its own 128 KiB to the largest block that was ever let go, up to 32 MiB, and then
/// keeps parts of uploads (8 MiB) in the heap of each thread that made one.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 4 << 20;
/// Heaps. glibc makes eight for each processor, and each keeps what its busiest moment took.
#[cfg(target_env = "gnu")]
const HEAPS: libc::c_int = 4;

/// Has a process of many threads, which lives long, keep little that it does not use. Source:
/// mallopt(3).
pub fn limit_heap_retention() {
    // SAFETY: it sets numbers of the allocator, and no other thread runs yet.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_ARENA_MAX, HEAPS);
    }
}

/// Gives memory back to the system that was let go.
pub fn return_free_memory() {
    // SAFETY: it touches nothing that is in use.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

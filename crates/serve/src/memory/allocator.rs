//! What the process's allocator keeps of the memory that large messages needed.

/// Blocks from this size on are given back to the system as soon as they are free. Smaller ones, such
/// as messages of 64 KiB, stay, since pages of the system's cost more than what is done with them.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const GIVEN_BACK_BYTES: libc::c_int = 1 << 20;

/// Has large blocks given back to the system once they are free, in the whole process.
///
/// glibc by itself raises its threshold with the largest block that was ever freed, up to 32 MiB, and
/// then keeps such blocks in an arena of each thread: 100 responses of 14 MiB left 700 MiB behind.
/// Where the environment says what the allocator is to do, that holds. Other allocators keep what they
/// like.
pub(crate) fn give_back_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let chosen = |name: &str| std::env::var_os(name).is_some();
        if chosen("MALLOC_MMAP_THRESHOLD_") || chosen("GLIBC_TUNABLES") {
            return;
        }
        // The second is what glibc sets with the first where it chooses itself.
        set(libc::M_MMAP_THRESHOLD, GIVEN_BACK_BYTES);
        set(libc::M_TRIM_THRESHOLD, 2 * GIVEN_BACK_BYTES);
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "there is no other way to tell the allocator")]
fn set(parameter: libc::c_int, value: libc::c_int) {
    // SAFETY: mallopt(3) takes two numbers and may be called at any time, from any thread. A value that
    // it refuses leaves everything as it was.
    let _ = unsafe { libc::mallopt(parameter, value) };
}

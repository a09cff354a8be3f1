//! Identifiers that nobody guesses.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// 24 characters that were not there before: the hashes of a counter under keys
/// that the system chose.
pub fn secret() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    let hash = || RandomState::new().hash_one(count);
    format!("{:016x}{:08x}", hash(), hash() as u32)
}

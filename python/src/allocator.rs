//! The allocator of the command, for the same reason: the first touch of small pages takes longer than the work on their numbers.
//! What Python itself allocates, and what is in tables of other libraries, is not its business.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// As in `src/main.rs`; but a program that imports us lives on, so that a thread gives back within seconds what a call has
/// freed. Calls that follow each other sooner find it still there: 304k + 304k rows at σ = 1° take 1,300 page faults instead of
/// 15,000, and a seventh less of the processor (2026-11-18).
#[allow(unsafe_code, reason = "the allocator reads its settings from a symbol of this name")]
#[unsafe(export_name = "_rjem_malloc_conf")]
pub(crate) static ALLOCATOR_SETTINGS: &[u8; 102] =
    b"thp:always,narenas:4,oversize_threshold:0,background_thread:true,dirty_decay_ms:5000,muzzy_decay_ms:0\0";

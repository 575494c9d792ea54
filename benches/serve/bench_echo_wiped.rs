//! The server of `bench_echo` with an allocator that wipes freed memory, to measure its cost.

use std::error::Error;

use accelflow_serve::{WIPING_ALLOCATOR, WipingAllocator};

#[path = "bench_echo.rs"]
mod bench_echo;

#[global_allocator]
static MEMORY: WipingAllocator = WIPING_ALLOCATOR;

fn main() -> Result<(), Box<dyn Error>> {
    bench_echo::main()
}

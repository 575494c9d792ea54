//! As `bench_echo`, with memory that is wiped when it is freed: what that costs.

use std::error::Error;

use accelflow_serve::{WIPING_ALLOCATOR, WipingAllocator};

#[path = "bench_echo.rs"]
mod bench_echo;

#[global_allocator]
static MEMORY: WipingAllocator = WIPING_ALLOCATOR;

fn main() -> Result<(), Box<dyn Error>> {
    bench_echo::main()
}

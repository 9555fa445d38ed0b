//! Pairs per second that the direct tile of the `exact` engine sums on one core, for each instruction set, compared with the
//! peak of the core.
//!
//! ```sh
//! cargo bench --bench tile
//! ```
//!
//! Each instruction set is measured in its own process, since a process chooses it once (`GEOSMOOTH_SIMD`). The limit is
//! measured, too: the rate of fused multiply-adds on independent registers (for `plain`, two instructions on two numbers per
//! cycle), divided by the operations of one pair. Integer instructions, comparisons, loads and stores are not included in the
//! limit: on other ports they cost nothing, on the same ports they keep the tile below the limit.

use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use geosmooth::engine::EngineKind;
use geosmooth::{Places, Sigma, Smoother};
use pulp::{Arch, Simd, WithSimd};

/// The number of targets, and of sources.
const ROWS: usize = 16_384;
const RUNS: usize = 7;

/// Floating-point operations for one pair in the plane with one column of values: two differences, a square, a fused square,
/// the scale and the shift; the power of two with three sums, a square and eleven steps of its polynomial; mass and value.
const FUSED: u32 = 1 + 11 + 2;
const UNFUSED: u32 = 2 + 1 + 2 + 3 + 1;
/// Operations per cycle without AVX: two instructions on two numbers each, from the design of current cores, not measured.
const PLAIN_PER_CYCLE: f64 = 4.0;

fn main() {
    if let Some(name) = std::env::args().nth(1).filter(|name| !name.starts_with('-')) {
        return measure(&name);
    }
    println!(
        "| instruction set | clock | operations a cycle | operations a pair | G pairs/s | limit | part of the limit |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for name in ["avx512", "avx2", "plain"] {
        let this = std::env::current_exe().expect("this benchmark has a file");
        let run = Command::new(this).arg(name).env("GEOSMOOTH_SIMD", name).output().expect("it runs");
        print!("{}", String::from_utf8_lossy(&run.stdout));
    }
}

/// Prints one line of the table, if this CPU has the instruction set.
fn measure(name: &str) {
    let Some(arch) = arch(name) else { return };
    let plain = matches!(arch, Arch::Scalar);
    let (clock, pairs) = (clock(), pairs_per_second());
    let peak = if plain { PLAIN_PER_CYCLE * clock } else { arch.dispatch(Peak) };
    // Without fused multiply-add, it takes two operations.
    let operations = if plain { UNFUSED + 2 * FUSED } else { UNFUSED + FUSED };
    let limit = peak / f64::from(operations);
    println!(
        "| {name} | {:.2} GHz | {:.1} | {operations} | {:.2} | {:.2} | {:.0} % |",
        clock / 1e9,
        peak / clock,
        pairs / 1e9,
        limit / 1e9,
        100.0 * pairs / limit
    );
}

fn arch(name: &str) -> Option<Arch> {
    match name {
        "plain" => Some(Arch::Scalar),
        #[cfg(target_arch = "x86_64")]
        "avx2" => pulp::x86::V3::try_new().map(Arch::V3),
        #[cfg(target_arch = "x86_64")]
        "avx512" => pulp::x86::V4::try_new().map(Arch::V4),
        _ => None,
    }
}

/// The shortest of several runs, in seconds.
fn fastest(mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..RUNS).map(time).fold(f64::INFINITY, f64::min)
}

/// Cycles per second: a dependent exclusive-or and integer multiplication take four cycles on current x86 CPUs. The compiler
/// would combine multiplications alone.
fn clock() -> f64 {
    const CHAIN: u32 = 30_000_000;
    let seconds = fastest(|| {
        black_box(
            (0..CHAIN).fold(black_box(3_u64), |x, step| (x ^ u64::from(step)).wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        );
    });
    4.0 * f64::from(CHAIN) / seconds
}

/// The rate for all pairs of places, all within reach of each other, on one thread. The layout takes a thousandth of the time.
fn pairs_per_second() -> f64 {
    let axis = |factor: f64| (0..ROWS).map(|i| (i as f64 * factor).fract()).collect::<Vec<f64>>();
    let places = Places::index(vec![axis(0.754_877_666), axis(0.569_840_291)]).expect("finite places");
    let smoother =
        Smoother::new(Sigma::index(0.3).expect("positive"), 1.0).expect("a valid c").engine(EngineKind::Exact);
    let values = axis(0.324_717_957);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    let seconds = pool.install(|| {
        let plan = smoother.plan(&places, None).expect("no memory is needed");
        fastest(|| {
            black_box(plan.apply(&[&values], None).expect("finite values"));
        })
    });
    (ROWS * ROWS) as f64 / seconds
}

/// The rate of floating-point multiply-adds per second, in independent registers.
struct Peak;

impl WithSimd for Peak {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        const ROUNDS: usize = 4_000_000;
        /// Latency times instructions per cycle (4 · 2), and four to spare.
        const REGISTERS: usize = 12;
        let (factor, term) = (simd.splat_f64s(black_box(0.5)), simd.splat_f64s(black_box(1.0)));
        let mut sums = [term; REGISTERS];
        let mut seconds = f64::INFINITY;
        // Not in a closure, which would not be compiled for the instruction set.
        for _ in 0..RUNS {
            let start = Instant::now();
            for _ in 0..ROUNDS {
                for sum in &mut sums {
                    *sum = simd.mul_add_e_f64s(factor, *sum, term);
                }
            }
            let mut total = 0.0;
            for sum in sums {
                total += simd.reduce_sum_f64s(sum);
            }
            black_box(total);
            seconds = seconds.min(start.elapsed().as_secs_f64());
        }
        (S::F64_LANES * REGISTERS * ROUNDS) as f64 / seconds
    }
}

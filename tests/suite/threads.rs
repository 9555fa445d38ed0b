//! The same bits for any number of threads.

use geosmooth::engine::EngineKind;

use crate::problem::{Problem, Shape, Space, for_each_engine, smoother};

for_each_engine!(any_number_of_threads_gives_the_same_bits);

fn any_number_of_threads_gives_the_same_bits(engine: EngineKind) {
    let problem = Problem::new(Shape::Towns, Space::Metres, 5000, 77);
    let smoother = smoother(Space::Metres.sigma(0.01), 0.6);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| problem.smooth(&smoother, engine))
    };
    let one = run(1);
    for threads in [2, 3, 8] {
        let many = run(threads);
        let bits = |values: &[Option<f64>]| values.iter().map(|value| value.unwrap().to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&one.values), bits(&many.values), "{threads} threads");
        assert_eq!(one.error_bound, many.error_bound, "{threads} threads");
    }
}

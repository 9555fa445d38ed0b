use geosmooth::{engine::EngineKind, io::*, *};
use std::{path::Path, time::Instant};
fn main() -> Result<(), Error> {
    let a: Vec<String> = std::env::args().collect();
    let d = &a[1];
    let sigma: Sigma = a[2].parse()?;
    let kind: EngineKind = a[3].parse()?;
    let load = |f: &str, v: &str| -> Result<(Places, Vec<f64>), Error> {
        let i = Input::open(Path::new(&format!("{d}/{f}.parquet")))?;
        let mut n = i.numbers(&["latitude", "longitude", v])?;
        let v = n.pop().unwrap().values;
        let lon = n.pop().unwrap().values;
        let lat = n.pop().unwrap().values;
        Ok((Places::lat_lon(lat, lon)?, v))
    };
    let (te, p) = load("test", "predicted")?;
    let (tr, y) = load("train", "price")?;
    for _ in 0..a.get(4).map_or(1, |n| n.parse().unwrap()) {
        let t = Instant::now();
        let plan = Smoother::new(sigma, 1.0)?.engine(kind).plan(&te, Some(&tr))?;
        let t1 = t.elapsed();
        let s = plan.apply(&[&p], Some(&y))?;
        let t2 = t.elapsed();
        let worst = s[0].error_bound.iter().cloned().fold(0.0, f64::max) / s[0].range;
        println!(
            "plan {t1:?} total {t2:?} nnz {:?} worst {worst:.2e} {:?}",
            plan.matrix().map(|m| m.nonzeros()),
            s[0].values[5]
        );
    }
    Ok(())
}

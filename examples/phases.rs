use geosmooth::{*, engine::*, io::*, scene::*};
use std::{path::Path, time::Instant, sync::Arc};
fn main() -> Result<(), Error> {
    let a: Vec<String> = std::env::args().collect();
    let d = &a[1];
    let sigma: Sigma = a[2].parse()?;
    let load = |f: &str, v: &str| -> Result<(Places, Vec<f64>), Error> {
        let i = Input::open(Path::new(&format!("{d}/{f}.parquet")))?;
        let mut n = i.numbers(&["latitude", "longitude", v])?;
        let v = n.pop().unwrap().values; let lon = n.pop().unwrap().values; let lat = n.pop().unwrap().values;
        Ok((Places::lat_lon(lat, lon)?, v))
    };
    let (te, p) = load("test", "predicted")?;
    let (tr, y) = load("train", "price")?;
    for _ in 0..4 {
    let t = Instant::now();
    let scene = Arc::new(Scene::new(sigma, &te, &[(&te, 1.0), (&tr, 1.0)], Own::Counts)?);
    let t0 = t.elapsed();
    let survey = Sparse { truncation: Truncation::Tolerance(1e-6), memory_limit: None }.survey(scene.clone());
    let t1 = t.elapsed();
    let plan = survey.plan(&())?;
    let t2 = t.elapsed();
    let g = scene.gather(&[&p, &y]);
    let t3 = t.elapsed();
    let s = plan.sums(&[g], &());
    let t4 = t.elapsed();
    println!("scene {t0:?} survey {:?} build {:?} gather {:?} sums {:?} total {t4:?} {}", t1-t0, t2-t1, t3-t2, t4-t3, s.mass[0]);
    }
    Ok(())
}

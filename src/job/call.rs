//! The subcommands for programs: the same options under the same names, tables from memory or files, and what comes out is
//! returned rather than printed. The Python package is written on this.

use std::ffi::OsString;

use clap::{Arg, ArgMatches, Command};

use super::caller::{Caller, Opened};
pub use super::caller::{Listener, Memory};
pub use super::compare::Compared;
pub use super::diagnose::Diagnosed;
use super::options::RunArgs;
pub use super::options::Told;
pub use super::pages::{EngineErrors, ShownRows, Surface};
pub use super::smooth::Smoothing;
pub use super::tune::Tuning;
pub use super::weights::Weights;
use super::{compare, diagnose, machine, methods, smooth, tune, weights};
use crate::cli::terminal;
use crate::error::Error;
use crate::space::Sigma;

/// A request: the arguments of a subcommand, the inputs that they name and the disk does not hold, and who hears of the work.
pub struct Call<'a> {
    /// As on the command line, after the name of the subcommand.
    pub arguments: Vec<OsString>,
    /// Inputs by the names that the arguments give them.
    pub memory: &'a Memory,
    /// Hears of phases and warnings.
    pub listener: &'a dyn Listener,
}

impl Call<'_> {
    /// `geosmooth smooth`. The output may be left out where the rows to predict are in memory.
    ///
    /// # Errors
    /// As the command line reports them.
    pub fn smooth(&self) -> Result<Smoothing, Error> {
        let args: smooth::Args =
            self.parse(|command| command.mut_arg("output", |output: Arg| output.required(false)))?;
        self.work(&args.running, |caller| smooth::perform(&args, caller))
    }

    /// `geosmooth tune`, and scores over σ and c around the best if they are wanted.
    ///
    /// # Errors
    /// As the command line reports them.
    pub fn tune(&self, surface: bool) -> Result<Tuning, Error> {
        let args: tune::Args = self.parse(|command| command)?;
        self.work(&args.running, |caller| tune::perform(&args, &Caller { surface, ..*caller }))
    }

    /// `geosmooth compare`.
    ///
    /// # Errors
    /// As the command line reports them.
    pub fn compare(&self) -> Result<Compared, Error> {
        let args: compare::Args = self.parse(|command| command)?;
        self.work(&args.running, |caller| compare::perform(&args, caller))
    }

    /// `geosmooth diagnose`.
    ///
    /// # Errors
    /// As the command line reports them.
    pub fn diagnose(&self) -> Result<Diagnosed, Error> {
        let args: diagnose::Args = self.parse(|command| command)?;
        self.work(&args.running, |caller| diagnose::perform(&args, caller))
    }

    /// `geosmooth methods`.
    ///
    /// # Errors
    /// As the command line reports them.
    pub fn methods(&self) -> Result<Told, Error> {
        let args: methods::Args = self.parse(|command| command)?;
        self.work(&args.running, |caller| methods::perform(&args, caller))
    }

    /// The weight matrix that `geosmooth smooth --engine sparse --matrix` writes, from places alone.
    ///
    /// # Errors
    /// As the command line reports them.
    pub fn weights(&self) -> Result<Weights, Error> {
        let args: weights::Args = self.parse(|command| command)?;
        self.work(&args.running, |caller| weights::perform(&args, caller))
    }

    fn parse<A: clap::Args>(&self, adapt: impl FnOnce(Command) -> Command) -> Result<A, Error> {
        let command = adapt(A::augment_args(Command::new("geosmooth").no_binary_name(true)));
        let parse = |matches: ArgMatches| A::from_arg_matches(&matches);
        command.try_get_matches_from(&self.arguments).and_then(parse).map_err(|error| terminal::usage(&error))
    }

    fn work<T: Send>(
        &self,
        running: &RunArgs,
        work: impl FnOnce(&Caller) -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        let budget = &running.budget();
        let opened = &Opened::default();
        let caller = Caller { memory: self.memory, listener: self.listener, budget, opened, surface: false };
        running.in_threads(|| work(&caller))
    }
}

/// Does work in threads of its own: as many as asked for, or one for each core.
///
/// # Errors
/// Those of the work, or if the threads cannot be started.
pub fn in_threads<T: Send>(count: Option<usize>, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    machine::threads(count)?.install(work)
}

/// A number of bytes as a user writes it: `2GiB`, `500MB`, `1e9`.
///
/// # Errors
/// If it is not a positive number with a unit that we know.
pub fn bytes_of(text: &str) -> Result<u64, Error> {
    let wrong = |_| Error::Parameter { name: "memory", value: format!("'{text}'"), expected: "such as 2GiB or 500MB" };
    text.parse().map(|machine::Bytes(bytes)| bytes).map_err(wrong)
}

/// Refuses several σ, as people write them, of which some measure distance in another way than the first.
///
/// # Errors
/// If there are such, or one is none.
pub fn check_kinds(sigmas: &[String]) -> Result<(), Error> {
    crate::tune::check_kinds(&sigmas.iter().map(|sigma| sigma.parse()).collect::<Result<Vec<Sigma>, Error>>()?)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use arrow::array::{ArrayRef, Float64Array, RecordBatch};

    use super::*;
    use crate::engine::Progress;
    use crate::io::ArrowTable;

    #[derive(Default)]
    struct Heard {
        phases: Mutex<Vec<&'static str>>,
    }

    impl Listener for Heard {
        fn phase(&self, name: &'static str) -> Box<dyn Progress + '_> {
            self.phases.lock().unwrap().push(name);
            Box::new(())
        }

        fn warn(&self, _: &str) {}
    }

    fn memory() -> Memory {
        let column = |values: [f64; 3]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
        let columns = [("lat", [41.65, 41.66, 41.67]), ("lon", [-83.54; 3]), ("model", [1.0, 5.0, 3.0])];
        let batch = RecordBatch::try_from_iter(columns.map(|(name, values)| (name, column(values)))).unwrap();
        let table = ArrowTable { schema: batch.schema(), batches: vec![batch.slice(0, 2), batch.slice(2, 1)] };
        Memory { tables: [("<test>".into(), table)].into(), ..Memory::default() }
    }

    fn arguments(words: &str) -> Vec<OsString> {
        words.split_whitespace().map(OsString::from).collect()
    }

    fn smooth(words: &str) -> (Result<Smoothing, Error>, Vec<&'static str>) {
        let heard = Heard::default();
        let done = Call { arguments: arguments(words), memory: &memory(), listener: &heard }.smooth();
        (done, heard.phases.into_inner().unwrap())
    }

    #[test]
    fn tables_in_memory_are_smoothed() {
        let (smoothing, phases) = smooth("--test <test> --prediction model --sigma 500m --c 0.5");
        let smoothing = smoothing.unwrap();
        assert_eq!(phases, ["read", "plan", "apply", "write"]);
        assert_eq!(smoothing.columns[0].name, "model_smoothed");
        let values: Vec<f64> = smoothing.columns[0].values.iter().flatten().copied().collect();
        assert!(values.len() == 3 && values[0] > 1.0 && values[1] < 5.0, "{values:?}");
        assert!(smoothing.told.json.contains("\"test\":3"));
    }

    #[test]
    fn requests_are_refused_as_on_the_command_line() {
        let refused = |words: &str| smooth(words).0.unwrap_err().to_string();
        assert!(refused("--test <test> --predicton model").contains("unexpected argument '--predicton'"));
        assert!(refused("--test <test> --prediction modle --sigma 1m --c 1").contains("column 'modle' does not exist"));
        assert!(refused("--test <test> --prediction model --sigma 1m --c 2").contains("c is 2"));
        assert!(refused("--test some.parquet --prediction model --sigma 1m --c 1").contains("some.parquet"));
        let output = refused("--test <test> --prediction model --sigma 1m --c 1 -o out.parquet");
        assert!(output.contains("a table in memory"), "{output}");
    }

    #[test]
    fn weights_are_those_of_rows() {
        let call =
            Call { arguments: arguments("--test <test> --sigma 500m"), memory: &memory(), listener: &Heard::default() };
        let weights = call.weights().unwrap();
        assert_eq!((weights.rows, weights.columns), (3, 3));
        let entries = weights.batches[0].rows.iter().zip(&weights.batches[0].weights);
        let first: f64 = entries.filter(|(row, _)| **row == 0).map(|(_, weight)| weight).sum();
        assert!((first - 1.0).abs() < 1e-12);
    }
}

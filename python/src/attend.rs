//! Runs work in a thread of its own. Meanwhile Python's thread lets others run, answers Ctrl-C and reports progress.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use geosmooth::engine::Progress;
use geosmooth::job::Listener;
use geosmooth::{Error, Face};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors::exception;

/// How often the waiting thread looks: often enough that Ctrl-C and a progress bar feel immediate.
const LOOK: Duration = Duration::from_millis(50);
/// How long to wait for work that was asked to stop. It stops at its next step; if that takes longer, it goes on unattended.
const PATIENCE: Duration = Duration::from_millis(500);

/// Progress and warnings of the work, for the thread that waits.
#[derive(Default)]
pub(crate) struct Desk {
    stop: AtomicBool,
    phase: Mutex<Option<&'static str>>,
    done: AtomicU64,
    total: AtomicU64,
    warnings: Mutex<Vec<String>>,
}

/// Unwinds through work that is to stop.
struct Stopped;

impl Desk {
    fn check(&self) {
        if self.stop.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Stopped));
        }
    }

    fn state(&self) -> Option<(&'static str, u64, u64)> {
        let phase = *self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        phase.map(|name| (name, self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed)))
    }
}

impl Listener for Desk {
    fn phase(&self, name: &'static str) -> Box<dyn Progress + '_> {
        self.check();
        self.done.store(0, Ordering::Relaxed);
        self.total.store(0, Ordering::Relaxed);
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = Some(name);
        Box::new(Steps(self))
    }

    fn warn(&self, message: &str) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(message.to_owned());
    }

    fn face(&self) -> Face {
        Face::Python
    }
}

/// The steps of one phase.
struct Steps<'a>(&'a Desk);

impl Progress for Steps<'_> {
    fn start(&self, total: u64) {
        self.0.check();
        self.0.total.store(total, Ordering::Relaxed);
    }

    fn advance(&self, steps: u64) {
        self.0.done.fetch_add(steps, Ordering::Relaxed);
        self.0.check();
    }
}

type Outcome<T> = Result<Result<T, Error>, Box<dyn Any + Send>>;

/// Does the work and gives what came of it, with the warnings. `progress` is called with phase, steps done and steps in all.
pub(crate) fn attend<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Desk) -> Result<T, Error> + Send + 'static,
) -> PyResult<(T, Vec<String>)> {
    let desk = Arc::new(Desk::default());
    let (sender, mut receiver) = channel();
    let worker = {
        let desk = desk.clone();
        // The receiver may be gone: then the outcome is not needed.
        move || drop(sender.send(catch_unwind(AssertUnwindSafe(|| work(&desk)))))
    };
    thread::Builder::new().name("geosmooth".to_owned()).spawn(worker)?;
    let outcome = wait(py, &desk, &mut receiver, progress)?;
    let done = outcome.map_err(|panic| internal(panic.as_ref()))?.map_err(|error| exception(&error))?;
    let warnings = std::mem::take(&mut *desk.warnings.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((done, warnings))
}

fn wait<T: Send>(
    py: Python<'_>,
    desk: &Desk,
    receiver: &mut Receiver<Outcome<T>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Outcome<T>> {
    let mut reported = None;
    loop {
        let received = next(py, receiver, LOOK);
        let state = desk.state();
        let report = progress.zip(state).filter(|_| reported != state);
        reported = state;
        let looked = py.check_signals().and_then(|()| match report {
            Some((progress, state)) => progress.call1(state).map(drop),
            None => Ok(()),
        });
        match (received, looked) {
            (Ok(outcome), Ok(())) => return Ok(outcome),
            (Err(RecvTimeoutError::Timeout), Ok(())) => {}
            (Err(RecvTimeoutError::Disconnected), Ok(())) => return Err(PyRuntimeError::new_err("the work was lost")),
            (received, Err(raised)) => {
                desk.stop.store(true, Ordering::Relaxed);
                if received.is_err() {
                    drop(next(py, receiver, PATIENCE));
                }
                return Err(raised);
            }
        }
    }
}

/// What comes out of the work within some time, while other threads of Python run.
fn next<T: Send>(
    py: Python<'_>,
    receiver: &mut Receiver<Outcome<T>>,
    patience: Duration,
) -> Result<Outcome<T>, RecvTimeoutError> {
    py.detach(move || receiver.recv_timeout(patience))
}

fn internal(panic: &(dyn Any + Send)) -> PyErr {
    let known = panic.downcast_ref::<String>().cloned();
    let message = known.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    let message = message.unwrap_or_else(|| "unknown".to_owned());
    PyRuntimeError::new_err(format!("internal error: {message}\nhint: this is a bug in geosmooth; please report it"))
}

//! Preconditioned conjugate gradients for several symmetric positive definite systems at once. They share passes of kernel
//! sums; each system is one column.
//!
//! Convergence is checked with the true residual, computed again at the end. The residual of the recurrence is not enough,
//! because the sums of an engine have a tolerance.

/// Equations `A x = b`, one matrix for each column.
pub(super) trait System: Sync {
    /// Multiplies the matrix of each listed column with its vector.
    fn apply(&self, columns: &[usize], vectors: &[&[f64]]) -> Vec<Vec<f64>>;

    /// Multiplies an approximate inverse of a column's matrix with a vector; the identity by default.
    fn precondition(&self, _column: usize, residual: &[f64]) -> Vec<f64> {
        residual.to_vec()
    }
}

/// A right-hand side, and the tolerance for the residual relative to it.
pub(super) struct Right {
    pub(super) values: Vec<f64>,
    pub(super) tolerance: f64,
}

/// If a restart does not at least halve the residual, the accuracy of the sums is exhausted. Chosen, not measured.
const PROGRESS: f64 = 0.5;

/// Solves all systems; `None` for those that do not converge within this many passes.
pub(super) fn solve(system: &dyn System, right: &[Right], passes: usize) -> Vec<Option<Vec<f64>>> {
    let mut columns: Vec<Column> = right.iter().map(Column::new).collect();
    for (at, column) in columns.iter_mut().enumerate() {
        column.restart(column.right.values.clone(), &|residual| system.precondition(at, residual));
    }
    for _ in 0..passes {
        let active: Vec<usize> = (0..columns.len()).filter(|&at| columns[at].is_active()).collect();
        if active.is_empty() {
            break;
        }
        let vectors: Vec<&[f64]> = active.iter().map(|&at| columns[at].factor()).collect();
        let products = system.apply(&active, &vectors);
        for (&at, product) in active.iter().zip(&products) {
            columns[at].advance(product, &|residual| system.precondition(at, residual));
        }
    }
    columns.into_iter().map(|column| (column.state == State::Solved).then_some(column.solution)).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Takes steps along conjugate directions.
    Searching,
    /// The residual of the recurrence is small enough; the true one is computed next.
    Checking,
    Solved,
    Stuck,
}

struct Column<'a> {
    right: &'a Right,
    /// The norm that the residual must reach.
    goal: f64,
    state: State,
    solution: Vec<f64>,
    residual: Vec<f64>,
    direction: Vec<f64>,
    /// The residual times the preconditioned residual.
    slope: f64,
    /// The norm of the residual at the last restart.
    checked: f64,
}

type Precondition<'a> = &'a dyn Fn(&[f64]) -> Vec<f64>;

impl<'a> Column<'a> {
    fn new(right: &'a Right) -> Self {
        Self {
            right,
            goal: right.tolerance * length(&right.values),
            state: State::Searching,
            solution: vec![0.0; right.values.len()],
            residual: Vec::new(),
            direction: Vec::new(),
            slope: 0.0,
            checked: f64::INFINITY,
        }
    }

    fn is_active(&self) -> bool {
        matches!(self.state, State::Searching | State::Checking)
    }

    /// The vector to multiply next.
    fn factor(&self) -> &[f64] {
        if self.state == State::Checking { &self.solution } else { &self.direction }
    }

    /// Uses the product of the matrix with [`factor`](Self::factor).
    fn advance(&mut self, product: &[f64], precondition: Precondition) {
        if self.state == State::Checking {
            let residual = self.right.values.iter().zip(product).map(|(right, left)| right - left).collect();
            self.restart(residual, precondition);
        } else {
            self.step(product, precondition);
        }
    }

    /// Restarts from a true residual.
    fn restart(&mut self, residual: Vec<f64>, precondition: Precondition) {
        let size = length(&residual);
        self.state = if size <= self.goal {
            State::Solved
        } else if size <= PROGRESS * self.checked {
            State::Searching
        } else {
            State::Stuck
        };
        self.checked = size;
        self.direction = precondition(&residual);
        self.slope = dot(&residual, &self.direction);
        self.residual = residual;
    }

    fn step(&mut self, product: &[f64], precondition: Precondition) {
        let curvature = dot(&self.direction, product);
        // Not positive: rounding errors of the matrix or the preconditioner dominate.
        if !(curvature > 0.0 && self.slope > 0.0) {
            self.state = State::Checking;
            return;
        }
        let stride = self.slope / curvature;
        add(&mut self.solution, stride, &self.direction);
        add(&mut self.residual, -stride, product);
        if length(&self.residual) <= self.goal {
            self.state = State::Checking;
            return;
        }
        let next = precondition(&self.residual);
        let slope = dot(&self.residual, &next);
        let turn = slope / self.slope;
        self.direction.iter_mut().zip(&next).for_each(|(direction, next)| *direction = next + turn * *direction);
        self.slope = slope;
    }
}

/// The scalar product, in eight lanes, so that additions of different lanes do not wait for each other.
pub(super) fn dot(left: &[f64], right: &[f64]) -> f64 {
    let ((left, left_rest), (right, right_rest)) = (left.as_chunks::<8>(), right.as_chunks::<8>());
    let mut lanes = [0.0; 8];
    for (left, right) in left.iter().zip(right) {
        for lane in 0..8 {
            lanes[lane] += left[lane] * right[lane];
        }
    }
    let rest: f64 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    lanes.iter().sum::<f64>() + rest
}

fn length(values: &[f64]) -> f64 {
    dot(values, values).sqrt()
}

/// Adds `factor · others` to `values`.
pub(super) fn add(values: &mut [f64], factor: f64, others: &[f64]) {
    values.iter_mut().zip(others).for_each(|(value, other)| *value += factor * other);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Second differences along a row of values, with a different diagonal for each column.
    struct Chain {
        diagonals: Vec<f64>,
    }

    impl System for Chain {
        fn apply(&self, columns: &[usize], vectors: &[&[f64]]) -> Vec<Vec<f64>> {
            let products = columns.iter().zip(vectors).map(|(&column, vector)| {
                let before = std::iter::once(&0.0).chain(*vector);
                let after = vector[1..].iter().chain([&0.0]);
                let rows = vector.iter().zip(before).zip(after);
                rows.map(|((here, before), after)| self.diagonals[column] * here - before - after).collect()
            });
            products.collect()
        }
    }

    const ROWS: usize = 200;

    fn solved(diagonals: &[f64], tolerance: f64, passes: usize) -> Vec<Option<Vec<f64>>> {
        let values: Vec<f64> = (0..ROWS).map(|row| (row as f64).sin()).collect();
        let right: Vec<Right> = diagonals.iter().map(|_| Right { values: values.clone(), tolerance }).collect();
        solve(&Chain { diagonals: diagonals.to_vec() }, &right, passes)
    }

    #[test]
    fn each_column_is_solved() {
        let diagonals = [2.1, 5.0, 40.0];
        let chain = Chain { diagonals: diagonals.to_vec() };
        for (column, solution) in solved(&diagonals, 1e-12, 500).into_iter().enumerate() {
            let product = chain.apply(&[column], &[&solution.unwrap()]).remove(0);
            assert!(product.iter().enumerate().all(|(row, value)| (value - (row as f64).sin()).abs() < 1e-11));
        }
    }

    #[test]
    fn systems_that_do_not_converge_are_none() {
        // A few passes are enough for a large diagonal only; a matrix with a negative one is not positive definite; and a
        // residual of 1e-30 is below what 64-bit numbers can reach.
        for (diagonals, tolerance, passes, expected) in [
            (&[2.001, 40.0][..], 1e-9, 12, &[false, true][..]),
            (&[-5.0, 5.0], 1e-9, 100, &[false, true]),
            (&[2.1], 1e-30, 10_000, &[false]),
        ] {
            let found: Vec<bool> = solved(diagonals, tolerance, passes).iter().map(Option::is_some).collect();
            assert_eq!(found, expected, "{diagonals:?}");
        }
    }

    #[test]
    fn zero_is_the_solution_for_zero() {
        let right = [Right { values: vec![0.0; 4], tolerance: 1e-9 }];
        assert_eq!(solve(&Chain { diagonals: vec![3.0] }, &right, 5), [Some(vec![0.0; 4])]);
    }
}

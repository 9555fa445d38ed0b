//! Conjugate gradients for several symmetric positive systems that share passes of kernel sums: a column each.
//!
//! What counts as converged is the residual itself, computed once more at the end, not the one that the recurrence carries
//! along: sums of an engine are right to a tolerance only.

/// Equations `A x = b`, one matrix for each column.
pub(super) trait System: Sync {
    /// Each listed column's matrix times its vector.
    fn apply(&self, columns: &[usize], vectors: &[&[f64]]) -> Vec<Vec<f64>>;

    /// About the inverse of a column's matrix times a vector.
    fn precondition(&self, _column: usize, residual: &[f64]) -> Vec<f64> {
        residual.to_vec()
    }
}

/// One right-hand side, and how small the residual must become relative to it.
pub(super) struct Right {
    pub(super) values: Vec<f64>,
    pub(super) tolerance: f64,
}

/// A restart that does not at least halve the residual has reached what the sums allow.
const PROGRESS: f64 = 0.5;

/// Solves all systems; `None` for those that do not get there within so many passes.
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
        let vectors: Vec<&[f64]> = active.iter().map(|&at| columns[at].question()).collect();
        let products = system.apply(&active, &vectors);
        for (&at, product) in active.iter().zip(&products) {
            columns[at].hear(product, &|residual| system.precondition(at, residual));
        }
    }
    columns.into_iter().map(|column| (column.state == State::Solved).then_some(column.solution)).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Going along a direction.
    Searching,
    /// The residual seems small enough; it is being computed anew.
    Checking,
    Solved,
    Stuck,
}

struct Column<'a> {
    right: &'a Right,
    /// The length that the residual must get below.
    goal: f64,
    state: State,
    solution: Vec<f64>,
    residual: Vec<f64>,
    direction: Vec<f64>,
    /// Residual times preconditioned residual.
    slope: f64,
    /// The residual at the last restart.
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

    /// What is to be multiplied next.
    fn question(&self) -> &[f64] {
        if self.state == State::Checking { &self.solution } else { &self.direction }
    }

    fn hear(&mut self, product: &[f64], precondition: Precondition) {
        if self.state == State::Checking {
            let residual = self.right.values.iter().zip(product).map(|(right, left)| right - left).collect();
            self.restart(residual, precondition);
        } else {
            self.step(product, precondition);
        }
    }

    /// Begins anew from a true residual.
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
        // Rounding has made the matrix or the preconditioner something that is not positive.
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

/// A product in eight lanes, so that one addition need not wait for another.
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

/// Adds a multiple.
pub(super) fn add(values: &mut [f64], factor: f64, others: &[f64]) {
    values.iter_mut().zip(others).for_each(|(value, other)| *value += factor * other);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Second differences of a row of values, with a diagonal of one's own for each column.
    struct Chain {
        diagonals: Vec<f64>,
    }

    impl System for Chain {
        fn apply(&self, columns: &[usize], vectors: &[&[f64]]) -> Vec<Vec<f64>> {
            let product = |(&column, vector): (&usize, &&[f64])| {
                let at = |row: isize| usize::try_from(row).ok().and_then(|row| vector.get(row)).copied().unwrap_or(0.0);
                let row = |row: isize| self.diagonals[column] * at(row) - at(row - 1) - at(row + 1);
                (0..vector.len() as isize).map(row).collect()
            };
            columns.iter().zip(vectors).map(product).collect()
        }
    }

    const ROWS: usize = 200;

    fn solved(diagonals: &[f64], tolerance: f64, passes: usize) -> Vec<Option<Vec<f64>>> {
        let values: Vec<f64> = (0..ROWS).map(|row| (row as f64).sin()).collect();
        let right: Vec<Right> = diagonals.iter().map(|_| Right { values: values.clone(), tolerance }).collect();
        solve(&Chain { diagonals: diagonals.to_vec() }, &right, passes)
    }

    #[test]
    fn columns_are_solved_each_by_itself() {
        let diagonals = [2.1, 5.0, 40.0];
        let chain = Chain { diagonals: diagonals.to_vec() };
        for (column, solution) in solved(&diagonals, 1e-12, 500).into_iter().enumerate() {
            let product = chain.apply(&[column], &[&solution.unwrap()]).remove(0);
            assert!(product.iter().enumerate().all(|(row, value)| (value - (row as f64).sin()).abs() < 1e-11));
        }
    }

    #[test]
    fn what_is_not_reached_is_none() {
        // Few passes do for a large diagonal only; a negative one has no solution that this could find; and no
        // arithmetic reaches a residual of 1e-30.
        let of = |found: Vec<Option<Vec<f64>>>| found.iter().map(Option::is_some).collect::<Vec<_>>();
        assert_eq!(of(solved(&[2.001, 40.0], 1e-9, 12)), [false, true]);
        assert_eq!(of(solved(&[-5.0, 5.0], 1e-9, 100)), [false, true]);
        assert_eq!(of(solved(&[2.1], 1e-30, 10_000)), [false]);
    }

    #[test]
    fn nothing_is_the_solution_of_nothing() {
        let right = [Right { values: vec![0.0; 4], tolerance: 1e-9 }];
        assert_eq!(solve(&Chain { diagonals: vec![3.0] }, &right, 5), [Some(vec![0.0; 4])]);
    }
}

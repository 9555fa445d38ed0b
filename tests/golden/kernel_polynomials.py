"""Where the polynomial coefficients in src/kernel.rs come from.

Prints the tables EXP2, ARC_NEAR and ARC_HALF: polynomials p with p(0) = 1 that minimise the largest relative
error |p(x)/f(x) - 1| on an interval, found by Remez exchange in 60 digits. Two errors are printed: that of the
polynomial, and that of the same polynomial with its coefficients rounded to 64-bit floats, as the kernel has them.
Needs mpmath; takes some seconds.

    python tests/golden/kernel_polynomials.py
"""

import mpmath as mp

mp.mp.dps = 60

GRID = 4000  # places where the error is looked at between two exchanges
LEVEL = 1.001  # the extrema are taken as equal once they agree this well
EXCHANGES = 30


def exp2(x):
    return mp.mpf(2) ** x


def arc(m):
    """arcsin(sqrt(m))^2 / m, the square of half the angle over its haversine."""
    return mp.mpf(1) if m == 0 else mp.asin(mp.sqrt(m)) ** 2 / m


def relative_errors(coefficients, f, places):
    return [mp.polyval(coefficients[::-1], x) / f(x) - 1 for x in places]


def largest(errors):
    return max(abs(error) for error in errors)


def grid(low, high):
    return [low + (high - low) * mp.mpf(i) / GRID for i in range(GRID + 1)]


def levelled(f, nodes):
    """The polynomial with p(0) = 1 whose relative error alternates with one magnitude over the nodes."""
    degree = len(nodes) - 1
    system, right = mp.matrix(degree + 1, degree + 1), mp.matrix(degree + 1, 1)
    for i, x in enumerate(nodes):
        for k in range(1, degree + 1):
            system[i, k - 1] = x**k / f(x)
        system[i, degree] = (-1) ** i
        right[i] = (f(x) - 1) / f(x)
    return [mp.mpf(1), *mp.lu_solve(system, right)[:degree]]


def alternating_extrema(errors, wanted):
    """Positions of the largest local extrema whose signs alternate, trimmed at the ends to those wanted."""
    found = []
    for i, error in enumerate(errors):
        neighbours = errors[max(i - 1, 0) : i] + errors[i + 1 : i + 2]
        if error == 0 or any(abs(error) < abs(other) for other in neighbours):
            continue
        if found and mp.sign(errors[found[-1]]) == mp.sign(error):
            if abs(error) > abs(errors[found[-1]]):
                found[-1] = i
        else:
            found.append(i)
    while len(found) > wanted:
        found.pop(0 if abs(errors[found[0]]) < abs(errors[found[-1]]) else -1)
    return found


def fit(f, low, high, degree):
    """Coefficients in ascending order."""
    wanted = degree + 1
    middle, half = (low + high) / 2, (high - low) / 2
    nodes = [middle - half * mp.cos(mp.pi * (2 * i + 1) / (2 * wanted)) for i in range(wanted)]
    places = grid(low, high)
    for _ in range(EXCHANGES):
        coefficients = levelled(f, nodes)
        errors = relative_errors(coefficients, f, places)
        extrema = alternating_extrema(errors, wanted)
        if len(extrema) < wanted or largest(errors) < LEVEL * min(abs(errors[i]) for i in extrema):
            break
        nodes = [places[i] for i in extrema]
    return coefficients


def show(name, what, f, low, high, degree):
    exact = fit(f, mp.mpf(low), mp.mpf(high), degree)
    rounded = [float(coefficient) for coefficient in exact]
    places = grid(mp.mpf(low), mp.mpf(high))
    error, rounded_error = (mp.nstr(largest(relative_errors(c, f, places)), 2) for c in (exact, rounded))
    print(f"{name}: {what}, degree {degree} on [{low}, {high}]")
    print(f"max relative error {error}, {rounded_error} with rounded coefficients")
    for coefficient in rounded:
        print(f"    {coefficient!r},")


if __name__ == "__main__":
    show("EXP2", "2^x", exp2, -0.5, 0.5, 11)
    show("ARC_NEAR", "arcsin(sqrt m)^2 / m", arc, 0, 1 / 32, 7)
    show("ARC_HALF", "arcsin(sqrt m)^2 / m", arc, 0, 0.5, 18)

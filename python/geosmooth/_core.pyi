"""The Rust side; private."""

from typing import Any, TypedDict, type_check_only

import numpy as np
from numpy.typing import NDArray

__all__ = ["__version__", "compare", "diagnose", "kernel_average", "kernel_sums", "methods", "smooth", "tune", "weights"]

__version__: str

@type_check_only
class Request(TypedDict):
    arguments: list[str]
    tables: dict[str, Any]
    texts: dict[str, str]
    progress: Any

@type_check_only
class Settings(TypedDict):
    sigma: str
    engine: str
    tolerance: float
    cutoff: float | None
    threads: int | None

def smooth(request: Request, details: bool) -> dict[str, Any]: ...
def tune(request: Request, surface: bool) -> dict[str, Any]: ...
def compare(request: Request) -> dict[str, Any]: ...
def diagnose(request: Request) -> dict[str, Any]: ...
def methods(request: Request) -> dict[str, Any]: ...
def weights(request: Request) -> dict[str, Any]: ...
def kernel_sums(
    targets: NDArray[np.float64],
    sources: NDArray[np.float64],
    values: NDArray[np.float64],
    settings: Settings,
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]], NDArray[np.float64]]: ...
def kernel_average(
    targets: NDArray[np.float64],
    sources: NDArray[np.float64],
    values: NDArray[np.float64],
    settings: Settings,
) -> NDArray[np.float64]: ...

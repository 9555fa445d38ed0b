"""The Rust side; private."""

from typing import Any, NotRequired, TypedDict, final, type_check_only

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "THE_SAME_EACH_TIME",
    "Blueprint",
    "Census",
    "Checksums",
    "Field",
    "Moments",
    "Partition",
    "__version__",
    "axis",
    "bytes_of",
    "check_kinds",
    "compare",
    "diagnose",
    "group_keys",
    "kernel_average",
    "kernel_sums",
    "methods",
    "smooth",
    "tune",
    "weights",
]

THE_SAME_EACH_TIME: str
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

@type_check_only
class Rows(TypedDict):
    axes: list[NDArray[np.float64]]
    groups: NDArray[np.uint32] | None
    keys: NotRequired[NDArray[np.uint64] | None]
    values: list[NDArray[np.float64]]

@type_check_only
class TileSettings(TypedDict):
    c: float
    label_weight: float
    tolerance: float
    certificate: bool
    memory: int
    threads: int

@final
class Census:
    def __new__(cls, sigma: str, axes: int) -> Census: ...
    def add(self, rows: Rows, labelled: bool) -> None: ...
    def join(self, other: Census) -> None: ...
    @property
    def rows(self) -> tuple[int, int]: ...
    @property
    def checksums(self) -> Checksums: ...
    @property
    def occupied(self) -> int: ...
    @classmethod
    def unpickled(cls, sigma: str, bytes: bytes) -> Census: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Checksums:
    def __new__(cls) -> Checksums: ...
    def add(self, rows: Rows, labelled: bool) -> None: ...
    def join(self, other: Checksums) -> None: ...
    @property
    def sums(self) -> tuple[int, int]: ...
    def with_label_weight(self, weight: float) -> Checksums: ...
    def check(self, counted: Checksums) -> None: ...
    @classmethod
    def unpickled(cls, bytes: bytes) -> Checksums: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Partition:
    def __new__(
        cls, census: Census, label_weight: float, tolerance: float, memory: int, columns: int, certificate: bool
    ) -> Partition: ...
    @staticmethod
    def with_tile_groups(
        census: Census,
        label_weight: float,
        tolerance: float,
        memory: int,
        ranges: list[tuple[float, float]],
        certificate: bool,
    ) -> Partition: ...
    @property
    def tiles(self) -> list[tuple[int, int]]: ...
    @property
    def tile_groups(self) -> list[tuple[int, int]]: ...
    def counted(self, tile_group: int) -> Checksums: ...
    def blueprint(self, tile_group: int) -> Blueprint: ...
    @property
    def multiplications(self) -> float: ...
    @property
    def deals(self) -> bool: ...
    def memberships(
        self, rows: Rows, labelled: bool, turns: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.bool_]]: ...
    def smooth(
        self,
        settings: TileSettings,
        tile: int,
        rows: tuple[Rows, Rows, Rows],
        ranges: list[tuple[float, float]],
    ) -> dict[str, Any]: ...
    @classmethod
    def unpickled(cls, sigma: str, bytes: bytes) -> Partition: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def bytes_of(text: str) -> int: ...
def group_keys(column: Any) -> Any: ...
def axis(name: str, column: Any) -> NDArray[np.float64]: ...
def check_kinds(sigmas: list[str]) -> None: ...

@final
class Blueprint:
    @staticmethod
    def laid_out(
        census: Census,
        label_weight: float,
        tolerance: float,
        ranges: list[tuple[float, float]],
        certificate: bool,
        limit: int,
    ) -> Blueprint | None: ...
    @property
    def multiplications(self) -> float: ...
    @classmethod
    def unpickled(cls, sigma: str, bytes: bytes) -> Blueprint: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Moments:
    def __new__(cls) -> Moments: ...
    def add(self, blueprint: Blueprint, rows: Rows, labelled: bool) -> None: ...
    def add_guests(self, blueprint: Blueprint, rows: Rows) -> None: ...
    def join(self, other: Moments) -> None: ...
    @property
    def nbytes(self) -> int: ...
    def field(self, blueprint: Blueprint) -> Field: ...
    @classmethod
    def unpickled(cls, bytes: bytes) -> Moments: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Field:
    def smooth(self, blueprint: Blueprint, c: float, rows: Rows) -> dict[str, Any]: ...
    @classmethod
    def unpickled(cls, bytes: bytes) -> Field: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

"""Runs the Triton kernels of the installed release as the plain Python that they are, one program
at a time: `tl` is replaced by the few functions below, on the memory of CPU tensors. Triton's own
interpreter does the same some hundred times slower. Used by vllm_driver_worker_v2.py.

Values are whole numbers without a width; a division is cut towards zero, as the hardware's.
"""

import ctypes
import inspect
import itertools
from functools import cache
from typing import Any

import numpy as np
import torch
from triton.runtime.interpreter import InterpretedFunction

SCALARS: dict[str, Any] = {
    "bool": ctypes.c_bool, "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16,
    "int32": ctypes.c_int32, "uint32": ctypes.c_uint32, "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64}


def plain(value: Any) -> Any:
    return value.value if isinstance(value, Value) else value


def divided(left: Any, right: Any) -> Any:
    """Towards zero."""
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        left, right = np.asarray(left), np.asarray(right)
        return np.sign(left) * np.sign(right) * (np.abs(left) // np.abs(right))
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


class Value:
    """A number, or an array with one for each lane."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return int(self.value)

    def __neg__(self) -> "Value":
        return Value(-self.value)

    def __invert__(self) -> "Value":
        return Value(not self.value if isinstance(self.value, bool) else ~self.value)

    def to(self, kind: Any) -> Any:
        return Pointer(self.value, kind.name) if isinstance(kind, PointerType) else self


def operator(function: Any, backwards: bool) -> Any:
    def run(self: Value, other: Any) -> Any:
        if isinstance(other, Pointer):
            return NotImplemented
        other = plain(other)
        return Value(function(other, self.value) if backwards else function(self.value, other))

    return run


for name, operation in {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
        "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
        "floordiv": divided, "mod": lambda a, b: a - divided(a, b) * b}.items():
    setattr(Value, f"__{name}__", operator(operation, backwards=False))
    setattr(Value, f"__r{name}__", operator(operation, backwards=True))
for name, operation in {
        "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b}.items():
    setattr(Value, f"__{name}__", operator(operation, backwards=False))


class PointerType:
    def __init__(self, name: str) -> None:
        self.name = name


class Pointer:
    """Addresses of elements of one type."""

    def __init__(self, address: Any, name: str) -> None:
        self.address = address
        self.name = name
        self.scalar = SCALARS[name]

    def __add__(self, offset: Any) -> "Pointer":
        return Pointer(self.address + plain(offset) * ctypes.sizeof(self.scalar), self.name)

    __radd__ = __add__

    def __sub__(self, offset: Any) -> "Pointer":
        return self + -plain(offset)

    def to(self, kind: PointerType) -> "Pointer":
        return Pointer(self.address, kind.name)

    def lanes(self, mask: Any) -> Any:
        """Positions and addresses of the lanes that take part."""
        chosen = np.broadcast_to(np.asarray(True if mask is None else plain(mask)),
                                 self.address.shape)
        positions = np.flatnonzero(chosen)
        return positions, self.address[positions].tolist()


class Kernel:
    """What kernels find in `tl`."""

    program: tuple[int, ...] = ()
    grid: tuple[int, ...] = ()

    def __getattr__(self, name: str) -> str:
        if name in SCALARS:
            return name
        raise AttributeError(name)

    def program_id(self, axis: int) -> Value:
        return Value(self.program[axis])

    def num_programs(self, axis: int) -> Value:
        return Value(self.grid[axis])

    @staticmethod
    def load(pointer: Pointer, mask: Any = None, other: Any = 0) -> Value:
        if not isinstance(pointer.address, np.ndarray):
            if mask is not None and not mask:
                return Value(plain(other))
            return Value(pointer.scalar.from_address(pointer.address).value)
        # No width: what was read as 64 bits without a sign stays so.
        found = np.full(pointer.address.shape, plain(other),
                        np.uint64 if pointer.name == "uint64" else np.int64)
        for position, address in zip(*pointer.lanes(mask)):
            found[position] = pointer.scalar.from_address(address).value
        return Value(found)

    @staticmethod
    def store(pointer: Pointer, value: Any, mask: Any = None) -> None:
        value = plain(value)
        if not isinstance(pointer.address, np.ndarray):
            if mask is None or mask:
                pointer.scalar.from_address(pointer.address).value = int(value)
            return
        values = np.broadcast_to(np.asarray(value), pointer.address.shape)
        for position, address in zip(*pointer.lanes(mask)):
            pointer.scalar.from_address(address).value = int(values[position])

    @staticmethod
    def arange(first: int, end: int) -> Value:
        return Value(np.arange(first, end, dtype=np.int64))

    @staticmethod
    def where(condition: Any, then: Any, otherwise: Any) -> Value:
        condition, then, otherwise = plain(condition), plain(then), plain(otherwise)
        if isinstance(condition, np.ndarray):
            return Value(np.where(condition, then, otherwise))
        return Value(then if condition else otherwise)

    @staticmethod
    def minimum(left: Any, right: Any) -> Value:
        return Value(np.minimum(plain(left), plain(right)))

    @staticmethod
    def maximum(left: Any, right: Any) -> Value:
        return Value(np.maximum(plain(left), plain(right)))

    @staticmethod
    def cdiv(left: Any, right: Any) -> Any:
        return (left + (right - 1)) // right

    @staticmethod
    def cast(value: Value, kind: Any) -> Any:
        return value.to(kind)

    @staticmethod
    def multiple_of(value: Any, _: Any) -> Any:
        return value

    @staticmethod
    def constexpr(value: Any) -> Any:
        return value

    @staticmethod
    def debug_barrier() -> None:
        return None

    pointer_type = PointerType
    range = range


TL = Kernel()


def argument(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return Pointer(value.data_ptr(), str(value.dtype).removeprefix("torch."))
    return Value(value) if type(value) is int else value


@cache
def parameters_of(function: Any) -> dict[str, tuple[Any, bool]]:
    """Default value, and whether it is a constant."""
    return {name: (parameter.default, "constexpr" in str(parameter.annotation))
            for name, parameter in inspect.signature(function).parameters.items()}


def launch(kernel: Any, *given: Any, grid: Any, warmup: bool = False, **named: Any) -> None:
    """Every program of a grid, one after another."""
    parameters = parameters_of(kernel.fn)
    values = dict(zip(parameters, given)) | named
    arguments = [values.get(name, default) if constant else argument(values.get(name, default))
                 for name, (default, constant) in parameters.items()]
    sizes = tuple(int(size) for size in grid)
    TL.grid = (*sizes, 1, 1)[:3]
    for program in itertools.product(*(range(size) for size in TL.grid)):
        TL.program = program
        kernel.fn(*arguments)


def replace_kernels(modules: list[Any]) -> None:
    """Launches and calls of all kernels; those of these modules can be run."""
    InterpretedFunction.run = launch
    InterpretedFunction.__call__ = lambda kernel, *given, **named: kernel.fn(*given, **named)
    for module in modules:
        module.tl = TL

"""The values of programs as Python sees them, and whether they have the types that a program gives them.

Tensors are numpy arrays, tuples are Python's. A value of a data type is `ADT("Cons", (head, tail))`, a reference is a
`Ref`. Values may be nested a million deep: nothing here recurses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, TupleType
from xdsl.ir import Attribute

from relay_mlir.dialects.errors import InputError
from relay_mlir.dialects.relay.language import AdtOp, constructor_fields
from relay_mlir.dialects.relay.language_types import ADTType, IncompleteType, PolyType, RefType, TypeVarType
from relay_mlir.dialects.relay.types import ANY, Tensor, numpy_dtype, show_shape

if TYPE_CHECKING:
    import numpy as np

Value: TypeAlias = "np.ndarray | tuple[Any, ...] | ADT | Ref | FunctionValue"
"""What an expression evaluates to."""


class ADT:
    """A value of a data type: the name of its constructor and its fields. It cannot be changed.

    Two are equal where constructors and fields are: arrays by dtype, shape and elements (NaN equals NaN), references
    and functions by identity.
    """

    __slots__ = ("constructor", "fields")
    __match_args__ = ("constructor", "fields")
    __hash__ = None  # pyright: ignore[reportAssignmentType]  # arrays have none either

    constructor: str
    fields: tuple[Any, ...]

    def __init__(self, constructor: str, fields: Iterable[Any] = ()):
        _set(self, "constructor", constructor)
        _set(self, "fields", tuple(fields))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a value of a data type cannot be changed: {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return ADT, (self.constructor, self.fields)

    def __eq__(self, other: object) -> bool:
        return same(self, other) if isinstance(other, ADT) else NotImplemented

    def __repr__(self) -> str:
        return show(self)


_set = object.__setattr__


class Ref:
    """A mutable cell. `value` is what it holds."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __repr__(self) -> str:
        return show(self)


class FunctionValue(ABC):
    """A function as a value; Python can call it."""

    __slots__ = ()

    @abstractmethod
    def __call__(self, *args: Any) -> Any: ...


def same(left: object, right: object) -> bool:
    """Whether two values are equal; see `ADT`."""
    import numpy as np

    pending: list[tuple[Any, Any]] = [(left, right)]
    while pending:
        a, b = pending.pop()
        if a is b:
            continue
        if isinstance(a, ADT) and isinstance(b, ADT):
            if a.constructor != b.constructor or len(a.fields) != len(b.fields):
                return False
            pending += zip(a.fields, b.fields, strict=True)
        elif isinstance(a, tuple) and isinstance(b, tuple):
            if len(cast(tuple[Any, ...], a)) != len(cast(tuple[Any, ...], b)):
                return False
            pending += zip(cast(tuple[Any, ...], a), cast(tuple[Any, ...], b), strict=True)
        elif isinstance(a, np.ndarray | np.generic) and isinstance(b, np.ndarray | np.generic):
            x, y = cast("np.ndarray", a), cast("np.ndarray", b)
            if x.dtype != y.dtype or x.shape != y.shape or not np.all((x == y) | ((x != x) & (y != y))):
                return False
        else:
            return False
    return True


def show(value: object, limit: int = 2000) -> str:
    """A value as a person reads it: `Cons(1.5, Nil)`; what is longer than `limit` characters ends in `...`."""
    texts: list[str] = []
    length = 0
    pending: list[tuple[str, Any]] = [("value", value)]
    while pending:
        kind, item = pending.pop()
        if kind == "text":
            text = cast(str, item)
        elif isinstance(item, ADT | tuple | Ref):
            text, parts, close = _open(cast(Any, item))
            pending.append(("text", close))
            for position in reversed(range(len(parts))):
                pending.append(("value", parts[position]))
                if position:
                    pending.append(("text", ", "))
        else:
            text = _show_leaf(item)
        texts.append(text)
        length += len(text)
        if length > limit:
            return "".join(texts)[:limit] + "..."
    return "".join(texts)


def _open(item: ADT | tuple[Any, ...] | Ref) -> tuple[str, Sequence[Any], str]:
    """What stands before the parts of a value, the parts, and what stands behind them."""
    if isinstance(item, ADT):
        return (f"{item.constructor}(", item.fields, ")") if item.fields else (item.constructor, (), "")
    if isinstance(item, Ref):
        return "ref(", (item.value,), ")"
    return "(", item, (",)" if len(item) == 1 else ")")


def _show_leaf(item: Any) -> str:
    import numpy as np

    if isinstance(item, np.ndarray | np.generic):
        array = cast("np.ndarray", item)
        if array.ndim == 0:
            return str(array[()])
        text = np.array2string(array, separator=", ", threshold=20)
        return f"{array.dtype}{show_shape(array.shape)} {' '.join(text.split())}"
    return f"<{type(item).__name__}>" if isinstance(item, FunctionValue) else repr(item)


def list_of(values: Iterable[Any]) -> ADT:
    """A value of the prelude's `List` with these elements."""
    result = ADT("Nil")
    for value in reversed(list(values)):
        result = ADT("Cons", (value, result))
    return result


def elements(values: ADT) -> list[Any]:
    """The elements of a value of the prelude's `List`."""
    found: list[Any] = []
    while values.constructor == "Cons":
        head, values = values.fields
        found.append(head)
    return found


class TypeChecker:
    """Says whether values have the types that a module gives them."""

    def __init__(self, module: ModuleOp):
        self._declared = {op.sym_name.data: op for op in module.ops if isinstance(op, AdtOp)}
        self._fields: dict[int, tuple[ADTType, Mapping[str, Sequence[Attribute]] | None]] = {}
        """The field types of constructors by the identity of the data type, which is quicker than its hash."""

    def mismatch(self, value: object, type_: Attribute) -> str | None:
        """What is wrong with a value of this type, None where nothing is.

        Type variables and holes take every value, opaque data types every object. Functions are taken as they are:
        their arguments are checked when they are called.
        """
        pending: list[tuple[Any, Attribute]] = [(value, type_)]
        while pending:
            item, expected = pending.pop()
            problem: str | None = None
            match expected:
                case TensorType():
                    problem = _tensor_mismatch(item, expected)
                case TupleType():
                    types = cast(Sequence[Attribute], expected.types.data)
                    if not isinstance(item, tuple) or len(cast(tuple[Any, ...], item)) != len(types):
                        problem = f"expected a tuple of {len(types)} values, but found {_kind(cast(object, item))}"
                    else:
                        pending += zip(cast(tuple[Any, ...], item), types, strict=True)
                case ADTType():
                    problem = self._data_mismatch(item, expected, pending)
                case RefType():
                    if isinstance(item, Ref):
                        pending.append((item.value, expected.content))
                    else:
                        problem = f"expected a relay_mlir.Ref, but found {_kind(item)}"
                case FunctionType() | PolyType():
                    if not isinstance(item, FunctionValue):
                        problem = f"expected a function of the program, but found {_kind(item)}"
                case TypeVarType() | IncompleteType():
                    pass
                case _:
                    problem = f"there are no values of type {expected}"
            if problem is not None:
                return problem
        return None

    def _data_mismatch(self, item: Any, expected: ADTType, pending: list[tuple[Any, Attribute]]) -> str | None:
        known = self._constructors(expected)
        if known is None:
            return None
        if not isinstance(item, ADT):
            return f"expected a relay_mlir.ADT of @{expected.adt_name}, but found {_kind(item)}"
        types = known.get(item.constructor)
        if types is None:
            names = ", ".join(known) or "none"
            return f"@{expected.adt_name} has no constructor {item.constructor}; it has {names}"
        if len(types) != len(item.fields):
            return f"{item.constructor} has {len(types)} fields, but found {len(item.fields)}"
        pending += zip(item.fields, types, strict=True)
        return None

    def _constructors(self, type_: ADTType) -> Mapping[str, Sequence[Attribute]] | None:
        """The field types of each constructor of a data type, None for an opaque one."""
        found = self._fields.get(id(type_))
        if found is None:
            declared = self._declared.get(type_.adt_name)
            if declared is None:
                raise InputError(f"the data type @{type_.adt_name} is not declared")
            made: dict[str, Sequence[Attribute]] | None = None
            if declared.extern is None:
                # One object for each type, so that a list of a million elements needs one entry.
                one: dict[Attribute, Attribute] = {type_: type_}
                made = {
                    each.sym_name.data: [one.get(field, field) for field in constructor_fields(each, type_)]
                    for each in declared.constructors
                }
            found = self._fields[id(type_)] = type_, made
        return found[1]


def _kind(value: object) -> str:
    return f"{value.constructor}(...)" if isinstance(value, ADT) else f"a {type(value).__name__}"


def _tensor_mismatch(value: object, type_: Tensor) -> str | None:
    import numpy as np

    shape = type_.get_shape()
    if not isinstance(value, np.ndarray | np.generic):
        return f"expected an array, but found {_kind(value)}"
    array = cast("np.ndarray", value)
    dtype = numpy_dtype(type_.element_type)
    if array.dtype != dtype:
        return f"expected dtype {dtype}, but found {array.dtype}"
    if array.ndim != len(shape) or any(n not in (m, ANY) for n, m in zip(shape, array.shape, strict=True)):
        return f"expected shape {show_shape(shape)}, but found {show_shape(array.shape)}"
    return None

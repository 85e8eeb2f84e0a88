"""A node of an exported program as its handler sees it; what the handler does not ask for is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from xdsl.ir import Attribute

from relay_mlir.dialects.relay.types import ANY, ELEMENT_TYPES
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.program import Argument, Dim, DType, Graph, Node, Number, Ref, Result, TensorType

Operand: TypeAlias = "Value | Number"
"""A tensor, or a number of Python, which takes part in promotion with less weight."""

WITHOUT_EFFECT = frozenset({"device", "pin_memory", "memory_format", "non_blocking", "copy", "implicit"})
"""Arguments that say where or how a tensor is stored: nothing that its elements depend on."""

Found: TypeAlias = "Value | Dim | DType | Graph | Number | str | list[Found] | None"


def element_of(dtype: str) -> Attribute:
    """The element type of torch's dtype; raises Problem for one that relay lacks."""
    if dtype not in ELEMENT_TYPES:
        raise Problem(f"dtype {dtype} is not supported; relay has {', '.join(ELEMENT_TYPES)}")
    return ELEMENT_TYPES[dtype]


class NodeView:
    """The arguments of a node, by the names of the operator's schema."""

    def __init__(
        self,
        node: Node,
        values: Callable[[Ref], Found],
        types: Mapping[str, Result],
        sizes: Mapping[str, int],
        subgraph: Callable[[Graph, Sequence[Value]], list[Value]],
    ):
        self.node = node
        self.target = node.target
        self.subgraph = subgraph
        self._values = values
        self._types = types
        self._sizes = sizes
        self._asked: set[str] = set()

    @property
    def operator(self) -> str:
        """The name without namespace and overload: `add` of `aten.add.Tensor`."""
        return self.target.split(".")[1] if "." in self.target else self.target

    # Arguments.

    def find(self, name: str) -> Found:
        """An argument, or its default; raises Problem where the operator has none of this name."""
        self._asked.add(name)
        if name in self.node.arguments:
            return self.resolve(self.node.arguments[name])
        if name in self.node.defaults:
            return self.resolve(self.node.defaults[name])
        raise Problem(f"argument '{name}' is required")

    def resolve(self, argument: Argument) -> Found:
        """What an argument stands for: references looked up, dimensions computed where their symbols are bound."""
        match argument:
            case Ref():
                return self.resolve_dim(self._values(argument))
            case Dim():
                return self.resolve_dim(argument)
            case list() | tuple():
                return [self.resolve(item) for item in cast("Sequence[Argument]", argument)]
            case _:
                return cast(Found, argument)

    def resolve_dim(self, found: Found) -> Found:
        if isinstance(found, Dim):
            number = found.evaluate(self._sizes)
            return found if number is None else number
        return found

    def has(self, name: str) -> bool:
        """Whether the operator has an argument of this name."""
        return name in self.node.arguments or name in self.node.defaults

    def value(self, name: str) -> Value:
        """A tensor; raises Problem for anything else."""
        found = self.find(name)
        if not isinstance(found, Value):
            raise Problem(f"argument '{name}' must be a tensor, but is {show(found)}")
        return found

    def optional(self, name: str) -> Value | None:
        """A tensor, or None where there is none."""
        return None if self.find(name) is None else self.value(name)

    def values(self, name: str) -> list[Value]:
        """A list of tensors."""
        found = self._list(name)
        if not all(isinstance(item, Value) for item in found):
            raise Problem(f"argument '{name}' must be tensors, but is {show(found)}")
        return cast("list[Value]", found)

    def operand(self, name: str) -> Operand:
        """A tensor or a number."""
        found = self.find(name)
        if isinstance(found, Value | int | float):
            return found
        raise Problem(f"argument '{name}' must be a tensor or a number{self._unknown(found)}, but is {show(found)}")

    def number(self, name: str) -> Number:
        found = self.find(name)
        if not isinstance(found, int | float):
            raise Problem(f"argument '{name}' must be a number{self._unknown(found)}, but is {show(found)}")
        return found

    def optional_number(self, name: str) -> Number | None:
        return None if self.find(name) is None else self.number(name)

    def integer(self, name: str) -> int:
        found = self.find(name)
        if not isinstance(found, int):
            raise Problem(f"argument '{name}' must be an integer{self._unknown(found)}, but is {show(found)}")
        return int(found)

    def optional_integer(self, name: str) -> int | None:
        return None if self.find(name) is None else self.integer(name)

    def real(self, name: str) -> float:
        return float(self.number(name))

    def flag(self, name: str) -> bool:
        return bool(self.number(name))

    def string(self, name: str) -> str:
        found = self.find(name)
        if not isinstance(found, str):
            raise Problem(f"argument '{name}' must be a string, but is {show(found)}")
        return found

    def integers(self, name: str, count: int | None = None) -> tuple[int, ...]:
        """A list of integers; one integer stands for `count` of them."""
        found = self.find(name)
        items = [found] if isinstance(found, int) else self._list(name)
        if not all(isinstance(item, int) for item in items):
            open_ = next((item for item in items if isinstance(item, Dim)), None)
            raise Problem(f"argument '{name}' must be integers{self._unknown(open_)}, but is {show(found)}")
        numbers = tuple(int(cast(int, item)) for item in items)
        return numbers * count if count is not None and len(numbers) == 1 else numbers

    def optional_integers(self, name: str) -> tuple[int, ...] | None:
        return None if self.find(name) is None else self.integers(name)

    def dims(self, name: str) -> list[int | Dim]:
        """Sizes, of which some may not be known."""
        found = self._list(name)
        if not all(isinstance(item, int | Dim) for item in found):
            raise Problem(f"argument '{name}' must be sizes, but is {show(found)}")
        return cast("list[int | Dim]", found)

    def dtype(self, name: str) -> Attribute | None:
        """An element type, or None where none is given; raises Problem for one that relay lacks."""
        found = self.find(name)
        if found is None:
            return None
        if not isinstance(found, DType):
            raise Problem(f"argument '{name}' must be a dtype, but is {show(found)}")
        return element_of(found.name)

    def graph(self, name: str) -> Graph:
        found = self.find(name)
        if not isinstance(found, Graph):
            raise Problem(f"argument '{name}' must be a graph, but is {show(found)}")
        return found

    def ignore(self, *names: str) -> None:
        """Accounts for arguments that cannot change the answer (the caller says why)."""
        self._asked.update(names)

    def expect(self, name: str, *allowed: Any, why: str) -> None:
        """Raises Problem unless an argument the operator may have is one of those that are supported."""
        if self.has(name) and (found := self.find(name)) not in allowed:
            raise Problem(f"argument '{name}' is {show(found)}: {why}")

    def _list(self, name: str) -> list[Found]:
        found = self.find(name)
        if not isinstance(found, list):
            raise Problem(f"argument '{name}' must be a list, but is {show(found)}")
        return found

    @staticmethod
    def _unknown(found: Found) -> str:
        return " known at import (bind the inputs' shapes)" if isinstance(found, Dim) else ""

    # What torch says about the results and the operands.

    @property
    def declared(self) -> TensorType:
        """The declared type of the first result."""
        result = self.node.result
        if isinstance(result, list | tuple) and result:
            result = cast("Sequence[Result]", result)[0]
        if not isinstance(result, TensorType):
            raise Problem(f"it must give a tensor, but gives {result}")
        return result

    @property
    def element(self) -> Attribute:
        """The element type of the first result."""
        return element_of(self.declared.dtype)

    def sizes(self, type_: TensorType | None = None) -> tuple[int, ...]:
        """The declared shape (of the first result), ANY for dimensions that are not known."""
        found = [self.resolve_dim(dim) for dim in (type_ or self.declared).shape]
        return tuple(dim if isinstance(dim, int) else ANY for dim in found)

    def declared_dims(self, name: str) -> list[int | Dim]:
        """The shape that torch declares for a tensor that is an argument, open dimensions by their expressions."""
        argument = self.node.arguments.get(name)
        declared = self._types.get(argument.name) if isinstance(argument, Ref) else None
        if not isinstance(declared, TensorType):
            return []
        return [cast("int | Dim", self.resolve_dim(dim)) for dim in declared.shape]

    # Accounting.

    def leftovers(self) -> list[str]:
        """What is given but was not asked for, and has neither no effect nor its default value."""
        left: list[str] = []
        for name, argument in self.node.arguments.items():
            if name in self._asked or name in WITHOUT_EFFECT:
                continue
            if name == "layout" and argument in (None, "strided"):
                continue
            if name not in self.node.defaults or argument != self.node.defaults[name]:
                left.append(f"argument '{name}' = {show(cast(Found, argument))} is not supported")
        return left


def show(found: Any) -> str:
    """A value of an argument, for messages."""
    match found:
        case Value():
            return f"a tensor {found.type}"
        case Dim():
            return found.text
        case DType():
            return found.name
        case Ref():
            return f"%{found.name}"
        case Graph():
            return "a graph"
        case list() | tuple():
            return "[" + ", ".join(map(show, cast("Sequence[Any]", found))) + "]"
        case _:
            return repr(found)

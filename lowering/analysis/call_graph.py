"""Which functions of a module call or name which others."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp

from relay_mlir.dialects.relay.core import FuncOp
from relay_mlir.lowering.inlining import named_function


class CallGraph:
    """The functions of a module and the functions that each one calls or takes as a value, with how often."""

    def __init__(self, module: ModuleOp):
        self.callees: dict[str, dict[str, int]] = {}
        for op in module.ops:
            if isinstance(op, FuncOp):
                found = self.callees.setdefault(op.sym_name.data, {})
                for inner in op.walk():
                    if (name := named_function(inner)) is not None:
                        found[name] = found.get(name, 0) + 1

    def callers(self, name: str) -> list[str]:
        """The functions that name this one."""
        return [caller for caller, callees in self.callees.items() if name in callees]

    def references(self, name: str) -> int:
        """How often a function is named."""
        return sum(callees.get(name, 0) for callees in self.callees.values())

    def reachable(self, entries: Iterable[str]) -> set[str]:
        """The functions that these reach, themselves included."""
        pending = list(entries)
        found = set(pending)
        while pending:
            for name in self.callees.get(pending.pop(), ()):
                if name not in found:
                    found.add(name)
                    pending.append(name)
        return found

    def is_recursive(self, name: str) -> bool:
        """Whether a function reaches itself, directly or through others."""
        return name in self.reachable(self.callees.get(name, ()))

    def order(self) -> list[str]:
        """The functions, callees before callers as far as recursion allows."""
        done: dict[str, None] = {}
        for root in self.callees:
            stack: list[tuple[str, bool]] = [(root, False)]
            entered: set[str] = set()
            while stack:
                name, left = stack.pop()
                if left:
                    done[name] = None
                elif name not in done and name not in entered and name in self.callees:
                    entered.add(name)
                    stack.append((name, True))
                    stack += [(callee, False) for callee in reversed(self.callees[name])]
        return list(done)

    def text(self) -> str:
        """One line a function: its callees with how often each is named, and whether it is recursive."""
        lines: list[str] = []
        for name, callees in self.callees.items():
            calls = ", ".join(f"@{callee} x{count}" for callee, count in callees.items()) or "nothing"
            recursive = " (recursive)" if self.is_recursive(name) else ""
            lines.append(f"@{name}{recursive} calls {calls}; named {self.references(name)} times")
        return "\n".join(lines)

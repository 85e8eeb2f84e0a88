"""Whether a program is well-formed: names lead to what they name, type variables are bound, values dominate uses."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.core import FuncOp
from relay_mlir.dialects.relay.language import AdtOp, ConstructOp, ConstructorValueOp, MatchOp
from relay_mlir.dialects.relay.patterns import ConstructorPattern, MatchPattern, TuplePattern
from relay_mlir.lowering.analysis.kinds import Problem, kind_problems
from relay_mlir.lowering.analysis.variables import free_type_variables
from relay_mlir.lowering.diagnostics import op_of
from relay_mlir.lowering.dominance import verify_dominance
from relay_mlir.lowering.inlining import functions_by_name, named_function
from relay_mlir.lowering.scopes import blocks_of, is_movable, scope_of


def well_formed_problems(module: ModuleOp) -> list[Problem]:
    """What is wrong with a module, all of it; none for a well-formed one."""
    problems = kind_problems(module)
    try:
        verify_dominance(module)
    except VerifyException as error:
        problems.append((op_of(error) or module, str(error)))
    functions = functions_by_name(module)
    constructors: dict[str, str] = {}
    for op in module.ops:
        if isinstance(op, AdtOp):
            for made in op.constructors:
                other = constructors.setdefault(made.sym_name.data, op.sym_name.data)
                if other != op.sym_name.data:
                    problems.append((made, f"@{other} has a constructor @{made.sym_name.data} too"))
        if isinstance(op, FuncOp | AdtOp):
            for name in free_type_variables(op):
                problems.append((op, f"the type variable {name} is not bound"))
    for op in module.walk():
        if (name := named_function(op)) is not None and name not in functions:
            problems.append((op, f"@{name} is not a relay.func of this module"))
        for name in _constructors_named(op):
            if name not in constructors:
                problems.append((op, f"no data type of this module has a constructor @{name}"))
    return problems


def _constructors_named(op: Operation) -> list[str]:
    if isinstance(op, ConstructOp | ConstructorValueOp):
        return [op.constructor.string_value()]
    found: list[str] = []
    pending: list[MatchPattern] = list(op.patterns) if isinstance(op, MatchOp) else []
    while pending:
        pattern = pending.pop(0)
        if isinstance(pattern, ConstructorPattern):
            found.append(pattern.constructor.string_value())
        if isinstance(pattern, ConstructorPattern | TuplePattern):
            pending += pattern.fields
    return found


def basic_block_normal_form_problems(module: ModuleOp) -> list[Problem]:
    """The operations that are not in the innermost block that holds all their uses; none in basic-block normal form."""
    problems: list[Problem] = []
    for func in module.ops:
        if isinstance(func, FuncOp):
            for block in blocks_of(func):
                for op in block.ops:
                    used = any(result.uses for result in op.results)
                    if is_movable(op) and used and scope_of(op) is not block:
                        problems.append((op, "is used in one inner scope only, but is bound outside of it"))
    return problems

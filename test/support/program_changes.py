"""Changes of programs for tests: types taken away, ill-typed programs made."""

import random

from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    ModuleOp,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, SSAValue

from relay_mlir.dialects.relay.core import (
    CallOp,
    ConstantOp,
    TupleOp,
)
from relay_mlir.dialects.relay.language import (
    ConstructOp,
    ConstructorValueOp,
    FnOp,
    GlobalOp,
    MatchOp,
    RefCreateOp,
    RefWriteOp,
)
from relay_mlir.dialects.relay.language_types import IncompleteType, PolyType, RefType
from relay_mlir.dialects.relay.patterns import (
    ConstructorPattern,
    VarPattern,
)
from test.support.random_expressions import (
    BOOL,
    DATA_TYPES,
    INT,
    VECTOR,
    function,
    list_type,
)


def erase_types(module: ModuleOp) -> None:
    """Replaces types that type inference can find again by holes: of results, and of variables of patterns."""
    hole = IncompleteType()
    kept = (ConstantOp, ConstructOp, ConstructorValueOp, GlobalOp, TupleOp, RefCreateOp, RefWriteOp)
    for op in module.walk():
        if isinstance(op, MatchOp):
            for case in op.cases:
                for variable in case.block.args:
                    set_type(variable, hole)
        if isinstance(op, FnOp):
            plain = FunctionType.from_lists(list(op.function_type.inputs), [hole])
            set_type(op.result, PolyType(op.type_parameters, plain) if op.type_parameters else plain)
        elif not isinstance(op, kept):
            for result in op.results:
                set_type(result, hole)


def set_type(value: SSAValue, type_: Attribute) -> None:
    """Gives a value another type."""
    value._type = type_  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def break_program(module: ModuleOp, seed: int) -> str:
    """Makes one random change that most often leaves an invalid or ill-typed program; says what it did."""
    rng = random.Random(seed)
    ops = [op for op in module.walk() if op.operands and op.name != "builtin.module"]
    matches = [op for op in module.walk() if isinstance(op, MatchOp)]
    calls = [op for op in module.walk() if isinstance(op, CallOp)]
    match rng.randrange(7):
        case 0:
            op = rng.choice(ops)
            place = rng.randrange(len(op.operands))
            values = [v for other in ops for v in other.operands if v.type != op.operands[place].type]
            op.operands[place] = rng.choice(values)
            return f"operand {place} of {op.location} replaced"
        case 1:
            op = rng.choice([op for op in ops if op.results])
            set_type(op.results[0], rng.choice([BOOL, VECTOR, list_type(BOOL), function(INT, BOOL), RefType(INT)]))
            return f"result type of {op.location} replaced"
        case 2:
            op = rng.choice(ops)
            op.operands = list(op.operands)[:-1]
            return f"last operand of {op.location} dropped"
        case 3 if matches:
            op = rng.choice(matches)
            names = [*(name for _, made in DATA_TYPES.values() for name in made), "Missing"]
            new = ConstructorPattern(rng.choice(names), [VarPattern()] * rng.randrange(3))
            op.properties["patterns"] = ArrayAttr([new, *op.patterns.data[1:]])
            return f"first pattern of {op.location} replaced by {new}"
        case 4 if matches:
            op = rng.choice(matches)
            op.properties["patterns"] = ArrayAttr(op.patterns.data[:-1])
            region = op.regions[-1]
            op.detach_region(region)
            return f"last case of {op.location} dropped"
        case 5 if calls:
            op = rng.choice(calls)
            op.properties["callee"] = SymbolRefAttr(rng.choice(["missing", "map", "foldl", "main"]))
            return f"callee of {op.location} replaced"
        case _:
            op = rng.choice(ops)
            op.operands = [*op.operands, rng.choice([v for other in ops for v in other.operands])]
            return f"operand added to {op.location}"

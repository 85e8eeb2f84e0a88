"""Which features of the relay language a program uses: the 17 of Relay's `detect_feature`, with its names."""

from __future__ import annotations

from enum import Enum

from xdsl.ir import Block, Operation, SSAValue

from relay_mlir.dialects.relay.core import (
    CallOp,
    ConstantOp,
    FuncOp,
    IfOp,
    ReturnOp,
    TupleGetItemOp,
    TupleOp,
    WeightOp,
    YieldOp,
)
from relay_mlir.dialects.relay.language import (
    ApplyOp,
    ConstructOp,
    ConstructorValueOp,
    FnOp,
    GlobalOp,
    MatchOp,
    RefCreateOp,
    RefReadOp,
    RefWriteOp,
)
from relay_mlir.dialects.relay.op import RelayOp


class Feature(Enum):
    """A feature of the language. `LET` is a bound result, `GRAPH` one that is not an atom and used more than once."""

    VAR = "fVar"
    GLOBAL_VAR = "fGlobalVar"
    CONSTANT = "fConstant"
    TUPLE = "fTuple"
    TUPLE_GET_ITEM = "fTupleGetItem"
    FUNCTION = "fFunction"
    OP = "fOp"
    CALL = "fCall"
    LET = "fLet"
    IF = "fIf"
    REF_CREATE = "fRefCreate"
    REF_READ = "fRefRead"
    REF_WRITE = "fRefWrite"
    CONSTRUCTOR = "fConstructor"
    MATCH = "fMatch"
    GRAPH = "fGraph"
    LET_REC = "fLetRec"


_OF_OPERATION: dict[type[Operation], tuple[Feature, ...]] = {
    FuncOp: (Feature.FUNCTION,),
    FnOp: (Feature.FUNCTION,),
    CallOp: (Feature.CALL, Feature.GLOBAL_VAR),
    GlobalOp: (Feature.GLOBAL_VAR,),
    ApplyOp: (Feature.CALL,),
    ConstantOp: (Feature.CONSTANT,),
    WeightOp: (Feature.CONSTANT,),
    TupleOp: (Feature.TUPLE,),
    TupleGetItemOp: (Feature.TUPLE_GET_ITEM,),
    IfOp: (Feature.IF,),
    MatchOp: (Feature.MATCH,),
    ConstructOp: (Feature.CONSTRUCTOR, Feature.CALL),
    ConstructorValueOp: (Feature.CONSTRUCTOR,),
    RefCreateOp: (Feature.REF_CREATE,),
    RefReadOp: (Feature.REF_READ,),
    RefWriteOp: (Feature.REF_WRITE,),
}
_ATOMS = (ConstantOp, WeightOp, GlobalOp, ConstructorValueOp)


def features(op: Operation) -> set[Feature]:
    """The features that an operation and all in it use."""
    found: set[Feature] = set()
    for inner in op.walk():
        found.update(_OF_OPERATION.get(type(inner), ()))
        if isinstance(inner, RelayOp):
            found |= {Feature.OP, Feature.CALL}
        if isinstance(inner, FnOp) and inner.recursive is not None:
            found.add(Feature.LET_REC)
        if any(isinstance(value.owner, Block) for value in inner.operands):
            found.add(Feature.VAR)
        if inner.results and not isinstance(inner, (*_ATOMS, ReturnOp, YieldOp)):
            if any(_uses(result) > 1 for result in inner.results):
                found.add(Feature.GRAPH)
            if any(result.uses for result in inner.results):
                found.add(Feature.LET)
    return found


def _uses(value: SSAValue) -> int:
    return sum(1 for _ in value.uses)


def text(found: set[Feature]) -> str:
    """The features by Relay's names, in Relay's order."""
    return ", ".join(feature.value for feature in Feature if feature in found) or "none"

"""Runs in the Python that has TVM: reads Relay text, infers its types, runs it, and prints it as TVM does.

Standard input is a JSON list of [original, printed] texts; standard output the JSON list of what TVM says of each pair:
an error, or the type of @main in both, TVM's own text of the original, and whether both give the same values.
"""

import json
import sys

import numpy as np
import tvm
from tvm import relay


def random_inputs(function):
    """Arguments for @main, or None where one is not a tensor of known shape."""
    random = np.random.default_rng(0)
    inputs = []
    for parameter in function.params:
        type_ = parameter.checked_type
        if not isinstance(type_, relay.TensorType) or not all(isinstance(d, tvm.tir.IntImm) for d in type_.shape):
            return None
        values = random.uniform(0.5, 2.0, [int(d) for d in type_.shape])
        inputs.append(values.astype(type_.dtype))
    return inputs


def values(module, inputs):
    """What @main gives, as a flat list of arrays."""
    executor = relay.create_executor("vm", mod=module, device=tvm.cpu(), target="llvm")
    return flat(executor.evaluate()(*inputs))


def flat(value):
    if isinstance(value, tvm.nd.NDArray):
        return [value.numpy()]
    return [array for field in value for array in flat(field)]


def compare(original, printed):
    """What TVM says of a pair."""
    try:
        first = relay.parse(original)
    except Exception as e:
        return {"error": f"the original: {e}"[-300:]}
    try:
        second = relay.parse(printed)
    except Exception as e:
        return {"error": f"the printed text: {e}"[-300:]}
    types = [str(module["main"].checked_type.ret_type) for module in (first, second)]
    result = {"types": types, "text": first.astext(show_meta_data=True), "same": None}
    inputs = random_inputs(first["main"])
    if inputs is not None:
        try:
            left, right = values(first, inputs), values(second, inputs)
        except Exception:
            return result  # TVM's passes fail on some programs that it parses and types
        result["same"] = all(a.tobytes() == b.tobytes() for a, b in zip(left, right, strict=True))
    return result


if __name__ == "__main__":
    answers = [compare(*pair) for pair in json.load(sys.stdin)]
    sys.stdout.write("\nANSWERS " + json.dumps(answers) + "\n")

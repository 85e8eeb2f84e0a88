"""The activation functions of recurrent layers, by ONNX's names, on numpy arrays and on scalars.

A function takes two parameters, alpha and beta, of which it may use none, one or both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.linalg_builder import ScalarBuilder

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Function:
    """One activation function. Its defaults are None for a parameter that it does not use."""

    numpy: Callable[[Array, float, float], Array]
    """The values at an array, from the array, alpha and beta."""
    scalar: Callable[[ScalarBuilder, SSAValue, float, float], SSAValue]
    """The same on a scalar."""
    alpha: float | None = None
    beta: float | None = None


@dataclass(frozen=True)
class Activation:
    """A function with the values of its parameters."""

    function: Function
    alpha: float
    beta: float

    def numpy(self, x: Array) -> Array:
        """The values at an array of a float dtype, in that dtype."""
        return self.function.numpy(x, self.alpha, self.beta).astype(x.dtype, copy=False)

    def scalar(self, s: ScalarBuilder, x: SSAValue) -> SSAValue:
        """The value at a scalar."""
        return self.function.scalar(s, x, self.alpha, self.beta)


def activation(name: str, alpha: float | None = None, beta: float | None = None) -> Activation:
    """The function of this name, with its defaults for what is None; raises VerifyException for an unknown name."""
    function = FUNCTIONS.get(name)
    if function is None:
        raise VerifyException(f"activation '{name}' is not one of {', '.join(FUNCTIONS)}")
    defaults = (function.alpha or 0.0, function.beta or 0.0)
    return Activation(function, defaults[0] if alpha is None else alpha, defaults[1] if beta is None else beta)


def check_parameters(names: Sequence[str], alphas: Sequence[float], betas: Sequence[float]) -> None:
    """Checks that parameters are given for all of the functions or for none; raises VerifyException."""
    for what, values in (("alphas", alphas), ("betas", betas)):
        if values and len(values) != len(names):
            raise VerifyException(f"{what} must be none or one for each of {len(names)} activations: {list(values)}")


# On numpy arrays.


def _np_sigmoid(x: Array, alpha: float, beta: float) -> Array:
    import numpy as np

    return cast("Array", 1 / (1 + np.exp(-x)))


def _np_tanh(x: Array, alpha: float, beta: float) -> Array:
    import numpy as np

    return np.tanh(x)


def _np_softplus(x: Array, alpha: float, beta: float) -> Array:
    import numpy as np

    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _np_hard_sigmoid(x: Array, alpha: float, beta: float) -> Array:
    import numpy as np

    return np.clip(alpha * x + beta, 0, 1)


def _np_where(positive: Callable[[Array, float], Any], other: Callable[[Array, float], Any], threshold: bool = False):
    """A function with one form above zero (or above alpha) and another for what is not."""

    def function(x: Array, alpha: float, beta: float) -> Array:
        import numpy as np

        return cast("Array", np.where(x > (alpha if threshold else 0), positive(x, alpha), other(x, alpha)))

    return function


def _np_expm1(x: Array, alpha: float) -> Array:
    import numpy as np

    return alpha * np.expm1(x)


def _np_softsign(x: Array, alpha: float, beta: float) -> Array:
    import numpy as np

    return x / (1 + np.abs(x))


def _np_scaled_tanh(x: Array, alpha: float, beta: float) -> Array:
    import numpy as np

    return alpha * np.tanh(beta * x)


# On scalars.


def _sigmoid(s: ScalarBuilder, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    one = s.like(1, x)
    return s.div(one, s.add(one, s.math("Exp", s.neg(x))))


def _tanh(s: ScalarBuilder, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    return s.math("Tanh", x)


def _relu(s: ScalarBuilder, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    zero = s.like(0, x)
    return s.select(s.compare("lt", x, zero), zero, x)


def _leaky_relu(s: ScalarBuilder, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    return s.select(s.compare("gt", x, s.like(0, x)), x, s.mul(x, s.like(alpha, x)))


def _thresholded_relu(s: ScalarBuilder, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    return s.select(s.compare("gt", x, s.like(alpha, x)), x, s.like(0, x))


def _affine(s: ScalarBuilder, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    return s.add(s.mul(x, s.like(alpha, x)), s.like(beta, x))


def _scaled_tanh(s: ScalarBuilder, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    return s.mul(s.like(alpha, x), s.math("Tanh", s.mul(s.like(beta, x), x)))


def _hard_sigmoid(s: ScalarBuilder, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    line = _affine(s, x, alpha, beta)
    return s.minimum(s.maximum(line, s.like(0, x)), s.like(1, x))


def _elu(s: ScalarBuilder, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    below = s.mul(s.like(alpha, x), s.math("ExpM1", x))
    return s.select(s.compare("gt", x, s.like(0, x)), x, below)


def _softsign(s: ScalarBuilder, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    return s.div(x, s.add(s.like(1, x), s.math("AbsF", x)))


def _softplus(s: ScalarBuilder, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    # log(1 + e^x), the exponent made negative so that it cannot overflow.
    rest = s.math("Log1p", s.math("Exp", s.neg(s.math("AbsF", x))))
    return s.add(s.maximum(x, s.like(0, x)), rest)


FUNCTIONS: dict[str, Function] = {
    "Sigmoid": Function(_np_sigmoid, _sigmoid),
    "Tanh": Function(_np_tanh, _tanh),
    "Relu": Function(lambda x, alpha, beta: _np_relu(x), _relu),
    "LeakyRelu": Function(_np_where(lambda x, a: x, lambda x, a: x * a), _leaky_relu, alpha=0.01),
    "ThresholdedRelu": Function(_np_where(lambda x, a: x, lambda x, a: 0, True), _thresholded_relu, alpha=1.0),
    "Affine": Function(lambda x, alpha, beta: alpha * x + beta, _affine, alpha=1.0, beta=0.0),
    "ScaledTanh": Function(_np_scaled_tanh, _scaled_tanh, alpha=1.0, beta=1.0),
    "HardSigmoid": Function(_np_hard_sigmoid, _hard_sigmoid, alpha=0.2, beta=0.5),
    "Elu": Function(_np_where(lambda x, a: x, _np_expm1), _elu, alpha=1.0),
    "Softsign": Function(_np_softsign, _softsign),
    "Softplus": Function(_np_softplus, _softplus),
}
"""Every function by ONNX's name, with ONNX's defaults for the parameters that it uses."""


def _np_relu(x: Array) -> Array:
    import numpy as np

    return np.where(x < 0, np.zeros_like(x), x)


__all__ = ["FUNCTIONS", "Activation", "Function", "activation", "check_parameters"]

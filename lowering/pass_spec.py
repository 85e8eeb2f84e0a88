"""Reads a pipeline such as `fold-constant,fuse-ops{max-ops=8},cpu` into passes: ours, xDSL's, and named pipelines."""

from __future__ import annotations

import re
from collections.abc import Callable

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError

from relay_mlir.dialects.errors import Error
from relay_mlir.lowering.diagnostics import did_you_mean
from relay_mlir.lowering.pipeline import PASSES, PIPELINES, pass_class


class PipelineError(Error):
    """A pipeline that cannot be read: an unknown pass or option, or a value that an option does not take."""


def xdsl_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """xDSL's own passes by name, each with a function that imports it."""
    from xdsl.transforms import get_all_passes

    return get_all_passes()


def known_passes() -> list[str]:
    """The names of all passes and named pipelines."""
    return [*PIPELINES, *PASSES, *xdsl_passes()]


def find_pass(name: str) -> type[ModulePass]:
    """The pass of this name; raises PipelineError for an unknown one."""
    if name in PASSES:
        try:
            return pass_class(name)
        except ModuleNotFoundError as error:
            raise PipelineError(f"pass '{name}' cannot be loaded: {error}") from error
    factory = xdsl_passes().get(name)
    if factory is None:
        raise PipelineError(f"unknown pass '{name}'{did_you_mean(name, known_passes())}")
    try:
        return factory()
    except ImportError as error:
        raise PipelineError(f"pass '{name}' cannot be loaded: {error}") from error


def parse_passes(text: str) -> list[ModulePass]:
    """The passes of a pipeline, in order; raises PipelineError."""
    compact = re.sub(r"\s*,\s*", ",", text.strip()) if '"' not in text else text.strip()
    try:
        specs = list(parse_pipeline(compact))
    except ArgSpecParseError as error:
        lines = str(error).splitlines()
        reason = lines[-1].strip() if lines else "syntax error"
        raise PipelineError(f"cannot read the pipeline '{text}': {reason}") from error
    passes: list[ModulePass] = []
    for spec in specs:
        if spec.name in PIPELINES:
            if spec.parameters:
                raise PipelineError(f"the pipeline '{spec.name}' takes no options")
            passes += [find_pass(name)() for name in PIPELINES[spec.name]]
        else:
            passes.append(_make_pass(spec))
    return passes


def _make_pass(spec: ArgSpec) -> ModulePass:
    cls = find_pass(spec.name)
    options = [field.replace("_", "-") for field in getattr(cls, "__dataclass_fields__", {}) if field != "name"]
    for option in spec.parameters:
        if option.replace("_", "-") not in options:
            listed = f"its options are {', '.join(options)}" if options else "it has no options"
            hint = did_you_mean(option, options) or f"; {listed}"
            raise PipelineError(f"pass '{spec.name}' has no option '{option}'{hint}")
    try:
        return cls.from_pass_spec(spec)
    except Exception as error:  # an option's check may raise anything; the reason is in its message
        raise PipelineError(f"pass '{spec.name}': {error}") from error

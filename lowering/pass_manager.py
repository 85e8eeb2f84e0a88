"""Runs passes on a module: verifies between them, keeps locations, measures, dumps, and says which pass failed."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from relay_mlir.dialects.errors import CompileError, Error
from relay_mlir.dialects.relay.weights import RelayContext, WeightStore
from relay_mlir.lowering.diagnostics import did_you_mean, op_of
from relay_mlir.lowering.ir_files import main_function, print_module, weights_used
from relay_mlir.lowering.locations import complete, describe_origin
from relay_mlir.lowering.verifier import verify_module


@dataclass(frozen=True)
class PassRun:
    """A pass that ran. `before` and `after` are texts of the module where they were asked for, else empty."""

    number: int
    """Its place in the pipeline, from 1."""
    name: str
    spec: str
    """The name with the options."""
    seconds: float
    peak_bytes: int
    """The largest resident set of the process while the pass ran."""
    before: str
    after: str

    @property
    def changed(self) -> bool:
        """Whether the text of the module changed; False where texts were not asked for."""
        return self.before != self.after


class PassError(CompileError):
    """A pass that stopped: because of the program, or (`internal`) because of a mistake of the pass."""

    def __init__(self, name: str, index: int, message: str, op: Operation | None, *, internal: bool):
        self.pass_name = name
        self.index = index
        """Its place in the list of passes, from 0."""
        self.reason = message
        self.op = op
        self.internal = internal
        origin = describe_origin(op) if op is not None else None
        where = f"'{op.name}' op " if op is not None else ""
        super().__init__(f"pass '{name}': {where}{message}{f' [from {origin}]' if origin else ''}")


Callback = Callable[[PassRun, ModuleOp], None]


def run_passes(
    ctx: Context,
    module: ModuleOp,
    passes: Iterable[ModulePass],
    *,
    verify: bool | Collection[str] = True,
    until: str | None = None,
    dump: Path | None = None,
    on_pass: Callback | None = None,
    compare: bool = False,
) -> list[PassRun]:
    """Runs passes in order on a module, which changes in place.

    The module is verified (also for dominance) after every pass, or after those whose names are in `verify`; it must
    be valid before. `until` is the last pass to run: a name, or `name:2` for its second run. `dump` is a folder that
    gets one file for each pass that changed something, and one file of weights. `compare` fills the texts of the
    PassRun. Raises PassError.
    """
    selected = up_to(list(passes), until)
    folder = None if dump is None else Dump(dump, ctx)
    try:
        if folder is not None:
            folder.add("00-input", module)
        return _run(ctx, module, selected, verify, folder, on_pass, compare or folder is not None)
    finally:
        if folder is not None:
            folder.finish()


def _run(
    ctx: Context,
    module: ModuleOp,
    passes: Sequence[ModulePass],
    verify: bool | Collection[str],
    folder: Dump | None,
    on_pass: Callback | None,
    texts: bool,
) -> list[PassRun]:
    runs: list[PassRun] = []
    text = print_module(module) if texts else ""
    for index, pass_ in enumerate(passes):
        memory = PeakMemory()
        start = time.perf_counter()
        _apply(ctx, module, pass_, index)
        seconds = time.perf_counter() - start
        complete(module)
        if verify if isinstance(verify, bool) else pass_.name in verify:
            _verify(module, pass_, index)
        after = print_module(module) if texts else ""
        run = PassRun(index + 1, pass_.name, str(pass_), seconds, memory.peak(), text, after)
        text = after
        runs.append(run)
        if folder is not None and run.changed:
            folder.add(f"{run.number:02}-{run.name}", module)
        if on_pass is not None:
            on_pass(run, module)
    return runs


def up_to(passes: Sequence[ModulePass], until: str | None) -> Sequence[ModulePass]:
    """The passes up to and with `until`: `name`, or `name:2` for its second run. Raises CompileError."""
    if until is None:
        return passes
    name, _, count = until.partition(":")
    places = [index for index, pass_ in enumerate(passes) if pass_.name == name]
    if not places:
        names = dict.fromkeys(pass_.name for pass_ in passes)
        hint = did_you_mean(name, names) or f"; it runs {', '.join(names) or 'no pass'}"
        raise CompileError(f"the pipeline does not run the pass '{name}'{hint}")
    nth = int(count) if count.isdecimal() else (1 if not count else 0)
    if not 1 <= nth <= len(places):
        raise CompileError(f"'{until}': the pipeline runs '{name}' {len(places)} times")
    return passes[: places[nth - 1] + 1]


def _apply(ctx: Context, module: ModuleOp, pass_: ModulePass, index: int) -> None:
    try:
        pass_.apply(ctx, module)
    except (DiagnosticException, Error) as error:
        raise PassError(pass_.name, index, str(error), op_of(error), internal=False) from error
    except RecursionError as error:
        raise PassError(pass_.name, index, "the program is nested too deeply", None, internal=False) from error
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        raise PassError(pass_.name, index, message, op_of(error), internal=True) from error


def _verify(module: ModuleOp, pass_: ModulePass, index: int) -> None:
    try:
        verify_module(module)
    except DiagnosticException as error:
        message = f"the pass left an invalid program: {error}"
        raise PassError(pass_.name, index, message, op_of(error), internal=True) from error


class PeakMemory:
    """The largest resident set of the process since this object was made (where Linux allows, else since its start)."""

    def __init__(self) -> None:
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            pass  # the peak is then that of the whole process

    def peak(self) -> int:
        """The peak so far, in bytes."""
        try:
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        except OSError:
            pass
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Dump:
    """A folder with the module after each pass; `@main` of each file names the one file of weights beside them."""

    WEIGHTS = "weights.safetensors"

    def __init__(self, folder: Path, ctx: Context):
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._ctx = ctx
        self._kept = WeightStore()

    def add(self, name: str, module: ModuleOp) -> None:
        """Writes the module to `name.mlir`, and remembers the weights it uses."""
        used = self._keep_weights(module)
        main = main_function(module)
        named = None if main is None else main.attributes.get("weights")
        if main is not None and used:
            main.attributes["weights"] = StringAttr(self.WEIGHTS)
        (self._folder / f"{name}.mlir").write_text(print_module(module, self._ctx), encoding="utf-8")
        if main is not None and used:
            if named is None:
                del main.attributes["weights"]
            else:
                main.attributes["weights"] = named

    def _keep_weights(self, module: ModuleOp) -> bool:
        """Remembers the weights of the module: a later pass may drop them from the store."""
        if not isinstance(self._ctx, RelayContext):
            return False
        store = self._ctx.weights
        used = [key for key in weights_used(module) if key in store]
        for key in used:
            if key not in self._kept:
                self._kept.add(key, store.entry(key))
        return bool(used)

    def finish(self) -> None:
        """Writes the weights of all the files."""
        keys = list(self._kept)
        if keys:
            self._kept.save(self._folder / self.WEIGHTS, keys)

"""One run of relay-opt: each module of the input is parsed, passed through the pipeline and printed."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import parse_spec
from xdsl.utils.exceptions import DiagnosticException

from relay_mlir.dialects.errors import Error
from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.lowering.diagnostics import Diagnostic, DiagnosticError, did_you_mean, handling, op_of
from relay_mlir.lowering.ir_files import load_weights, print_module, save_weights, weights_used, write_module
from relay_mlir.lowering.ir_text import SourceText, parse_ir
from relay_mlir.lowering.pass_manager import PassError, PassRun, run_passes
from relay_mlir.lowering.verifier import verify_module
from relay_mlir.tools.driver import Streams, UsageError, make_context, op_diagnostic

_SPLIT = re.compile(r"^[ \t]*// -----[ \t]*$\n?", re.MULTILINE)


@dataclass
class OptRun:
    """What one invocation of relay-opt does with its input."""

    args: argparse.Namespace
    streams: Streams
    passes: Sequence[ModulePass]
    failed: bool = False
    outputs: list[str] = field(default_factory=list[str])
    runs: list[PassRun] = field(default_factory=list[PassRun])

    def run(self, text: str, name: str) -> int:
        """Processes the input; returns the exit code."""
        chunks = self._chunks(text)
        for number, chunk in enumerate(chunks):
            self._chunk(number, chunk, name)
        output = "// -----\n".join(self.outputs)
        if self.args.output in (None, "-"):
            self.streams.stdout.write(output)
        elif not self.failed:
            try:
                Path(self.args.output).write_text(output, encoding="utf-8")
            except OSError as error:
                raise UsageError(f"cannot write '{self.args.output}': {error.strerror or error}") from error
        if self.args.timing:
            self.streams.stderr.write(timing_table(self.runs))
        return int(self.failed)

    def _chunks(self, text: str) -> list[str]:
        """The parts of the input, each after as many empty lines as stand before it: lines keep their number."""
        if not self.args.split_input_file:
            return [text]
        chunks: list[str] = []
        start = 0
        for match in [*_SPLIT.finditer(text), None]:
            end = len(text) if match is None else match.start()
            chunks.append("\n" * text.count("\n", 0, start) + text[start:end])
            start = end if match is None else match.end()
        return chunks

    def _chunk(self, number: int, text: str, name: str) -> None:
        source = SourceText(text, name)
        messages: list[Diagnostic] = []

        def take(severity: str, message: str, op: Operation) -> None:
            messages.append(op_diagnostic(severity, message, op, source))

        try:
            with handling(take):
                self._process(number, source)
        except (DiagnosticError, PassError, DiagnosticException) as error:
            self._trace()
            messages.append(self._diagnostic(error, source))
        self._show(source, messages)

    def _process(self, number: int, source: SourceText) -> None:
        ctx = self._context()
        module = self._parse(ctx, source)
        if not self.args.disable_verify:
            verify_module(module)
        loaded = load_weights(ctx, module, folder_of(source.name))
        folder = self.args.dump and Path(self.args.dump) / (str(number) if self.args.split_input_file else "")
        self.runs += run_passes(
            ctx,
            module,
            self.passes,
            verify=not self.args.disable_verify,
            dump=folder or None,
            on_pass=self._after_pass,
            compare=self.args.print_ir_after_change,
        )
        self._emit(ctx, module, number, loaded)

    def _parse(self, ctx: RelayContext, source: SourceText) -> ModuleOp:
        """The module of the text: Relay text where the file ends in .relay, else IR."""
        if not source.name.endswith(".relay"):
            return parse_ir(ctx, source)
        from relay_mlir.frontends.relay_text.reader import parse_relay

        return parse_relay(source, ctx)

    def _context(self) -> RelayContext:
        return make_context(allow_unregistered=self.args.allow_unregistered_dialect)

    # Output

    def _after_pass(self, run: PassRun, module: ModuleOp) -> None:
        if self.args.print_ir_after_change and run.changed:
            from difflib import unified_diff

            lines = (run.before.splitlines(keepends=True), run.after.splitlines(keepends=True))
            self.streams.stderr.write("".join(unified_diff(*lines, f"before {run.spec}", f"after {run.spec}")))
        if self.args.print_between_passes:
            self.streams.stderr.write(f"// IR after {run.spec}:\n{print_module(module)}")

    def _emit(self, ctx: RelayContext, module: ModuleOp, number: int, loaded: set[str]) -> None:
        if self.args.output not in (None, "-"):
            path = Path(self.args.output)
            suffix = f".{number}.safetensors" if number else ".safetensors"
            save_weights(module, ctx.weights, path.with_suffix(suffix))
        elif new := [key for key in weights_used(module) if key in ctx.weights and key not in loaded]:
            plural = "weight is" if len(new) == 1 else "weights are"
            self.streams.stderr.write(f"note: {len(new)} new {plural} not saved (such as '{new[0]}'): use -o FILE\n")
        self.outputs.append(self._text(ctx, module))

    def _text(self, ctx: RelayContext, module: ModuleOp) -> str:
        spec = parse_spec(self.args.target)
        if spec.name == "mlir":
            return print_module(
                module,
                ctx,
                generic=self.args.print_op_generic,
                debuginfo=self.args.print_debuginfo,
                properties_as_attributes=self.args.print_no_properties,
            )
        if spec.name == "relay":
            from relay_mlir.frontends.relay_text.writer import relay_text

            return relay_text(module, ctx)
        from xdsl.targets import get_all_targets

        output = StringIO()
        get_all_targets()[spec.name]().from_spec(spec).emit(ctx, module, output)
        return output.getvalue()

    # Messages

    def _diagnostic(self, error: Exception, source: SourceText) -> Diagnostic:
        if isinstance(error, DiagnosticError):
            return error.diagnostic
        if not isinstance(error, PassError):
            return op_diagnostic("error", str(error), op_of(error), source)
        diagnostic = op_diagnostic("error", error.reason, error.op, source)
        prefix = f"internal error in pass '{error.pass_name}'" if error.internal else f"pass '{error.pass_name}'"
        notes: tuple[Diagnostic, ...] = ()
        if error.internal and not self.args.verify_diagnostics:
            notes = (Diagnostic("note", self._reproduce(error, source)),)
        return Diagnostic(
            "error",
            f"{prefix}: {diagnostic.message}",
            diagnostic.place,
            diagnostic.file,
            diagnostic.origin,
            diagnostic.shown,
            notes,
        )

    def _reproduce(self, error: PassError, source: SourceText) -> str:
        """Writes the input of the failing pass to a file by running the passes before it again."""
        import shlex

        path = Path(self.args.crash_reproducer)
        ctx = self._context()
        try:
            module = self._parse(ctx, SourceText(source.text, source.name))
            load_weights(ctx, module, folder_of(source.name))
            run_passes(ctx, module, self.passes[: error.index], verify=False)
            write_module(ctx, module, path)
            text, failing = path.read_text(encoding="utf-8"), [self.passes[error.index]]
        except (OSError, Error, DiagnosticException):
            text, failing = source.text, list(self.passes[: error.index + 1])
        command = shlex.join(["relay-opt", str(path), "-p", ",".join(str(pass_) for pass_ in failing)])
        try:
            path.write_text(f"// {command}\n{text}", encoding="utf-8")
        except OSError as failure:
            return f"no reproducer: cannot write '{path}': {failure.strerror}; --debug shows the traceback"
        return f"to reproduce: {command}; --debug shows the traceback"

    def _trace(self) -> None:
        if self.args.debug:
            import traceback

            self.streams.stderr.write(traceback.format_exc())

    def _show(self, source: SourceText, messages: list[Diagnostic]) -> None:
        if self.args.verify_diagnostics:
            from relay_mlir.tools.expected import compare

            messages = compare(source, messages)
        for message in messages:
            self.streams.stderr.write(message.render() + "\n")
        self.failed |= any(message.severity == "error" for message in messages)


def folder_of(name: str) -> Path:
    """The folder in which a text's weights lie."""
    return Path.cwd() if name.startswith("<") else Path(name).parent


def check_target(text: str) -> None:
    """Raises UsageError for an unknown target."""
    name = text.split("{")[0]
    if name in ("mlir", "relay"):
        return
    from xdsl.targets import get_all_targets

    if name not in get_all_targets():
        raise UsageError(f"unknown target '{name}'{did_you_mean(name, ['mlir', 'relay', *get_all_targets()])}")


def timing_table(runs: Sequence[PassRun]) -> str:
    """Time and peak memory of each pass, the slowest first."""
    lines = [f"{'seconds':>9}  {'peak MiB':>8}  pass"]
    for run in sorted(runs, key=lambda run: -run.seconds):
        lines.append(f"{run.seconds:9.4f}  {run.peak_bytes / 2**20:8.1f}  {run.number}: {run.spec}")
    lines.append(f"{sum(run.seconds for run in runs):9.4f}  {'':8}  total")
    return "\n".join(lines) + "\n"

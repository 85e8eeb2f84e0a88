"""A lit test format that runs the project's tools and filecheck inside the lit worker.

A worker imports the tools once; a RUN line then costs milliseconds instead of half a second. A RUN line is a pipeline
of commands joined by `|` and `&&`, with `not`, `< file`, `> file`, `2> file` and `2>&1`. Programs other than the
tools are started as processes of their own. What else a shell can do is left to lit's own shell.
"""

import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import lit.formats
import lit.Test
import lit.TestRunner

TIME_LIMIT = 120
"""Seconds that a test may take."""

_TOOLS = {"relay-opt": "relay_mlir.tools.relay_opt", "relay-translate": "relay_mlir.tools.relay_translate"}
"""Tools with a function `run(argv, streams)`."""
_SHELL_ONLY = re.compile(r"[`$;()*?~]|\|\||&(?![&1])|%[A-Za-z]|^\w+=|\b(?:cd|export|env)\s")
_RUN_PREFIX = re.compile(r"^%dbg\([^)]*\)\s*")


@dataclass
class Command:
    """One command of a pipeline and its redirections."""

    words: list[str] = field(default_factory=list)
    stdin: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    merge: bool = False
    """Whether stderr goes to stdout."""


@dataclass
class Outcome:
    """What a command left behind."""

    code: int
    stdout: bytes
    stderr: str


class InProcessTest(lit.formats.ShTest):
    """The format; see the module."""

    def __init__(self) -> None:
        super().__init__(execute_external=False)

    def execute(self, test: Any, litConfig: Any) -> Any:
        if test.config.unsupported:
            return lit.Test.Result(lit.Test.UNSUPPORTED, "test is unsupported")
        script = lit.TestRunner.parseIntegratedTestScript(test)
        if isinstance(script, lit.Test.Result) or litConfig.noExecute:
            return script if isinstance(script, lit.Test.Result) else lit.Test.Result(lit.Test.PASS)
        folder, base = lit.TestRunner.getTempPaths(test)
        lines = lit.TestRunner.applySubstitutions(
            script,
            lit.TestRunner.getDefaultSubstitutions(test, folder, base),
            {feature: True for feature in test.config.available_features},
            recursion_limit=test.config.recursiveExpansionLimit,
        )
        try:
            parsed = [parse_line(_RUN_PREFIX.sub("", line)) for line in lines]
        except NeedsShell:
            return super().execute(test, litConfig)
        Path(base).parent.mkdir(parents=True, exist_ok=True)
        try:
            with _working_folder(os.path.dirname(test.getExecPath())), _time_limit(TIME_LIMIT):
                return _run_script(parsed)
        except TimeoutError as error:
            return lit.Test.Result(lit.Test.TIMEOUT, str(error))


class NeedsShell(Exception):
    """A RUN line that is more than a pipeline."""


def parse_line(line: str) -> list[list[Command]]:
    """The pipelines of a RUN line, joined by `&&`; raises NeedsShell for what this format does not do."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "", line)
    if _SHELL_ONLY.search(text.replace("2>&1", "").replace("&&", " ")):
        raise NeedsShell
    marked = line.replace("2>&1", " \0merge ").replace("2>", " \0stderr ")
    lexer = shlex.shlex(marked, posix=True, punctuation_chars="|&<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    pipelines, command, target = [[Command()]], None, None
    for word in lexer:
        command = pipelines[-1][-1]
        if target is not None:
            setattr(command, target, word)
            target = None
        elif word == "&&":
            pipelines.append([Command()])
        elif word == "|":
            pipelines[-1].append(Command())
        elif word in ("<", ">", "\0stderr"):
            target = {"<": "stdin", ">": "stdout", "\0stderr": "stderr"}[word]
        elif word == "\0merge":
            command.merge = True
        elif set(word) <= set("|&<>"):
            raise NeedsShell
        else:
            command.words.append(word)
    if target is not None or any(not command.words for pipeline in pipelines for command in pipeline):
        raise NeedsShell
    return pipelines


def _run_script(lines: Sequence[Sequence[Sequence[Command]]]) -> Any:
    for line in lines:
        for pipeline in line:
            log: list[str] = []
            code, data = 0, b""
            for command in pipeline:
                outcome = _run_command(command, data)
                shown = shlex.join(command.words)
                if outcome.code or outcome.stderr:
                    log.append(f"$ {shown}\n{outcome.stderr}(exit code {outcome.code})\n")
                code, data = code or outcome.code, outcome.stdout
            if code:
                log.append("output of the last command:\n" + data.decode("utf-8", "replace")[-4000:])
                return lit.Test.Result(lit.Test.FAIL, "\n".join(log))
    return lit.Test.Result(lit.Test.PASS, "")


def _run_command(command: Command, data: bytes) -> Outcome:
    words = list(command.words)
    if command.stdin is not None:
        data = Path(command.stdin).read_bytes()
    inverted = False
    while words and words[0] == "not":
        inverted, words = not inverted, words[1:]
    crash = bool(words) and words[0] == "--crash"
    outcome = _dispatch(words[1:] if crash else words, data)
    if inverted:
        # As LLVM's `not`: a program that a signal or a Python exception ended has not failed as expected.
        crashed = outcome.code < 0 or "Traceback (most recent call last)" in outcome.stderr
        outcome.code = 1 if outcome.code == 0 or (crashed and not crash) else 0
    if command.merge:
        outcome.stdout += outcome.stderr.encode()
        outcome.stderr = ""
    if command.stderr is not None:
        Path(command.stderr).write_text(outcome.stderr, encoding="utf-8")
        outcome.stderr = ""
    if command.stdout is not None:
        Path(command.stdout).write_bytes(outcome.stdout)
        outcome.stdout = b""
    return outcome


def _dispatch(words: Sequence[str], data: bytes) -> Outcome:
    name = words[0]
    if name == "filecheck":
        return _guarded(lambda out, err: _filecheck(words, data, out, err))
    if name in _TOOLS:
        return _guarded(lambda out, err: _tool(name, words[1:], data, out, err))
    if name == "cat" and len(words) > 1:
        return Outcome(0, b"".join(Path(word).read_bytes() for word in words[1:]), "")
    program = shutil.which(name, path=os.path.dirname(sys.executable)) or shutil.which(name)
    if program is None:
        return Outcome(127, b"", f"{name}: command not found\n")
    done = subprocess.run([program, *words[1:]], input=data, capture_output=True, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))


def _guarded(call: Callable[[io.StringIO, io.StringIO], int]) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = call(out, err)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        except TimeoutError:
            raise
        except Exception:
            err.write(traceback.format_exc())
            code = 1
    return Outcome(code, out.getvalue().encode(), err.getvalue())


def _tool(name: str, arguments: Sequence[str], data: bytes, out: io.StringIO, err: io.StringIO) -> int:
    from relay_mlir.tools.driver import Streams, with_deep_stack

    tool = import_module(_TOOLS[name])
    return with_deep_stack(lambda: tool.run(arguments, Streams(io.BytesIO(data), out, err)))


def _filecheck(words: Sequence[str], data: bytes, out: io.StringIO, err: io.StringIO) -> int:
    from filecheck.finput import FInput
    from filecheck.matcher import Matcher
    from filecheck.options import parse_argv_options
    from filecheck.parser import Parser

    options = parse_argv_options(list(words))
    options.reject_empty_vars = True  # a capture that matches nothing is a mistake of the test
    if options.input_file == "-":
        text = FInput.canonicalize_line_ends(data.decode("utf-8"))
    else:
        text = Path(options.input_file).read_text(encoding="utf-8")
    code = Matcher(options, FInput(options.input_file, text), Parser.from_opts(options)).run()
    if code:
        err.write(f"input of filecheck:\n{text[:8000]}\n")
    return code


@contextmanager
def _time_limit(seconds: float) -> Generator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"the test took more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _working_folder(folder: str) -> Generator[None]:
    os.makedirs(folder, exist_ok=True)
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


sys.setswitchinterval(0.05)  # tools run in a thread of their own, alone

"""LLVM IR of what compiled programs need at run time: the thread pool, the processor's floating point state, launches.

thread_pool.ll holds the pool. A parallel loop that `outline-parallel` made a function `NAME.tile(captured..., tile)` is
started by a call of `NAME.launch(captured..., pool, tiles)`, which this module defines.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from relay_mlir.dialects.errors import CompileError

STATE_BYTES = 512
"""The size of a pool's state; its layout is in thread_pool.ll."""

DECLARATIONS = {
    "aligned_alloc": "declare ptr @aligned_alloc(i64, i64)",
    "calloc": "declare ptr @calloc(i64, i64)",
    "free": "declare void @free(ptr)",
    "getpid": "declare i32 @getpid()",
    "sched_yield": "declare i32 @sched_yield()",
    "syscall": "declare i64 @syscall(i64, ...)",
    "pthread_create": "declare i32 @pthread_create(ptr, ptr, ptr, ptr)",
    "pthread_join": "declare i32 @pthread_join(i64, ptr)",
}
"""The functions of the C library that the runtime calls."""

_SPINS = 20_000
"""Pauses before a worker sleeps: about a millisecond, longer than the gaps between the layers of a network."""

_FUTEX = {"x86_64": 202, "aarch64": 98}
"""The number of the system call by processor."""

_X86 = """
declare void @llvm.x86.sse2.pause()
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @llvm.x86.sse.stmxcsr(ptr)
define internal void @relay.pause() alwaysinline {
  call void @llvm.x86.sse2.pause()
  ret void
}
define internal void @relay.set_float_state(ptr %p) {
  call void @llvm.x86.sse.ldmxcsr(ptr %p)
  ret void
}
define internal void @relay.get_float_state(ptr %p) {
  call void @llvm.x86.sse.stmxcsr(ptr %p)
  ret void
}
"""

_AARCH64 = """
declare void @llvm.aarch64.hint(i32)
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)
define internal void @relay.pause() alwaysinline {
  call void @llvm.aarch64.hint(i32 1)
  ret void
}
define internal void @relay.set_float_state(ptr %p) {
  %v = load i32, ptr %p
  %w = zext i32 %v to i64
  call void @llvm.aarch64.set.fpcr(i64 %w)
  ret void
}
define internal void @relay.get_float_state(ptr %p) {
  %w = call i64 @llvm.aarch64.get.fpcr()
  %v = trunc i64 %w to i32
  store i32 %v, ptr %p
  ret void
}
"""

_FLUSH = {"x86_64": 0x8040, "aarch64": 1 << 24}
"""The bits of the floating point state that make denormal numbers zero: FTZ and DAZ of MXCSR, FZ of FPCR."""

_NEW_STATE = {"x86_64": 0x1F80, "aarch64": 0}
"""The floating point state of a new thread."""


def architecture(triple: str) -> str:
    """The processor of an LLVM triple; raises CompileError for one that the runtime has no code for."""
    name = triple.split("-", maxsplit=1)[0].replace("amd64", "x86_64").replace("arm64", "aarch64")
    if name not in _FUTEX:
        raise CompileError(f"no runtime for {triple}; expected one of {', '.join(_FUTEX)} (Linux)")
    return name


def flush_bits(triple: str) -> int:
    """What to set in the floating point state so that denormal numbers count as zero."""
    return _FLUSH[architecture(triple)]


def worker_state(triple: str, flush: bool) -> int:
    """The floating point state of a worker thread."""
    return _NEW_STATE[architecture(triple)] | (flush_bits(triple) if flush else 0)


def processor_text(triple: str) -> str:
    """The functions that differ by processor: pause, and reading and writing the floating point state."""
    return _X86 if architecture(triple) == "x86_64" else _AARCH64


def pool_text(triple: str) -> str:
    """The functions of the pool."""
    text = (Path(__file__).parent / "thread_pool.ll").read_text()
    return text.replace("@SPINS@", str(_SPINS)).replace("@FUTEX@", str(_FUTEX[architecture(triple)]))


def launch_text(name: str, types: Sequence[str]) -> str:
    """`@NAME.launch` for a function `@NAME.tile` whose captured arguments have these LLVM types."""
    struct = "{ " + ", ".join(types) + " }"
    parameters = [f"{type_} %a{i}" for i, type_ in enumerate(types)]
    lines = [
        f"define internal void @{_quoted(name + '.run')}(ptr %context, i64 %tile) {{",
        *(
            f"  %p{i} = getelementptr {struct}, ptr %context, i32 0, i32 {i}\n  %a{i} = load {type_}, ptr %p{i}"
            for i, type_ in enumerate(types)
        ),
        f"  call void @{_quoted(name + '.tile')}({', '.join([*parameters, 'i64 %tile'])})",
        "  ret void\n}",
        f"define internal void @{_quoted(name + '.launch')}({', '.join([*parameters, 'ptr %pool', 'i64 %tiles'])}) {{",
        f"  %context = alloca {struct}, align 64",
        *(
            f"  %p{i} = getelementptr {struct}, ptr %context, i32 0, i32 {i}\n  store {type_} %a{i}, ptr %p{i}"
            for i, type_ in enumerate(types)
        ),
        f"  call void @relay.pool.run(ptr %pool, ptr @{_quoted(name + '.run')}, ptr %context, i64 %tiles)",
        "  ret void\n}",
    ]
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    return '"' + name + '"'

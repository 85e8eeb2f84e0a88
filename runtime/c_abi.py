"""The C interface of a compiled program: LLVM IR of its functions, and the header that documents them.

A model is a handle of 1024 bytes: the state of the thread pool (see thread_pool.ll), and from byte 512 on 16 slots of
arenas that no run uses. A run takes an arena out of a slot, or makes one, and puts it back: so runs may overlap.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from relay_mlir.dialects.errors import CompileError
from relay_mlir.runtime import heap_runtime, open_shapes
from relay_mlir.runtime.open_shapes import MISFIT, MISFIT_TEXT, OpenShapes, open_text
from relay_mlir.runtime.signature import Signature, TensorSpec
from relay_mlir.runtime.thread_pool import (
    DECLARATIONS,
    STATE_BYTES,
    flush_bits,
    pool_text,
    processor_text,
    worker_state,
)

VERSION = "0.1.0"
HANDLE_BYTES = 1024
SLOTS = 16
UNRELEASED = STATE_BYTES + 8 * SLOTS
"""Where a handle counts the objects that runs left alive."""

STATUS = {
    0: "success",
    1: "out of memory",
    2: "a null pointer was passed",
}
"""What the functions return, and the text of it."""


def check_prefix(prefix: str) -> None:
    """Raises CompileError for a prefix that C does not allow in names."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", prefix):
        raise CompileError(f"'{prefix}' cannot start the names of C functions: use letters, digits and _")


def weights_symbol(prefix: str) -> str:
    """The symbol of the weight blob."""
    return f"{prefix}.weights"


def entry_symbol(prefix: str) -> str:
    """The symbol of `@main` in the code of a program."""
    return f"{prefix}.main"


def abi_text(
    signature: Signature,
    prefix: str,
    triple: str,
    weights: int,
    arena: int,
    threads: int,
    flush: bool,
    model: str,
    failures: Sequence[str] | None = None,
    shapes: OpenShapes | None = None,
    values: bool = False,
) -> str:
    """LLVM IR of the C functions, to be put behind the text `model` of the program, which defines `@PREFIX.main`.

    `weights` and `arena` are sizes in bytes. With more than one thread `@PREFIX.main` takes the pool as its last
    argument. A program on heap objects gives the texts of its `failures`: its `@PREFIX.main` takes a heap only.
    A program with open dimensions gives its `shapes`. `values` says that the program takes and gives heap objects.
    """
    parts = [processor_text(triple), pool_text(triple)]
    if failures is not None:
        parts.append(heap_runtime.heap_text(triple))
        parts += list(heap_runtime.DECLARATIONS.values())
        parts.append(heap_runtime.counters_text(prefix, SLOTS, STATE_BYTES, UNRELEASED))
    statuses = status_texts(failures, shapes)
    declarations = DECLARATIONS if shapes is None else {**DECLARATIONS, **open_shapes.DECLARATIONS}
    parts += [line for name, line in declarations.items() if not re.search(rf"^declare [^@]*@{name}\(", model, re.M)]
    parts.append(f"@{_q(weights_symbol(prefix))} = external constant [{max(weights, 1)} x i8], align 64")
    parts += _strings(signature, statuses)
    arenas = _arenas(arena, failures is not None) if shapes is None else _arenas_of(open_shapes.ARENA)
    parts += [_lifetime(prefix, triple, threads, flush), arenas]
    if values:
        blob = f"@{_q(weights_symbol(prefix))}" if weights else "null"
        parts.append(heap_runtime.values_text(prefix, blob, UNRELEASED, *_float_state(triple, flush)))
    elif shapes is None:
        parts.append(_run(signature, prefix, triple, weights, threads, flush, failures is not None))
    else:
        blob = f"@{_q(weights_symbol(prefix))}" if weights else "null"
        entry, state = _q(entry_symbol(prefix)), _float_state(triple, flush)
        parts.append(open_text(signature, shapes, prefix, arena, entry, blob, threads, state))
    for what, specs in (("input", signature.inputs), ("output", signature.outputs)):
        parts += _queries(prefix, what, specs)
    parts.append(_table_function(prefix, "error", "ptr", [f"@relay.status{i}" for i in statuses], "@relay.unknown"))
    parts.append(f"define ptr @{prefix}_version() {{\n  ret ptr @relay.version\n}}")
    return "\n".join(parts) + "\n"


def status_texts(failures: Sequence[str] | None, shapes: OpenShapes | None = None) -> dict[int, str]:
    """The text of every status of a program; those of its failures come last."""
    if shapes is not None:
        return {**STATUS, MISFIT: MISFIT_TEXT}
    return {**STATUS, **dict(enumerate(failures or (), len(STATUS)))}


def _q(name: str) -> str:
    return '"' + name + '"'


def _string(name: str, text: str) -> str:
    data = text.encode() + b"\0"
    escaped = "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in data)
    return f'@{name} = internal constant [{len(data)} x i8] c"{escaped}"'


def _strings(signature: Signature, statuses: Mapping[int, str]) -> list[str]:
    lines = [_string("relay.version", VERSION), _string("relay.unknown", "an unknown status")]
    lines += [_string(f"relay.status{code}", text) for code, text in statuses.items()]
    for what, specs in (("input", signature.inputs), ("output", signature.outputs)):
        for index, spec in enumerate(specs):
            lines.append(_string(f"relay.{what}_name{index}", spec.name))
            lines.append(_string(f"relay.{what}_dtype{index}", spec.dtype))
            sizes = ", ".join(f"i64 {size}" for size in spec.sizes) or "i64 1"
            count = max(len(spec.shape), 1)
            lines.append(f"@relay.{what}_shape{index} = internal constant [{count} x i64] [{sizes}]")
    return lines


def _queries(prefix: str, what: str, specs: Sequence[TensorSpec]) -> list[str]:
    count = len(specs)
    return [
        f"define i32 @{prefix}_{what}_count() {{\n  ret i32 {count}\n}}",
        _table_function(prefix, f"{what}_name", "ptr", [f"@relay.{what}_name{i}" for i in range(count)], "null"),
        _table_function(prefix, f"{what}_dtype", "ptr", [f"@relay.{what}_dtype{i}" for i in range(count)], "null"),
        _table_function(prefix, f"{what}_rank", "i32", [str(len(spec.shape)) for spec in specs], "-1"),
        _table_function(prefix, f"{what}_shape", "ptr", [f"@relay.{what}_shape{i}" for i in range(count)], "null"),
        _table_function(prefix, f"{what}_bytes", "i64", [str(spec.bytes) for spec in specs], "-1"),
    ]


def _table_function(prefix: str, name: str, type_: str, values: Sequence[str], otherwise: str) -> str:
    """A function of an index that gives the value at it, or `otherwise` out of range."""
    cases = " ".join(f"i32 {i}, label %v{i}" for i in range(len(values)))
    blocks = "".join(f"v{i}:\n  ret {type_} {value}\n" for i, value in enumerate(values))
    return (
        f"define {type_} @{prefix}_{name}(i32 %index) {{\nentry:\n  switch i32 %index, label %none [{cases}]\n"
        f"{blocks}none:\n  ret {type_} {otherwise}\n}}"
    )


def _lifetime(prefix: str, triple: str, threads: int, flush: bool) -> str:
    state = worker_state(triple, flush)
    return f"""
define i32 @{prefix}_create(ptr %out) {{
  %status = call i32 @{prefix}_create_with_threads(ptr %out, i32 {threads})
  ret i32 %status
}}
define i32 @{prefix}_create_with_threads(ptr %out, i32 %threads) {{
entry:
  %null = icmp eq ptr %out, null
  br i1 %null, label %bad, label %make
make:
  store ptr null, ptr %out
  %model = call ptr @aligned_alloc(i64 64, i64 {HANDLE_BYTES})
  %failed = icmp eq ptr %model, null
  br i1 %failed, label %memory, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %model, i8 0, i64 {HANDLE_BYTES}, i1 false)
  %mxcsr = getelementptr i8, ptr %model, i64 284
  store i32 {state}, ptr %mxcsr
  %many = icmp sgt i32 %threads, {threads}
  %capped = select i1 %many, i32 {threads}, i32 %threads
  %others = sub i32 %capped, 1
  %wanted = sext i32 %others to i64
  call void @relay.pool.start(ptr %model, i64 %wanted)
  store ptr %model, ptr %out
  ret i32 0
bad:
  ret i32 2
memory:
  ret i32 1
}}
define void @{prefix}_destroy(ptr %model) {{
entry:
  %null = icmp eq ptr %model, null
  br i1 %null, label %done, label %stop
stop:
  call void @relay.pool.stop(ptr %model)
  br label %next
next:
  %i = phi i64 [ 0, %stop ], [ %i1, %slot ]
  %more = icmp ult i64 %i, {SLOTS}
  br i1 %more, label %slot, label %free
slot:
  %offset = mul i64 %i, 8
  %from = add i64 %offset, {STATE_BYTES}
  %p = getelementptr i8, ptr %model, i64 %from
  %arena = load ptr, ptr %p
  call void @relay.arena.free(ptr %arena)
  %i1 = add i64 %i, 1
  br label %next
free:
  call void @free(ptr %model)
  br label %done
done:
  ret void
}}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


def _arenas(size: int, heap: bool) -> str:
    padded = -(-max(size, 64) // 64) * 64
    return _arenas_of(heap_runtime.arena_text(padded) if heap else _ARENA.replace("@SIZE@", str(padded)))


def _arenas_of(made: str) -> str:
    return f"""{made}
define internal ptr @relay.arena.take(ptr %model) {{
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %empty ]
  %more = icmp ult i64 %i, {SLOTS}
  br i1 %more, label %slot, label %make
slot:
  %offset = mul i64 %i, 8
  %from = add i64 %offset, {STATE_BYTES}
  %p = getelementptr i8, ptr %model, i64 %from
  %word = atomicrmw xchg ptr %p, i64 0 acq_rel
  %found = icmp ne i64 %word, 0
  br i1 %found, label %take, label %empty
empty:
  %i1 = add i64 %i, 1
  br label %next
take:
  %arena = inttoptr i64 %word to ptr
  ret ptr %arena
make:
  %new = call ptr @relay.arena.make()
  ret ptr %new
}}
define internal void @relay.arena.give(ptr %model, ptr %arena) {{
entry:
  %word = ptrtoint ptr %arena to i64
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %full ]
  %more = icmp ult i64 %i, {SLOTS}
  br i1 %more, label %slot, label %free
slot:
  %offset = mul i64 %i, 8
  %from = add i64 %offset, {STATE_BYTES}
  %p = getelementptr i8, ptr %model, i64 %from
  %pair = cmpxchg ptr %p, i64 0, i64 %word acq_rel acquire
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %done, label %full
full:
  %i1 = add i64 %i, 1
  br label %next
free:
  call void @relay.arena.free(ptr %arena)
  br label %done
done:
  ret void
}}
"""


_ARENA = """
define internal ptr @relay.arena.make() {
  %new = call ptr @aligned_alloc(i64 64, i64 @SIZE@)
  ret ptr %new
}
define internal void @relay.arena.free(ptr %arena) {
  call void @free(ptr %arena)
  ret void
}
"""


def _run(signature: Signature, prefix: str, triple: str, weights: int, threads: int, flush: bool, heap: bool) -> str:
    checks: list[str] = []
    arguments: list[str] = []
    block = "arrays"
    for what, specs in (("input", signature.inputs), ("output", signature.outputs)):
        for index, _ in enumerate(specs):
            name = f"{what}{index}"
            checks.append(
                f"{block}:\n  %{name}p = getelementptr ptr, ptr %{what}s, i64 {index}\n"
                f"  %{name} = load ptr, ptr %{name}p\n  %{name}null = icmp eq ptr %{name}, null\n"
                f"  br i1 %{name}null, label %bad, label %after_{name}"
            )
            block = f"after_{name}"
            arguments.append(f"ptr %{name}")
    arguments.append(f"ptr @{_q(weights_symbol(prefix))}" if weights else "ptr null")
    arguments.append("ptr %arena")
    if threads > 1:
        arguments.append("ptr %model")
    needed = ["model", *(["inputs"] if signature.inputs else []), *(["outputs"] if signature.outputs else [])]
    nulls = "".join(f"  %null_{name} = icmp eq ptr %{name}, null\n" for name in needed)
    any_, combined = f"%null_{needed[0]}", ""
    for position, name in enumerate(needed[1:]):
        combined += f"  %any{position} = or i1 {any_}, %null_{name}\n"
        any_ = f"%any{position}"
    enter, leave = _float_state(triple, flush)
    joined = "\n".join(checks)
    if heap:
        body, status = _heap_call(prefix, bool(weights)), "%status"
    else:
        body, status = f"  call void @{_q(entry_symbol(prefix))}({', '.join(arguments)})\n", "0"
    return f"""
define i32 @{prefix}_run(ptr %model, ptr %inputs, ptr %outputs) {{
entry:
{nulls}{combined}  br i1 {any_}, label %bad, label %arrays
{joined}
{block}:
  %arena = call ptr @relay.arena.take(ptr %model)
  %failed = icmp eq ptr %arena, null
  br i1 %failed, label %memory, label %compute
compute:
{enter}{body}{leave}  call void @relay.arena.give(ptr %model, ptr %arena)
  ret i32 {status}
bad:
  ret i32 2
memory:
  ret i32 1
}}
"""


def _float_state(triple: str, flush: bool) -> tuple[str, str]:
    """What goes before and after the computation, for denormal numbers to be zero meanwhile."""
    if not flush:
        return "", ""
    enter = f"""  %saved = alloca i32
  %set = alloca i32
  call void @relay.get_float_state(ptr %saved)
  %old = load i32, ptr %saved
  %new = or i32 %old, {flush_bits(triple)}
  store i32 %new, ptr %set
  call void @relay.set_float_state(ptr %set)
"""
    return enter, "  call void @relay.set_float_state(ptr %saved)\n"


_COUNTERS = """\
/* Counted objects: those alive, 0 when no run is under way; and those that cycles through references kept alive
 * until their run ended, of all runs together. */
int64_t PREFIX_live_objects(PREFIX *model);
int64_t PREFIX_unreleased_objects(PREFIX *model);

"""


def _heap_call(prefix: str, weights: bool) -> str:
    """Runs a program on heap objects; `%arena` is its heap."""
    stores = {
        heap_runtime.INPUTS: "%inputs",
        heap_runtime.OUTPUTS: "%outputs",
        heap_runtime.WEIGHTS: f"@{_q(weights_symbol(prefix))}" if weights else "null",
    }
    text = "".join(
        f"  %state{at} = getelementptr i8, ptr %arena, i64 {at}\n  store ptr {value}, ptr %state{at}\n"
        for at, value in stores.items()
    )
    return f"""{text}  %status = call i32 @relay.heap.run(ptr %arena, ptr @{_q(entry_symbol(prefix))})
  %leftp = getelementptr i8, ptr %arena, i64 {heap_runtime.LEFT}
  %left = load i64, ptr %leftp
  %unreleased = getelementptr i8, ptr %model, i64 {UNRELEASED}
  %before = atomicrmw add ptr %unreleased, i64 %left monotonic
"""


def header(
    signature: Signature,
    prefix: str,
    threads: int,
    arena: int | None,
    failures: Sequence[str] | None = None,
    shapes: OpenShapes | None = None,
    values: bool = False,
) -> str:
    """The C header of a program."""
    guard = f"{prefix.upper()}_H"
    inputs = "\n".join(f" *   inputs[{i}]   {spec}" for i, spec in enumerate(signature.inputs))
    outputs = "\n".join(f" *   outputs[{i}]  {spec}" for i, spec in enumerate(signature.outputs))
    codes = "\n".join(f" *   {code}  {text}" for code, text in status_texts(failures, shapes).items())
    memory = f"{arena} bytes of temporary memory" if arena is not None else "temporary memory, as the sizes demand"
    run = f"""
/* Computes the outputs: one pointer for each input and output, in order. */
int32_t {prefix}_run({prefix} *model, const void *const *inputs, void *const *outputs);
"""
    if shapes is not None:
        run = open_shapes.HEADER.replace("PREFIX", prefix).replace("MISFIT", str(MISFIT))
    counters = "" if failures is None else _COUNTERS.replace("PREFIX", prefix)
    queries = "\n".join(
        f"""
int32_t {prefix}_{what}_count(void);
const char *{prefix}_{what}_name(int32_t index);
const char *{prefix}_{what}_dtype(int32_t index);
int32_t {prefix}_{what}_rank(int32_t index);
const int64_t *{prefix}_{what}_shape(int32_t index);
int64_t {prefix}_{what}_bytes(int32_t index);"""
        for what in ("input", "output")
    )
    return f"""/* A compiled model, made by relay-mlir {VERSION}.
 *
{inputs}
{outputs}
 *
 * Arrays are dense, in row-major order, of the element types above (numpy's names; bool is one byte, 0 or 1), at
 * addresses that are multiples of the element's size. Outputs must not overlap inputs or each other.
 *
 * Functions that can fail return a status:
{codes}
 *
 * A model may be run by several threads at the same time. A run needs {memory}, which the
 * model keeps for the next run. It was compiled for up to {threads} thread{"s" if threads != 1 else ""}.
 * After fork(), the child runs on its own thread alone. Link with -lpthread where the C library needs it.
 */
#ifndef {guard}
#define {guard}

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

typedef struct {prefix} {prefix};

/* Makes a model, with its worker threads. The second form uses fewer threads than it was compiled for. */
int32_t {prefix}_create({prefix} **model);
int32_t {prefix}_create_with_threads({prefix} **model, int32_t threads);

/* Ends the threads and frees the memory; no run may be under way. NULL is allowed. */
void {prefix}_destroy({prefix} *model);
{run}
/* What the inputs and outputs are. Out of range: NULL, or -1. */{queries}

{counters}/* The text of a status, and the version of the compiler. Both live as long as the program. */
const char *{prefix}_error(int32_t status);
const char *{prefix}_version(void);

#ifdef __cplusplus
}}
#endif

#endif /* {guard} */
"""

"""The C interface of a program whose inputs have dimensions that are known at run time only.

LLVM IR of `PREFIX_output_shapes` and `PREFIX_run_shaped`. The first runs the program's shape function, `@main.shapes`,
and says in words which sizes do not fit. The second checks the sizes the same way, then takes an arena of the size
that `@main.arena` gives. An arena is preceded by a cache line that holds its capacity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from relay_mlir.runtime.signature import Signature, TensorSpec

MISFIT = 3
"""The status of sizes that do not fit."""
MISFIT_TEXT = "the sizes of the inputs do not fit; output_shapes says which"

DECLARATIONS = {"snprintf": "declare i32 @snprintf(ptr, i64, ptr, ...)"}

ARENA = """
define internal ptr @relay.arena.make() {
  %new = call ptr @aligned_alloc(i64 64, i64 64)
  %null = icmp eq ptr %new, null
  br i1 %null, label %done, label %empty
empty:
  store i64 0, ptr %new
  br label %done
done:
  ret ptr %new
}
define internal void @relay.arena.free(ptr %arena) {
  call void @free(ptr %arena)
  ret void
}
"""
"""Arenas begin empty: what makes one does not know its size."""

_GROW = """
define internal ptr @relay.arena.sized(ptr %model, i64 %bytes) {
entry:
  %old = call ptr @relay.arena.take(ptr %model)
  %null = icmp eq ptr %old, null
  br i1 %null, label %none, label %measure
measure:
  %capacity = load i64, ptr %old
  %enough = icmp uge i64 %capacity, %bytes
  br i1 %enough, label %keep, label %replace
keep:
  ret ptr %old
replace:
  call void @free(ptr %old)
  %more = add i64 %bytes, 127
  %whole = and i64 %more, -64
  %new = call ptr @aligned_alloc(i64 64, i64 %whole)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %none, label %made
made:
  store i64 %bytes, ptr %new
  ret ptr %new
none:
  ret ptr null
}
"""


@dataclass(frozen=True)
class OpenShapes:
    """What a program with open dimensions has beside its signature."""

    checks: tuple[str, ...]
    """What each check of the shape function demands, in words."""
    sized_arena: bool
    """Whether the arena's size depends on the inputs'."""


def open_text(
    signature: Signature,
    shapes: OpenShapes,
    prefix: str,
    arena: int,
    entry: str,
    weights: str,
    threads: int,
    float_state: tuple[str, str],
) -> str:
    """The functions. `arena` is the arena's size if it is known, `entry` and `weights` are symbols (or null)."""
    program = _Program(signature, shapes)
    return "\n".join(
        [
            _GROW,
            program.check(),
            program.output_shapes(prefix),
            program.run(prefix, arena, entry, weights, threads, float_state),
        ]
    )


@dataclass(frozen=True)
class _Program:
    signature: Signature
    shapes: OpenShapes

    # Sizes

    def _sizes(self) -> list[str]:
        """The open sizes of the inputs, as values."""
        return [f"i64 %d{i}.{k}" for i, k in _open(self.signature.inputs)]

    @property
    def _results(self) -> int:
        """What the shape function gives beside the number of the failed check."""
        return 2 + len(list(_open(self.signature.outputs)))

    def _loads(self, only_open: bool) -> str:
        lines: list[str] = []
        for i, spec in enumerate(self.signature.inputs):
            if not spec.shape:
                continue
            lines.append(f"  %sp{i} = getelementptr ptr, ptr %shapes, i64 {i}\n  %s{i} = load ptr, ptr %sp{i}")
            for k, size in enumerate(spec.shape):
                if size is None or not only_open:
                    lines.append(f"  %dp{i}.{k} = getelementptr i64, ptr %s{i}, i64 {k}")
                    lines.append(f"  %d{i}.{k} = load i64, ptr %dp{i}.{k}")
        return "".join(line + "\n" for line in lines)

    def check(self) -> str:
        """`@relay.check(shapes, found)`: 0, -1 for a null pointer, or the number of a message.

        `found` gets two numbers for the message, and the open sizes of the outputs.
        """
        lines: list[str] = []
        texts = [f"{text}, but they are %lld and %lld" for text in map(_escaped, self.shapes.checks)]
        block = "entry"
        for i, spec in enumerate(self.signature.inputs):
            if spec.shape:
                lines.append(
                    f"{block}:\n  %np{i} = getelementptr ptr, ptr %shapes, i64 {i}\n  %n{i} = load ptr, ptr %np{i}\n"
                    f"  %null{i} = icmp eq ptr %n{i}, null\n  br i1 %null{i}, label %null, label %have{i}"
                )
                block = f"have{i}"
        lines.append(f"{block}:\n{self._loads(only_open=False)}  br label %size0")
        count = 0
        for i, spec in enumerate(self.signature.inputs):
            for k, size in enumerate(spec.shape):
                what = "at least " if size is None else ""
                texts.append(f"input '{_escaped(spec.name)}': dimension {k} must be {what}%lld, but is %lld")
                holds = "sge" if size is None else "eq"
                wanted = 0 if size is None else size
                lines.append(
                    f"size{count}:\n  %ok{count} = icmp {holds} i64 %d{i}.{k}, {wanted}\n"
                    f"  br i1 %ok{count}, label %size{count + 1}, label %bad{count}\n"
                    f"bad{count}:\n  store i64 {wanted}, ptr %found\n  store i64 %d{i}.{k}, ptr %second\n"
                    f"  ret i64 {len(texts)}"
                )
                count += 1
        struct = "{ " + ", ".join(["i64"] * (1 + self._results)) + " }"
        lines.append(f'size{count}:\n  %all = call {struct} @"main.shapes"({", ".join(self._sizes())})')
        lines.append(f"  %failed = extractvalue {struct} %all, 0")
        for position in range(self._results):
            lines.append(
                f"  %r{position} = extractvalue {struct} %all, {position + 1}\n"
                f"  %rp{position} = getelementptr i64, ptr %found, i64 {position}\n"
                f"  store i64 %r{position}, ptr %rp{position}"
            )
        lines.append("  ret i64 %failed\nnull:\n  ret i64 -1")
        head, *rest = "\n".join(lines).split("\n", 1)
        body = f"{head}\n  %second = getelementptr i64, ptr %found, i64 1\n" + "".join(rest)
        return (
            "\n".join(_string(f"relay.check{n}", text) for n, text in enumerate(texts, 1))
            + f"\n@relay.checks = internal constant [{len(texts) + 1} x ptr] ["
            + ", ".join(["ptr null", *(f"ptr @relay.check{n}" for n in range(1, len(texts) + 1))])
            + f"]\ndefine internal i64 @relay.check(ptr %shapes, ptr %found) {{\n{body}\n}}"
        )

    def output_shapes(self, prefix: str) -> str:
        """`PREFIX_output_shapes`."""
        stores, block, position = "", "fill", 2
        for j, spec in enumerate(self.signature.outputs):
            if not spec.shape:
                continue
            stores += (
                f"{block}:\n  %op{j} = getelementptr ptr, ptr %outputs, i64 {j}\n  %o{j} = load ptr, ptr %op{j}\n"
                f"  %onull{j} = icmp eq ptr %o{j}, null\n  br i1 %onull{j}, label %null, label %store{j}\nstore{j}:\n"
            )
            for k, size in enumerate(spec.shape):
                value = str(size)
                if size is None:
                    stores += (
                        f"  %fp{j}.{k} = getelementptr i64, ptr %found, i64 {position}\n"
                        f"  %f{j}.{k} = load i64, ptr %fp{j}.{k}\n"
                    )
                    value, position = f"%f{j}.{k}", position + 1
                stores += f"  %to{j}.{k} = getelementptr i64, ptr %o{j}, i64 {k}\n  store i64 {value}, ptr %to{j}.{k}\n"
            block = f"filled{j}"
            stores += f"  br label %{block}\n"
        return f"""
define i32 @{prefix}_output_shapes(ptr %shapes, ptr %outputs, ptr %message, i64 %size) {{
entry:
  %found = alloca [{self._results} x i64]
  %a = icmp eq ptr %shapes, null
  %b = icmp eq ptr %outputs, null
  %any = or i1 %a, %b
  br i1 %any, label %null, label %check
check:
  %code = call i64 @relay.check(ptr %shapes, ptr %found)
  switch i64 %code, label %failed [i64 0, label %fill i64 -1, label %null]
{stores}{block}:
  ret i32 0
failed:
  %no_message = icmp eq ptr %message, null
  %no_room = icmp sle i64 %size, 0
  %quiet = or i1 %no_message, %no_room
  br i1 %quiet, label %misfit, label %say
say:
  %textp = getelementptr ptr, ptr @relay.checks, i64 %code
  %text = load ptr, ptr %textp
  %left = load i64, ptr %found
  %rightp = getelementptr i64, ptr %found, i64 1
  %right = load i64, ptr %rightp
  %length = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 %size, ptr %text, i64 %left, i64 %right)
  br label %misfit
misfit:
  ret i32 {MISFIT}
null:
  ret i32 2
}}
"""

    def run(self, prefix: str, arena: int, entry: str, weights: str, threads: int, float_state: tuple[str, str]) -> str:
        """`PREFIX_run_shaped`."""
        arguments, pointers, position = list[str](), "", 2
        for i, spec in enumerate(self.signature.inputs):
            pointers += f"  %ip{i} = getelementptr ptr, ptr %inputs, i64 {i}\n  %i{i} = load ptr, ptr %ip{i}\n"
            arguments += [f"ptr %i{i}", *(f"i64 %d{i}.{k}" for k, size in enumerate(spec.shape) if size is None)]
        for j, spec in enumerate(self.signature.outputs):
            pointers += f"  %op{j} = getelementptr ptr, ptr %outputs, i64 {j}\n  %o{j} = load ptr, ptr %op{j}\n"
            arguments.append(f"ptr %o{j}")
            for k, size in enumerate(spec.shape):
                if size is None:
                    pointers += (
                        f"  %fp{j}.{k} = getelementptr i64, ptr %found, i64 {position}\n"
                        f"  %f{j}.{k} = load i64, ptr %fp{j}.{k}\n"
                    )
                    arguments.append(f"i64 %f{j}.{k}")
                    position += 1
        arrays = [f"%i{i}" for i in range(len(self.signature.inputs))]
        arrays += [f"%o{j}" for j in range(len(self.signature.outputs))]
        nulls, any_ = "", "false"
        for number, array in enumerate(arrays):
            nulls += f"  %an{number} = icmp eq ptr {array}, null\n  %or{number} = or i1 {any_}, %an{number}\n"
            any_ = f"%or{number}"
        if self.shapes.sized_arena:
            measure = f'  %bytes = call i64 @"main.arena"({", ".join(self._sizes())})\n'
        else:
            measure = f"  %bytes = add i64 0, {arena}\n"
        arguments += [f"ptr {weights}", "ptr %memory", *(["i64 %bytes"] if self.shapes.sized_arena else [])]
        if threads > 1:
            arguments.append("ptr %model")
        enter, leave = float_state
        return f"""
define i32 @{prefix}_run_shaped(ptr %model, ptr %inputs, ptr %shapes, ptr %outputs) {{
entry:
  %found = alloca [{self._results} x i64]
  %a = icmp eq ptr %model, null
  %b = icmp eq ptr %inputs, null
  %c = icmp eq ptr %shapes, null
  %d = icmp eq ptr %outputs, null
  %ab = or i1 %a, %b
  %cd = or i1 %c, %d
  %any = or i1 %ab, %cd
  br i1 %any, label %null, label %check
check:
  %code = call i64 @relay.check(ptr %shapes, ptr %found)
  switch i64 %code, label %misfit [i64 0, label %arrays i64 -1, label %null]
arrays:
{self._loads(only_open=True)}{pointers}{nulls}  br i1 {any_}, label %null, label %measure
measure:
{measure}  %arena = call ptr @relay.arena.sized(ptr %model, i64 %bytes)
  %memory = getelementptr i8, ptr %arena, i64 64
  %failed = icmp eq ptr %arena, null
  br i1 %failed, label %out_of_memory, label %compute
compute:
{enter}  call void @{entry}({", ".join(arguments)})
{leave}  call void @relay.arena.give(ptr %model, ptr %arena)
  ret i32 0
misfit:
  ret i32 {MISFIT}
null:
  ret i32 2
out_of_memory:
  ret i32 1
}}
"""


def _open(specs: Sequence[TensorSpec]) -> Iterator[tuple[int, int]]:
    """The positions of open dimensions: tensor, dimension."""
    for number, spec in enumerate(specs):
        for place, size in enumerate(spec.shape):
            if size is None:
                yield number, place


def _escaped(text: str) -> str:
    """A text as part of a format of snprintf."""
    return text.replace("%", "%%")


def _string(name: str, text: str) -> str:
    data = text.encode() + b"\0"
    escaped = "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in data)
    return f'@{name} = internal constant [{len(data)} x i8] c"{escaped}"'


HEADER = """
/* Sizes that are -1 in a shape are those of the arrays at hand: input_shapes has a list of sizes for each input, each
 * as long as its rank (NULL will do for rank 0), output_shapes room for one for each output. The first function gives
 * the shapes of the outputs, without running anything. Sizes that do not fit give the status MISFIT, and a text of at
 * most `size` bytes in `message`, which may be NULL. The second computes the outputs. */
int32_t PREFIX_output_shapes(const int64_t *const *input_shapes, int64_t *const *output_shapes, char *message,
                             int64_t size);
int32_t PREFIX_run_shaped(PREFIX *model, const void *const *inputs, const int64_t *const *input_shapes,
                          void *const *outputs);
"""

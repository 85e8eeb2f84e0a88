"""LLVM IR of what programs with closures, data types and references need at run time: the heap and its stack.

heap.ll holds the heap. A program runs on a large stack of its own, of which only what is touched takes memory; a
failing run leaves that stack at once (`relay.stack.leave`), and its heap is freed as a whole.
"""

from __future__ import annotations

from pathlib import Path

from relay_mlir.lowering.heap_layout import size_class
from relay_mlir.runtime.thread_pool import architecture

STATE_BYTES = 4224
"""The size of a heap's state; its layout is in heap.ll."""
WEIGHTS, LIVE, INPUTS, OUTPUTS, LEFT = 8, 48, 88, 96, 112
"""Where the state holds what the C interface reads and writes."""

DECLARATIONS = {
    "mmap": "declare ptr @mmap(ptr, i64, i32, i32, i32, i64)",
    "munmap": "declare i32 @munmap(ptr, i64)",
    "madvise": "declare i32 @madvise(ptr, i64, i32)",
    "mincore": "declare i32 @mincore(ptr, i64, ptr)",
    "mprotect": "declare i32 @mprotect(ptr, i64, i32)",
}

STACK_BYTES = 1 << 30
"""The size of the stack of a run: some ten million calls within each other."""

_MAP_FLAGS = 0x2 | 0x20 | 0x4000 | 0x20000
"""MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE and MAP_STACK of Linux."""

_X86_SAVE = ("pushq %rbp", "pushq %rbx", "pushq %r12", "pushq %r13", "pushq %r14", "pushq %r15")
_X86_RESTORE = ("popq %r15", "popq %r14", "popq %r13", "popq %r12", "popq %rbx", "popq %rbp", "retq")
_X86_ENTER = (
    *_X86_SAVE,
    "movq %rsp, (%rcx)",
    "movq %rdx, %rsp",
    "movq %rcx, %rbx",
    "movq %rdi, %rax",
    "movq %rsi, %rdi",
    "callq *%rax",
    "movq (%rbx), %rsp",
    "xorl %eax, %eax",
    *_X86_RESTORE,
)
_X86_LEAVE = ("movq (%rdi), %rsp", "movl %esi, %eax", *_X86_RESTORE)

_ARM_PAIRS = ("x19, x20", "x21, x22", "x23, x24", "x25, x26", "x27, x28", "d8, d9", "d10, d11", "d12, d13", "d14, d15")
_ARM_RESTORE = (
    *(f"ldp {pair}, [sp, #{16 * place}]" for place, pair in enumerate(_ARM_PAIRS, 1)),
    "ldp x29, x30, [sp], #160",
    "ret",
)
_ARM_ENTER = (
    "stp x29, x30, [sp, #-160]!",
    *(f"stp {pair}, [sp, #{16 * place}]" for place, pair in enumerate(_ARM_PAIRS, 1)),
    "mov x9, sp",
    "str x9, [x3]",
    "mov sp, x2",
    "mov x19, x3",
    "mov x9, x0",
    "mov x0, x1",
    "blr x9",
    "ldr x9, [x19]",
    "mov sp, x9",
    "mov w0, #0",
    *_ARM_RESTORE,
)
_ARM_LEAVE = ("ldr x9, [x0]", "mov sp, x9", "mov w0, w1", *_ARM_RESTORE)

_SWITCHES = {"x86_64": (_X86_ENTER, _X86_LEAVE), "aarch64": (_ARM_ENTER, _ARM_LEAVE)}
"""By processor: a function call on another stack, and the way back from anywhere in it."""


def heap_text(triple: str) -> str:
    """The functions of the heap."""
    enter, leave = _SWITCHES[architecture(triple)]
    text = (Path(__file__).parent / "heap.ll").read_text()
    return (
        text.replace("@MAPFLAGS@", str(_MAP_FLAGS)).replace("@STACK@", str(STACK_BYTES))
        + "".join(_record(fields, inline) for fields in range(1, 5) for inline in (False, True))
        + _naked("i32 @relay.stack.enter(ptr %function, ptr %heap, ptr %top, ptr %saved)", enter)
        + _naked("void @relay.stack.leave(ptr %saved, i32 %status)", leave)
    )


def _record(fields: int, inline: bool) -> str:
    """A function that makes a record of so many fields, given the second word of its header."""
    parameters = "".join(f", ptr %f{i}" for i in range(fields))
    stores = "".join(
        f"  %p{i} = getelementptr i8, ptr %made, i64 {16 + 8 * i}\n  store ptr %f{i}, ptr %p{i}\n"
        for i in range(fields)
    )
    number, size = size_class(16 + 8 * fields)
    return f"""
define internal ptr @relay.heap.{"make" if inline else "record"}{fields}(ptr %heap, i64 %header{parameters}) {
        "alwaysinline" if inline else "noinline"
    } {{
  %made = call ptr @relay.heap.alloc(ptr %heap, i64 {number}, i64 {size})
  store i64 1, ptr %made
  %headerp = getelementptr i8, ptr %made, i64 8
  store i64 %header, ptr %headerp
{stores}  ret ptr %made
}}
"""


def _naked(head: str, lines: tuple[str, ...]) -> str:
    body = "\\0A".join(lines)
    return (
        f"define internal {head} naked noinline {{\n"
        f'  call void asm sideeffect "{body}", "~{{memory}}"()\n  unreachable\n}}\n'
    )


def arena_text(size: int) -> str:
    """How a run gets its memory: `size` bytes of scratch memory behind the state of a heap."""
    return f"""
define internal ptr @relay.arena.make() {{
  %heap = call ptr @relay.heap.create(i64 {size})
  ret ptr %heap
}}
define internal void @relay.arena.free(ptr %heap) {{
  call void @relay.heap.dispose(ptr %heap)
  ret void
}}
"""


def values_text(prefix: str, weights: str, counter: int, enter: str, leave: str) -> str:
    """C functions of a program that takes and gives words, for `ValueExecutable`.

    `PREFIX_open` gives a heap, `PREFIX_image` memory in it for the arguments; after `PREFIX_run_values` the result is
    alive until `PREFIX_close`. `weights` is the address of the weights; `counter` is where the handle counts objects
    that were left; `enter` and `leave` stand around the run.
    """
    stores = "".join(
        f"  %state{at} = getelementptr i8, ptr %heap, i64 {at}\n  store ptr {value}, ptr %state{at}\n"
        for at, value in {INPUTS: "%inputs", OUTPUTS: "%outputs", WEIGHTS: weights}.items()
    )
    return f"""
define ptr @{prefix}_open(ptr %model) {{
  %heap = call ptr @relay.arena.take(ptr %model)
  ret ptr %heap
}}
define ptr @{prefix}_image(ptr %heap, i64 %size, i64 %objects) {{
  %memory = call ptr @relay.heap.image(ptr %heap, i64 %size, i64 %objects)
  ret ptr %memory
}}
define i32 @{prefix}_run_values(ptr %model, ptr %heap, ptr %inputs, ptr %outputs) {{
entry:
{stores}{enter}  %status = call i32 @relay.heap.enter(ptr %heap, ptr @"{prefix}.main")
{leave}  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %free, label %done
free:
  call void @relay.heap.settle(ptr %heap, i32 %status)
  br label %done
done:
  ret i32 %status
}}
define void @{prefix}_close(ptr %model, ptr %heap, ptr %result) {{
  call void @relay.heap.release(ptr %heap, ptr %result)
  call void @relay.heap.settle(ptr %heap, i32 0)
  %leftp = getelementptr i8, ptr %heap, i64 {LEFT}
  %left = load i64, ptr %leftp
  %unreleased = getelementptr i8, ptr %model, i64 {counter}
  %before = atomicrmw add ptr %unreleased, i64 %left monotonic
  call void @relay.arena.give(ptr %model, ptr %heap)
  ret void
}}
"""


def counters_text(prefix: str, slots: int, first: int, counter: int) -> str:
    """C functions that count objects: `PREFIX_live_objects` and `PREFIX_unreleased_objects`.

    The heaps that no run uses are in `slots` words of the handle from byte `first` on; `counter` is where the handle
    counts objects that were alive at the end of runs.
    """
    return f"""
define i64 @{prefix}_live_objects(ptr %model) {{
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %sum = phi i64 [ 0, %entry ], [ %sum1, %next ]
  %more = icmp ult i64 %i, {slots}
  br i1 %more, label %slot, label %done
slot:
  %offset = mul i64 %i, 8
  %from = add i64 %offset, {first}
  %p = getelementptr i8, ptr %model, i64 %from
  %heap = load ptr, ptr %p
  %none = icmp eq ptr %heap, null
  br i1 %none, label %next, label %count
count:
  %livep = getelementptr i8, ptr %heap, i64 {LIVE}
  %live = load i64, ptr %livep
  br label %next
next:
  %here = phi i64 [ 0, %slot ], [ %live, %count ]
  %sum1 = add i64 %sum, %here
  %i1 = add i64 %i, 1
  br label %look
done:
  ret i64 %sum
}}
define i64 @{prefix}_unreleased_objects(ptr %model) {{
  %p = getelementptr i8, ptr %model, i64 {counter}
  %n = load atomic i64, ptr %p monotonic, align 8
  ret i64 %n
}}
"""

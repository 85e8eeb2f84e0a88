"""From LLVM IR text to machine code, and into this process.

`compile_llvm` makes an object file of one module; `load` links objects into the process and gives addresses. A module
may be split into several that are compiled apart (in processes of their own: llvmlite holds one lock in a process).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from relay_mlir.dialects.errors import CompileError

LIGHT = ("sroa", "instcombine", "simplifycfg", "newgvn")
"""IR passes for code that comes from elsewhere than loops-to-llvm, whose code gains nothing from them."""

HEAP = ("always-inline", "sroa", "instcombine", "simplifycfg")
"""IR passes for programs on heap objects: counting and arithmetic on scalars become part of their users."""

_names = itertools.count()


@dataclass(frozen=True)
class Target:
    """What machine code is made for: triple, processor and its features, by LLVM's names."""

    triple: str
    cpu: str
    features: str

    @property
    def vectors(self) -> tuple[int, int]:
        """The width in bits of a vector register, and how many there are."""
        if "+avx512f" in self.features.split(","):
            return 512, 32
        if "+avx" in self.features.split(","):
            return 256, 16
        # SSE2, which every x86-64 has; NEON has twice as many.
        return 128, 32 if self.triple.startswith("aarch64") else 16


@cache
def host() -> Target:
    """This machine; its features are asked for, a virtual machine may lack what its processor's name implies."""
    binding = _binding()
    return Target(binding.get_default_triple(), binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten())


@cache
def _binding() -> Any:
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()  # the switch between stacks is written in assembly
    return binding


def _machine(target: Target, opt: int) -> Any:
    made = _binding().Target.from_triple(target.triple)
    return made.create_target_machine(
        cpu=target.cpu, features=target.features, opt=opt, reloc="pic", codemodel="default"
    )


def _module(text: str, machine: Any) -> Any:
    binding = _binding()
    try:
        module = binding.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM rejects the module: {error}") from error
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return module


def _run_passes(module: Any, machine: Any, passes: Sequence[str]) -> None:
    binding = _binding()
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options())
    manager = binding.create_new_module_pass_manager()
    methods = {
        "always-inline": manager.add_always_inliner_pass,
        "sroa": manager.add_sroa_pass,
        "instcombine": manager.add_instruction_combine_pass,
        "simplifycfg": manager.add_simplify_cfg_pass,
        "newgvn": manager.add_new_gvn_pass,
    }
    for name in passes:
        method = methods.get(name)
        if method is None:
            raise CompileError(f"IR pass {name} is not one of {', '.join(methods)}")
        method()
    manager.run(module, builder)


def compile_llvm(text: str, target: Target | None = None, opt: int = 2, passes: Sequence[str] = ()) -> bytes:
    """The object file of a module: position-independent code for `target` (default: this machine).

    `opt` is the level of code generation, 0 to 3: 1 to 3 give the same speed for the project's kernels, 0 code that is
    2 to 3 times slower. `passes` are IR passes to run before: for the kernels of
    ResNet-18 those of LIGHT make compiling 1.4 times slower and the code no smaller. Raises CompileError for an
    unknown pass, and for text that LLVM rejects.
    """
    machine = _machine(target or host(), opt)
    module = _module(text, machine)
    if passes:
        _run_passes(module, machine, passes)
    return bytes(machine.emit_object(module))


def assembly(text: str, target: Target | None = None, opt: int = 2) -> str:
    """The assembly of a module, for people."""
    machine = _machine(target or host(), opt)
    return str(machine.emit_assembly(_module(text, machine)))


class Loaded:
    """Machine code in this process; it stays as long as this object is referenced."""

    def __init__(self, jit: Any, tracker: Any, name: str):
        self._jit, self._tracker, self._library = jit, tracker, name
        self._kept: dict[str, Any] = {}

    def address(self, name: str) -> int:
        """The address of a function or global.

        Raises KeyError where the objects define no such symbol, CompileError where they need one that is nowhere.
        """
        if name not in self._kept:
            try:
                self._kept[name] = self._jit.lookup(self._library, name)
            except RuntimeError as error:
                if "Symbols not found" in str(error):
                    raise KeyError(name) from error
                raise CompileError(
                    f"the compiled code does not link: {error}; a function that it calls is neither given nor part of "
                    "this process"
                ) from error
        return int(self._kept[name][name])


@cache
def _jit() -> Any:
    binding = _binding()
    # What finds no symbol tells it through the error it raises.
    return binding.create_lljit_compiler(_machine(host(), 2), suppress_errors=True)


def load(objects: Sequence[bytes], symbols: Mapping[str, int] | None = None) -> Loaded:
    """Links object files into this process. They find `symbols` (name to address) and the process's own functions.

    Raises CompileError where they do not link.
    """
    binding = _binding()
    builder = binding.JITLibraryBuilder()
    for data in objects:
        builder.add_object_img(data)
    for name, address in (symbols or {}).items():
        builder.import_symbol(name, address)
    builder.add_current_process()
    library = f"relay{next(_names)}"
    try:
        tracker = builder.link(_jit(), library)
    except RuntimeError as error:
        raise CompileError(f"the compiled code does not link: {error}") from error
    return Loaded(_jit(), tracker, library)

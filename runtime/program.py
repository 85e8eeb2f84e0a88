"""A compiled program before it is loaded or linked: machine code, weights, signature; and the files made from them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING

from relay_mlir.dialects.errors import CompileError
from relay_mlir.runtime.c_abi import header, weights_symbol
from relay_mlir.runtime.elf_object import write_with_data
from relay_mlir.runtime.open_shapes import OpenShapes
from relay_mlir.runtime.signature import Signature
from relay_mlir.runtime.weights_blob import WeightsBlob

if TYPE_CHECKING:
    from relay_mlir.runtime.value_images import ValueTypes


@dataclass(frozen=True)
class Program:
    """What compilation gives. `prefix` starts the names of the C functions; sizes are in bytes."""

    signature: Signature
    prefix: str
    code: bytes
    """An object file that lacks the weights only."""
    weights: WeightsBlob
    arena_bytes: int | None
    """None where it depends on the sizes of the inputs."""
    threads: int
    failures: tuple[str, ...] | None = None
    """The texts of what may fail at run time, of a program on heap objects; None for any other."""
    shapes: OpenShapes | None = None
    """What a program with open dimensions has more; None for any other."""

    values: ValueTypes | None = None
    """What `@main` takes and gives, where that is more than tensors; then the signature is empty."""

    def header(self) -> str:
        """The C header; raises CompileError for a program that C cannot call."""
        self._check_callable()
        return header(self.signature, self.prefix, self.threads, self.arena_bytes, self.failures, self.shapes)

    def save(self, path: Path) -> None:
        """Writes `.o`, an object file, or `.so`, a shared library, with the weights in it.

        Raises CompileError for another suffix, where no linker is found or it fails, and where the file cannot be
        written.
        """
        self._check_callable()
        match path.suffix:
            case ".o":
                with written_beside(path) as file:
                    self._write_object(file)
            case ".so":
                self._link(path)
            case suffix:
                raise CompileError(f"'{path.name}': expected a name that ends in .o or .so, but found '{suffix}'")

    def _check_callable(self) -> None:
        if self.values is not None:
            raise CompileError(
                "@main takes or gives values of data types, tuples or references, which only this process can use; for "
                "a C library give it tensors, and build or take the other values apart in the program"
            )

    def _write_object(self, file: IO[bytes]) -> None:
        if self.weights.size == 0:
            file.write(self.code)
        else:
            symbol = weights_symbol(self.prefix)
            write_with_data(file, self.code, symbol, self.weights.chunks(), self.weights.size)

    def _link(self, path: Path) -> None:
        with TemporaryDirectory(dir=_folder(path), prefix=f".{path.name}.") as folder:
            made, exports, library = (Path(folder) / name for name in ("model.o", "exports.map", "model.so"))
            with made.open("wb") as file:
                self._write_object(file)
            exports.write_text(f"{{ global: {self.prefix}_*; local: *; }};\n")
            command = _linker(made, exports, library, path.name)
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise CompileError(f"linking '{path}' failed: {done.stderr.strip() or ' '.join(command)}")
            os.replace(library, path)


def _linker(source: Path, exports: Path, target: Path, name: str) -> list[str]:
    """The command that links a shared library: the C compiler, which knows where libraries are, or a bare linker."""
    version = f"--version-script={exports}"
    for driver in ("cc", "gcc", "clang"):
        if found := shutil.which(driver):
            options = ["-shared", "-nostartfiles", f"-Wl,{version}", f"-Wl,-soname,{name}", "-Wl,-z,noexecstack"]
            return [found, *options, str(source), "-o", str(target), "-lm", "-lpthread"]
    for linker in ("ld.lld", "ld"):
        if found := shutil.which(linker):
            return [found, "-shared", version, f"-soname={name}", "-znoexecstack", str(source), "-o", str(target)]
    raise CompileError(
        "a shared library needs a linker: none of cc, gcc, clang, ld.lld, ld is on the PATH. Install one "
        "(Debian: apt install binutils), or write an object file (.o), which needs none"
    )


def _folder(path: Path) -> Path:
    folder = path.absolute().parent
    if not folder.is_dir():
        raise CompileError(f"cannot write '{path}': the folder '{folder}' does not exist")
    if not os.access(folder, os.W_OK):
        raise CompileError(f"cannot write '{path}': the folder '{folder}' is not writable")
    return folder


@contextmanager
def written_beside(path: Path) -> Generator[IO[bytes]]:
    """A file that takes the place of `path` when it is complete; raises CompileError where that cannot be."""
    beside = _folder(path) / f".{path.name}.{os.getpid()}.tmp"
    try:
        with beside.open("wb") as file:
            yield file
        os.replace(beside, path)
    except OSError as error:
        raise CompileError(f"cannot write '{path}': {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)

"""Puts data into an object file without an assembler: a new section, and a symbol that points at it.

The data is streamed to the file, so that weights are never held in memory a second time. Only 64-bit little-endian ELF.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from relay_mlir.dialects.errors import CompileError

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_PROGBITS, _SYMTAB = 1, 2
_ALLOC, _LARGE = 0x2, 0x10000000
_OBJECT = 1
_SMALL = 1 << 30
"""Data of this size and more goes into a section that 32-bit displacements need not reach."""
ALIGNMENT = 64


@dataclass
class _Section:
    """A section header."""

    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int

    def pack(self) -> bytes:
        fields = (self.name, self.type, self.flags, self.address, self.offset, self.size)
        return _SECTION.pack(*fields, self.link, self.info, self.alignment, self.entry_size)


def write_with_data(file: IO[bytes], code: bytes, symbol: str, chunks: Iterable[memoryview | bytes], size: int) -> None:
    """Writes the object file `code` with its undefined `symbol` defined as `size` bytes, those of `chunks`.

    Raises CompileError for another kind of file, and where the symbol is missing.
    """
    if code[:6] != b"\x7fELF\x02\x01":
        raise CompileError("weights can be embedded in 64-bit little-endian ELF objects only")
    image = bytearray(code)
    table, count = struct.unpack_from("<Q", image, 40)[0], struct.unpack_from("<H", image, 60)[0]
    names = struct.unpack_from("<H", image, 62)[0]
    sections = [_Section(*_SECTION.unpack_from(image, table + i * _SECTION.size)) for i in range(count)]
    _define(image, sections, symbol, len(sections), size)

    strings = sections[names]
    large = size >= _SMALL
    title = b".lrodata.weights\0" if large else b".rodata.weights\0"
    text = bytes(image[strings.offset : strings.offset + strings.size]) + title
    data_at = _up(len(image), ALIGNMENT)
    text_at = _up(data_at + size, 8)
    table_at = _up(text_at + len(text), 8)
    flags = _ALLOC | (_LARGE if large else 0)
    sections.append(_Section(strings.size, _PROGBITS, flags, 0, data_at, size, 0, 0, ALIGNMENT, 0))
    strings.offset, strings.size = text_at, len(text)
    struct.pack_into("<Q", image, 40, table_at)
    struct.pack_into("<H", image, 60, len(sections))

    file.write(image)
    file.write(bytes(data_at - len(image)))
    written = 0
    for chunk in chunks:
        file.write(chunk)
        written += len(chunk)
    if written != size:
        raise CompileError(f"the weights are {written} bytes, but the program expects {size}")
    file.write(bytes(text_at - data_at - size) + text)
    file.write(bytes(table_at - text_at - len(text)))
    for section in sections:
        file.write(section.pack())


def _define(image: bytearray, sections: list[_Section], symbol: str, section: int, size: int) -> None:
    """Gives the undefined symbol a place: the start of a section."""
    for offset, name, fields in _symbols(image, sections):
        if name == symbol and fields[3] == 0:
            info = (fields[1] & 0xF0) | _OBJECT
            _SYMBOL.pack_into(image, offset, fields[0], info, fields[2], section, 0, size)
            return
    raise CompileError(f"the object file does not refer to the symbol '{symbol}'")


def _symbols(image: bytearray, sections: list[_Section]) -> Iterator[tuple[int, str, tuple[int, ...]]]:
    for section in sections:
        if section.type != _SYMTAB:
            continue
        strings = sections[section.link].offset
        for offset in range(section.offset, section.offset + section.size, _SYMBOL.size):
            fields = _SYMBOL.unpack_from(image, offset)
            start = strings + fields[0]
            yield offset, image[start : image.index(0, start)].decode(errors="replace"), fields


def _up(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment

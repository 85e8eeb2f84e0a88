"""Finds test directives that do nothing: mistyped ones, ones without a colon, prefixes that no RUN line asks for."""

import re

_SUFFIXES = ("", "-NEXT", "-SAME", "-NOT", "-DAG", "-LABEL", "-EMPTY", "-COUNT")
_LIT = {"RUN", "REQUIRES", "UNSUPPORTED", "XFAIL", "ALLOW_RETRIES", "DEFINE", "REDEFINE", "COM"}
_PROSE = {"NOTE", "TODO", "ONNX", "MLIR"}
_EXPECTED = re.compile(r"expected-(error|warning|note|remark)(-re)? *(@([+-]\d+|above|below|unknown))? *\{\{.*\}\}")


def problems(text: str) -> list[str]:
    """What is wrong with the directives of a test, each with its line."""
    runs = re.findall(r"//\s*RUN:(.*)", text)
    prefixes = _prefixes(runs)
    known = {prefix + suffix for prefix in prefixes for suffix in _SUFFIXES}
    found: list[str] = []
    used: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        problem = _problem(line, known, used)
        if problem is not None:
            found.append(f"line {number}: {problem}: {line.strip()}")
    if not runs:
        found.append("line 1: no RUN line")
    for prefix in prefixes:
        if not any(name == prefix or name.startswith(prefix + "-") for name in used):
            found.append(f"line 1: a RUN line asks for the prefix {prefix}, but no line has it")
    if re.search(r"//.*expected-\w", text) and not any("--verify-diagnostics" in run for run in runs):
        found.append("line 1: expectations without --verify-diagnostics in a RUN line")
    return found


def _prefixes(runs: list[str]) -> list[str]:
    """The prefixes of all filecheck commands of the RUN lines."""
    found: dict[str, None] = {}
    for run in runs:
        for command in re.split(r"\||&&", run):
            if not re.search(r"\bfilecheck\b", command):
                continue
            given = re.findall(r"--?check-prefix(?:es)?[= ](\S+)", command)
            found |= dict.fromkeys(name for names in given for name in names.split(","))
            if not given:
                found["CHECK"] = None
    return list(found)


def _problem(line: str, known: set[str], used: set[str]) -> str | None:
    comment = line.partition("//")[2].strip()
    if "expected-" in comment:
        return None if _EXPECTED.search(comment) else "not an expectation"
    match = re.match(r"([A-Za-z][A-Za-z0-9_]*(?:[-_][A-Za-z0-9]+)*)(\{LITERAL\})?(\s*)(:?)", comment)
    if match is None:
        return None
    word, colon = match[1], match[4] == ":"
    name = re.sub(r"-COUNT-\d+$", "-COUNT", word)
    if name in known and colon and not match[3]:
        used.add(name)
        return None
    meant = name.upper().replace("_", "-")
    # A lower-case prefix alone, such as `relaxed:`, may be the start of a sentence.
    sure = name.isupper() or (colon and (meant.startswith("CHECK") or "-" in meant))
    if sure and meant in {each.replace("_", "-") for each in known}:
        return "a directive needs upper case, '-' and a colon right after it"
    if word.isupper() and colon and word not in _LIT | _PROSE:
        return f"'{word}' is not a directive of this test"
    return None

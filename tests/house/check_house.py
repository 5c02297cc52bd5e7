#!/usr/bin/env python3
"""Proves the house: include arrows, vendor headers at the edges, file lengths, who may print.

Usage: check_house.py ROOT [--self-test]
With --self-test it plants one fault of each kind in a copy and demands to see each reported.
"""
import fnmatch
import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from rooms import ALLOWED, MAX_LINES, VENDOR  # noqa: E402

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
SOURCES = (".cpp", ".hpp", ".cu", ".cuh")
PRINTS = re.compile(r"\b(std::cout|printf\s*\(|std::puts|std::println)")
PRINT_EDGES = ("src/base/check.cpp", "src/engine/progress.cpp")


def room_of(path):
    parts = path.parts
    return parts[1] if parts[0] == "src" else parts[0]


def target_room(include):
    first = include.split("/")[0]
    return first if first in ALLOWED else None


def faults(root):
    for top in ("src", "kernels", "comm", "apps"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SOURCES:
                continue
            path = file.relative_to(root)
            text = file.read_text(encoding="utf-8")
            room = room_of(path)
            if room not in ALLOWED:
                yield f"{path}: stands in no room"
                continue
            for quote, include in INCLUDE.findall(text):
                target = target_room(include) if quote == '"' else None
                if target and target != room and target not in ALLOWED[room]:
                    yield f"{path}: {room} may not include {include}"
                for vendor, edges in VENDOR.items():
                    ours = target is not None
                    if not ours and include.startswith(vendor) and not any(fnmatch.fnmatch(str(path), e) for e in edges):
                        yield f"{path}: {include} belongs to {', '.join(edges)}"
            if file.suffix == ".hpp" and "#pragma once" not in text:
                # Highway compiles its -inl headers once for each target, with guards of its own.
                if not file.name.endswith("-inl.hpp"):
                    yield f"{path}: no #pragma once"
            lines = text.count("\n")
            if lines > MAX_LINES:
                yield f"{path}: {lines} lines, {MAX_LINES} at most"
            if room != "apps" and str(path) not in PRINT_EDGES:
                for match in PRINTS.finditer(re.sub(r'f?n?s?printf|fprintf|snprintf', lambda m: "_" if m.group() != "printf" else "printf", text)):
                    yield f"{path}: prints ({match.group(1)}); only apps do"
            if re.search(r"\b(TODO|FIXME|XXX)\b", text):
                yield f"{path}: something is left to do"


def self_test(root):
    planted = {
        "comm/planted.hpp": ('#pragma once\n#include "page/pool.hpp"\n', "may not include page/pool.hpp"),
        "src/model/planted.cpp": ("#include <Kokkos_Core.hpp>\n", "belongs to"),
        "src/suite/planted.cpp": ('#include <cstdio>\nvoid f() { std::printf("x"); }\n', "prints"),
        "src/page/planted.cpp": ("\n" * (MAX_LINES + 1), "lines"),
        "src/codec/planted.hpp": ("int x;\n", "no #pragma once"),
    }
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for top in ("src", "kernels", "comm", "apps"):
            shutil.copytree(root / top, copy / top)
        for name, (text, _) in planted.items():
            (copy / name).write_text(text)
        found = list(faults(copy))
        missed = [n for n, (_, want) in planted.items() if not any(f.startswith(n) and want in f for f in found)]
    for name in missed:
        print(f"self-test: the fault planted in {name} was not seen")
    return not missed


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    if "--self-test" in sys.argv and not self_test(root):
        return 1
    found = list(faults(root))
    print("\n".join(found) if found else "the house stands")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

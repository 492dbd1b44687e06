"""lint_floors.py -- a floor includes only lower ones; two libraries' headers stay in one folder each."""
import os
import re

from lint_tree import ROOT, SOURCE, Verdict, files, read

# Longest prefix wins. The same table as in server/README.md and kernels/README.md.
FLOORS = {"kernels/core/": 0, "kernels/banks/": 1, "kernels/strategies/": 1, "kernels/": 2, "server/codec/": 3, "server/banks/": 3, "server/pack/": 4, "server/table/": 4, "server/engine/": 4,
          "server/stats/": 4, "server/base/": 4, "server/config/": 4, "server/http/": 5, "server/web/": 5, "server/life/": 6,
          "server/cmd/": 6, "server/main.c": 6}
CONTRACTS = {"status": 0, "alloc": 0, "crew": 0, "buf": 0, "matrix": 0, "block": 0, "clock": 0, "condition": 0, "strategy": 1, "banks": 1, "occupancy": 1, "patterns": 1, "tuning": 1, "backend": 2, "measure": 2,
             "transposed": 2, "codec": 3, "bank_report": 3, "config": 4, "log": 4, "job": 4, "engine": 4, "stats": 4, "http": 5}
ONLY_IN = {"cuda_runtime.h": "kernels/cuda/", "cuda_runtime_api.h": "kernels/cuda/", "cuda.h": "kernels/cuda/", "microhttpd.h": "server/http/"}


def floor_of(path):
    best = max((prefix for prefix in FLOORS if path.startswith(prefix)), key=len, default=None)
    return None if best is None else FLOORS[best]


def contract_floor(name):
    return CONTRACTS.get(name)


verdict = Verdict()
for path in files(*SOURCE):
    if path.startswith("tests/"):
        continue
    mine = floor_of(path)
    if path.startswith("include/transposed/") and "/tbl/" not in path:
        mine = contract_floor(os.path.basename(path)[:-2])
        if mine is None:
            verdict.say(path, 0, "is a contract that tests/lint/lint_floors.py does not place on a floor")
            continue
    if mine is None:
        if not path.startswith(("include/transposed/tbl/", "deploy/", "config/")):
            verdict.say(path, 0, "lies on no floor: place its folder in tests/lint/lint_floors.py")
        continue
    for number, line in enumerate(read(path).splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not found:
            continue
        name = found.group(2)
        if name in ONLY_IN and not path.startswith(ONLY_IN[name]):
            verdict.say(path, number, f"includes {name}, which only {ONLY_IN[name]} may")
        if found.group(1) == "<":
            continue
        if name.startswith("transposed/"):
            if name.startswith("transposed/tbl/"):
                continue
            theirs = contract_floor(name[len("transposed/"):-2])
        else:
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            target = beside if os.path.exists(os.path.join(ROOT, beside)) else name
            theirs = floor_of(target)
            if path.startswith("kernels/") and target.startswith("server/"):
                verdict.say(path, number, f"includes {name}: kernels/ never includes server/")
                continue
            if path.startswith("include/"):
                verdict.say(path, number, f"includes {name}: a contract includes contracts only")
                continue
        if theirs is not None and theirs > mine:
            verdict.say(path, number, f"on floor {mine} includes {name} of floor {theirs}")
verdict.end()

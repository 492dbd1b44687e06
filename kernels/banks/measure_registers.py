#!/usr/bin/env python3
"""measure_registers.py -- asks the compiler how many registers a thread of each kernel takes, and writes registers.def.

  python3 kernels/banks/measure_registers.py           writes kernels/banks/registers.def
  python3 kernels/banks/measure_registers.py --check   compares instead, for sm_90 alone; status 77 where that compiler is not

Needs nvcc. The figures are ptxas's own words (-Xptxas -v) on kernels/cuda/launch.cu, with the options of the build.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FILE = os.path.join(HERE, "registers.def")
ARCHITECTURES = [75, 80, 86, 89, 90, 100, 120]  # as in occupancy.c
HEAD = """/* registers.def -- registers a thread of each kernel takes: one row a strategy and architecture.
 *
 * X(NAME, capability, fixed..., any...)
 *   NAME        enum tpd_strategy_id value without its prefix TPD_STRATEGY_
 *   capability  compute capability, major * 10 + minor
 *   fixed, any  five numbers each, for words of 1, 2, 4, 8, 16 bytes: the kernel with the default tile compiled in, and
 *               the one that takes its tile at run time (the same where a strategy has no tile)
 * Measured, not derived: written by measure_registers.py beside it, from ptxas of %s.
 * After a kernel changed, or a strategy was added: run it again.
 */
"""


def nvcc_version():
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        return None, None
    said = subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout
    found = re.search(r"release [\d.]+, V([\d.]+)", said)
    return nvcc, "CUDA " + found.group(1) if found else None


def strategies():
    with open(os.path.join(ROOT, "include/transposed/tbl/strategies.def")) as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    return re.findall(r"^X\((\w+),", text, re.M)


def rows(nvcc, capability):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([nvcc, "-std=c++17", "-O3", f"-arch=sm_{capability}", "-I", os.path.join(ROOT, "include"), "-I", ROOT, "-cubin",
                               "-Xptxas", "-v", "-o", os.path.join(folder, "launch.cubin"), os.path.join(ROOT, "kernels/cuda/launch.cu")],
                              capture_output=True, text=True, check=True)
    used = {}
    for name, words, kind, count in re.findall(r"entry function '\w*?tpd_kernel_(\w+?)_(\d+)_(FIXED|ANY)\w*'.*?Used (\d+) registers", done.stderr, re.S):
        used[name, int(words), kind] = int(count)
    for name in strategies():
        fixed = [used[name, words, "FIXED"] for words in (1, 2, 4, 8, 16)]
        anys = [used.get((name, words, "ANY"), used[name, words, "FIXED"]) for words in (1, 2, 4, 8, 16)]
        yield f"X({name}, {capability}, {', '.join(map(str, fixed))}, {', '.join(map(str, anys))})"


def main():
    nvcc, version = nvcc_version()
    check = "--check" in sys.argv[1:]
    if nvcc is None or version is None:
        print("waived: nvcc is not installed")
        return 77
    if check:
        with open(FILE) as file:
            text = file.read()
        if f"ptxas of {version}." not in text:
            print(f"waived: the table was not made by {version}")
            return 77
        missing = [row for row in rows(nvcc, 90) if row not in text]
        for row in missing:
            print(f"kernels/banks/registers.def lacks {row}: run kernels/banks/measure_registers.py")
        print(f"{len(missing)} problems")
        return 1 if missing else 0
    lines = [row for capability in ARCHITECTURES for row in rows(nvcc, capability)]
    with open(FILE, "w") as file:
        file.write(HEAD % version + "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

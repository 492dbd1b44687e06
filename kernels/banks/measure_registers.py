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
KERNELS = {"FIXED": 0, "ANY": 1, "OWN_0": 0, "OWN_1": 1, "OWN_2": 2, "OWN_3": 3}
HEAD = """/* registers.def -- registers a thread of each kernel takes: one row a strategy, kernel and architecture.
 *
 * X(NAME, kernel, capability, registers...)
 *   NAME        enum tpd_strategy_id value without its prefix TPD_STRATEGY_
 *   kernel      which of the strategy's, as in struct tpd_plan: 0 with the default tile compiled in, 1 with any; of a strategy
 *               with tiles of its own, its shapes
 *   capability  compute capability, major * 10 + minor
 *   registers   five numbers, for words of 1, 2, 4, 8, 16 bytes
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
    for name, words, kind, spilt, count in re.findall(r"entry function '\w*?tpd_kernel_([A-Z]+)_(\d+)_(FIXED|ANY|OWN_\d)\w*'.*?(\d+) bytes spill stores"
                                                      r".*?Used (\d+) registers", done.stderr, re.S):
        used.setdefault((name, KERNELS[kind]), {})[int(words)] = int(count)
        if int(spilt) != 0:
            print(f"{name} {kind}, {words} bytes, sm_{capability}: {spilt} bytes spilt")
    for name, kernel in sorted(used, key=lambda one: (strategies().index(one[0]), one[1])):
        yield f"X({name}, {kernel}, {capability}, {', '.join(str(used[name, kernel][words]) for words in (1, 2, 4, 8, 16))})"


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

#!/usr/bin/env python3
"""draw_pictures.py -- draws pictures/ with the binary itself: `python3 kernels/banks/draw_pictures.py build/release/bin/transposed`.

tests/e2e/test_banks.py compares the committed files with what the binary draws today.
"""
import os
import subprocess
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pictures")
# Name: what `transposed banks` is asked.
PICTURES = {
    "naive": "--strategy naive --itemsize 4",
    "padded": "--strategy padded --itemsize 4",
    "rotated": "--strategy rotated --itemsize 4",
    "swizzled": "--strategy swizzled --itemsize 4",
    "swapped": "--strategy swapped --itemsize 4",
    "direct": "--strategy direct --itemsize 4",
    "vector": "--strategy vector --itemsize 4",
    "shifted": "--strategy shifted --itemsize 4",
    "narrow": "--strategy narrow --itemsize 4 --rows 3 --cols 512",
    "packed": "--strategy packed --itemsize 4 --rows 20 --cols 12",
    "doubles": "--tile 32x32 --itemsize 8",
    "bytes_at_33": "--stride 33 --itemsize 1 --offset 1",
    "stride_2": "--stride 2 --itemsize 4",
    "multicast": "--stride 1 --group 4 --itemsize 4",
}


def draw(binary, name):
    return subprocess.run([binary, "banks", "--svg", *PICTURES[name].split()], capture_output=True, check=True).stdout


if __name__ == "__main__":
    for name in PICTURES:
        with open(os.path.join(FOLDER, name + ".svg"), "wb") as file:
            file.write(draw(sys.argv[1], name))

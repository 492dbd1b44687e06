#!/usr/bin/env python3
"""Starts corpus/NAME from the golden files: each with the byte or bytes in front that its target takes as the query."""
import pathlib

HERE = pathlib.Path(__file__).parent
FRONT = {"json": b"\x01", "npy": b"\x0f", "mtx": b"\x05", "safetensors": b"\x03"}
for name, front in FRONT.items():
    folder = HERE / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted((HERE.parent / "golden").glob(f"*.in.{name}")) + sorted((HERE.parent / "golden_refuse").glob(f"*.{name}")):
        if file.stat().st_size < 2000:
            (folder / file.name).write_bytes(front + file.read_bytes())
raw = HERE / "corpus" / "raw"
raw.mkdir(parents=True, exist_ok=True)
for rows, cols, batch, itemsize, dtype in [(2, 3, 0, 0, 9), (3, 2, 5, 0, 2), (1, 1, 0, 9, 255), (0, 4, 0, 0, 255), (2, 2, 0, 25, 255), (5, 1, 3, 0, 14)]:
    sizes = [1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 8, 8, 8, 8, 16, 1, 1]
    size = itemsize >> 1 if itemsize & 1 else sizes[dtype] if dtype < 17 else 4
    count = rows * cols * (batch >> 1 if batch & 1 else 1) * size
    (raw / f"{rows}x{cols}-{dtype}-{itemsize}").write_bytes(bytes([rows, cols, batch, itemsize, dtype]) + bytes(i * 37 % 256 for i in range(count)))
TEXTS = {
    "accept": ["*/*", "application/json;q=0.5, application/x-npy", "text/html, application/*;q=0.1", 'application/json;x="a,\\"b";q=1', "a.npy", "[1]"],
    "tuning": ["device D\nhost C; threads 2\nat 1700000000\ncrossover 1 2 3 4 5 6\n"
               "cell 4 aligned large 67108864 vector 2 32000 shifted 0 40000 vector 0 33000\ncell other any tiny 65536 direct 0 2000 - 0 0 direct 0 2000\n",
               "device D\nhost\nat 0\ncrossover 0 0 0 0 0 0\n", "transposed-tuning 1\ndevice X\nend 0000000000000000\n", "transposed-tuning 2\n",
               "device D\nhost\nat 1\ncrossover 1 2 3 4 5 99999999999999999999\n", "device E\n", "root:x:0:0\n"],
    "number": ["\x09" + "1.5", "\x0c" + "5e-324", "\x05" + "65504", "\x06" + "1e38", "\x0d" + "[1,-2.5]", "\x02" + "255", "\x0a" + "-1e18", "\x00true",
               "\x0f" + "448", "\x10" + '"-Infinity"', "\x0bnull", "\x05" + "0.000061005353927612305",
               "\x1d" + "-inf", "\x1e" + "(1.5-2e3j)", "\x1d" + '" +12.5"', "\x1a" + "4294967295", "\x2f" + "1 -2.5", "\x2e" + "nan", "\x1d" + "123456789.0123456", "\x1b-9223372036854775808"],
}
for name, texts in TEXTS.items():
    folder = HERE / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    for i, text in enumerate(texts):
        (folder / f"{i:02d}").write_bytes(text.encode("latin1"))
WARP = ",".join(str(i * 128) for i in range(32))
NULLS = ",".join(["null"] * 31)
BANKS = [f'{{"requests":[{{"op":"load","width":4,"addresses":[{WARP}]}}],"bank_bytes":8}}', f'{{"requests":[{{"op":"ldmatrix","matrices":4,"addresses":[{WARP}]}}]}}',
         f'{{"requests":[{{"op":"store","width":16,"addresses":[16,{NULLS}]}},{{"op":"stmatrix","matrices":2,"addresses":[{WARP}]}}]}}', '{"requests":[]}',
         f'{{"requests":[{{"op":"load","width":8,"addresses":[4,{NULLS}]}}]}}', '{"requests":[{"op":"load","width":007}]}', '{"requests":[[[[[]]]]]}', '{"requests"', "\x08" + "1..64",
         "\x02" + "32x48", "\x00" + "swizzled", "\x0c" + "256", "\x09" + "12", "\x03" + "1152921504606846976",
         "\x02" + "7x9\n\x05" + "11\n\x06" + "3\n\x07" + "80\n\x01" + "2\n\x0d" + "8", "\x00" + "padded\n\x02" + "16x64\n\x01" + "8\n\x0f" + "5\n\x10" + "store"]
(HERE / "corpus" / "banks").mkdir(parents=True, exist_ok=True)
for i, text in enumerate(BANKS):
    (HERE / "corpus" / "banks" / f"{i:02d}").write_bytes(text.encode("latin1"))

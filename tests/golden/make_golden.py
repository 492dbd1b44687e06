#!/usr/bin/env python3
"""Writes the golden files: what numpy says a transpose is, what a JSON answer looks like, and bodies that must be refused.

Run it by hand after a change of the list (needs numpy); the files are committed, so the tests need neither.
  NAME.in.FORMAT (+ NAME.params: the query) -> NAME.out.FORMAT;  ../golden_refuse/SLUG--WHAT.FORMAT (+ .params) -> SLUG
"""
import io
import json
import pathlib
import struct

import numpy as np

HERE = pathlib.Path(__file__).parent
REFUSE = HERE.parent / "golden_refuse"
random = np.random.default_rng(7)


def put(folder, name, data, params=""):
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    if params:
        stem = name.split(".in.")[0] if ".in." in name else name.rsplit(".", 1)[0]
        (folder / (stem + ".params")).write_text(params + "\n")


def npy(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version)
    return out.getvalue()


def some(dtype, *shape):
    dtype = np.dtype(dtype)
    raw = random.integers(0, 256, size=int(np.prod(shape)) * dtype.itemsize, dtype=np.uint8)
    if dtype.kind == "b":
        raw &= 1
    return raw.view(dtype).reshape(shape)


def pair(name, array, version=None, fortran=False):
    given = np.asfortranarray(array) if fortran else array
    put(HERE, f"npy_{name}.in.npy", npy(given, version))
    put(HERE, f"npy_{name}.out.npy", npy(np.ascontiguousarray(np.swapaxes(array, -1, -2))))


for kind in "b1 i1 u1 i2 u2 f2 V2 i4 u4 f4 i8 u8 f8 c8 c16 V1 V3 V12 S5 f16".split():
    pair("le_" + kind, some("<" + kind if kind[0] not in "bVS" else kind, 3, 5))
for kind in "i2 u2 f2 i4 u4 f4 i8 u8 f8 c8 c16".split():
    pair("be_" + kind, some(">" + kind, 4, 3))
pair("unicode", np.array([["a", "bcd"], ["\u03b1", ""], ["xy", "z"]], dtype="<U3"))
pair("date", np.arange(6).reshape(2, 3).astype("<M8[ns]"))
pair("span", np.arange(6).reshape(2, 3).astype(">m8[D]"))
pair("v2", some("<f4", 2, 7), version=(2, 0))
pair("v3", some("<f8", 5, 2), version=(3, 0))
pair("fortran", some("<f4", 3, 4), fortran=True)
pair("fortran_be", some(">f8", 4, 3), fortran=True)
pair("batch", some("<i4", 2, 3, 4))
pair("batch_one", some("<i4", 1, 3, 4))
pair("fortran_batch_one", some("<i4", 1, 3, 4), fortran=True)
pair("row", some("<f4", 1, 9))
pair("column", some("<f4", 9, 1))
pair("one", some("<f8", 1, 1))
pair("empty_0x5", some("<f4", 0, 5))
pair("empty_5x0", some("<f4", 5, 0))
pair("empty_batch", some("<f4", 0, 2, 3))
pair("wide", some("|u1", 2, 300))


def handmade(name, header, data, out, version=1):
    body = header.encode()
    length = struct.pack("<H" if version == 1 else "<I", len(body))
    put(HERE, f"npy_{name}.in.npy", b"\x93NUMPY" + bytes([version, 0]) + length + body + data)
    put(HERE, f"npy_{name}.out.npy", npy(out))


small = np.arange(6, dtype="<i2").reshape(2, 3)
turned = np.ascontiguousarray(small.T)
handmade("order", "{'shape':(2,3),'fortran_order':False,'descr':'<i2'}", small.tobytes(), turned)
handmade("quotes", '{"descr": "<i2", "fortran_order": False, "shape": (2, 3), }\n', small.tobytes(), turned)
handmade("spaces", "  {  'descr'  :  '<i2' , 'fortran_order' : False , 'shape' : ( 2 , 3 , ) , }   \n\n", small.tobytes(), turned)
handmade("python2", "{'descr': '<i2', 'fortran_order': False, 'shape': (2L, 3L)}", small.tobytes(), turned)
handmade("long_v3", "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3)}" + " " * 900, small.tobytes(), turned, 3)

f4 = some("<f4", 3, 5)
put(HERE, "raw_f4.in.raw", f4.tobytes(), "rows=3&cols=5")
put(HERE, "raw_f4.out.raw", f4.T.tobytes())
v3 = some("V3", 4, 2)
put(HERE, "raw_opaque.in.raw", v3.tobytes(), "rows=4&cols=2&itemsize=3")
put(HERE, "raw_opaque.out.raw", np.ascontiguousarray(v3.T).tobytes())
u8 = some("<u8", 2, 3, 4)
put(HERE, "raw_batch.in.raw", u8.tobytes(), "rows=3&cols=4&batch=2&dtype=uint64")
put(HERE, "raw_batch.out.raw", np.ascontiguousarray(np.swapaxes(u8, 1, 2)).tobytes())
put(HERE, "raw_empty.in.raw", b"", "rows=0&cols=4")
put(HERE, "raw_empty.out.raw", b"")
put(HERE, "raw_to_npy.in.raw", f4.tobytes(), "rows=3&cols=5")
put(HERE, "raw_to_npy.out.npy", npy(np.ascontiguousarray(f4.T)))
be = some(">c8", 2, 3)
put(HERE, "npy_be_to_raw.in.npy", npy(be))
put(HERE, "npy_be_to_raw.out.raw", be.T.astype("<c8").tobytes())

texts = {
    "letters": ("[[1.10, 9007199254740993, 1e400],\n [-0, 1E+2, 0.000]]\n", "[[1.10,-0],[9007199254740993,1E+2],[1e400,0.000]]"),
    "kinds": ('[[true,null],["a\\"b,]",false],["\u03b1",""]]', '[[true,"a\\"b,]","\u03b1"],[null,false,""]]'),
    "batch": ("[[[1,2]],[[3,4]]]", "[[[1],[2]],[[3],[4]]]"),
    "empty": ("[]", "[]"),
    "empty_rows": ("[[],[]]", "[]"),
    "flat": ('{"rows":2,"cols":3,"data":[1,2,3,4,5,6]}', '{"rows":3,"cols":2,"data":[1,4,2,5,3,6]}'),
    "flat_shape": ('{"data":[1,2,3,4,5,6],"shape":[3,2]}', '{"shape":[2,3],"data":[1,3,5,2,4,6]}'),
    "flat_batch": ('{"batch":2,"rows":1,"cols":2,"data":[1,2,3,4]}', '{"batch":2,"rows":2,"cols":1,"data":[1,2,3,4]}'),
    "shape_batch": ('{"shape":[2,1,2],"data":[1,2,3,4]}', '{"shape":[2,2,1],"data":[1,2,3,4]}'),
    "nested": ('{"data":[[1,2],[3,4]]}', '{"data":[[1,3],[2,4]]}'),
    "nested_dtype": ('{"dtype":"int8","data":[[1,2],[3,4]],"rows":2,"cols":2}',
                     '{"rows":2,"cols":2,"dtype":"int8","data":[[1,3],[2,4]]}'),
    "zero_shape": ('{"shape":[0,5],"data":[]}', '{"shape":[5,0],"data":[]}'),
    "complex": ('{"data":[[[1, 2],[3,4]]],"dtype":"complex64"}', '{"dtype":"complex64","data":[[[1, 2]],[[3,4]]]}'),
    "complex_flat": ('{"data":[[1,2],[3,4]],"shape":[1,2],"dtype":"complex128"}',
                     '{"shape":[2,1],"dtype":"complex128","data":[[1,2],[3,4]]}'),
    "own_dtype": ('{"dtype":"int8","data":[[300,2]]}', '{"dtype":"int8","data":[[300],[2]]}'),
    "complex_dtype": ("[[[1, 2],[3,4]]]", "[[[1, 2]],[[3,4]]]"),
    "surrogate": ('[["\\ud83d\\ude00","\\u00e9"]]', '[["\\ud83d\\ude00"],["\\u00e9"]]'),
}
params = {"own_dtype": "dtype=int8", "complex_dtype": "dtype=complex64"}
for name, (given, wanted) in texts.items():
    put(HERE, f"json_{name}.in.json", given, params.get(name, ""))
    put(HERE, f"json_{name}.out.json", wanted)


def convert(name, text, array, params=""):
    put(HERE, f"json_{name}.in.json", text, params)
    put(HERE, f"json_{name}.out.npy", npy(array))


convert("to_int", "[[1,2,3],[4,5,6]]", np.arange(1, 7, dtype="<i8").reshape(2, 3).T.copy())
convert("to_uint", "[[1],[18446744073709551615]]", np.array([[1, 2**64 - 1]], dtype="<u8"))
convert("to_bool", "[[true],[false]]", np.array([[True, False]]))
convert("to_float", "[[1,2.5],[-1e-3,1e300]]", np.array([[1, -1e-3], [2.5, 1e300]], dtype="<f8"))
convert("to_f2", "[[0.1,1.00048828125000000000000001],[65504,5.960464477539063e-8]]",
        np.array([[0.1, 65504], [1.0009765625, 5.960464477539063e-8]], dtype="<f2"), "dtype=float16")
convert("to_i1", '[[1e1,-128],[127,1.0]]', np.array([[10, 127], [-128, 1]], dtype="i1"), "dtype=int8")
convert("to_c8", '{"dtype":"complex64","data":[[[1,-2],[0.5,3e2]]]}', np.array([[1 - 2j], [0.5 + 300j]], dtype="<c8"))
convert("to_nan", '[["NaN","-Infinity"],[null,-0.0]]', np.array([[np.nan, np.nan], [-np.inf, -0.0]], dtype="<f4"), "dtype=float32")
f8 = some("<f8", 4, 3)
f8[~np.isfinite(f8)] = 0.5


def shown(array, word=lambda x: json.dumps(float(x))):
    return "[" + ",".join("[" + ",".join(word(x) for x in row) + "]" for row in array) + "]"


put(HERE, "npy_to_json_int.in.npy", npy(np.array([[-2**63, 2**63 - 1], [0, -1]], dtype=">i8")))
put(HERE, "npy_to_json_int.out.json", "[[-9223372036854775808,0],[9223372036854775807,-1]]")
put(HERE, "npy_to_json_f8.in.npy", npy(np.array([[0.1, -0.0, 1e22], [5e-324, 1, 2.5]])))
put(HERE, "npy_to_json_f8.out.json", "[[0.1,5e-324],[-0.0,1.0],[1e+22,2.5]]")
put(HERE, "npy_to_json_nan.in.npy", npy(np.array([[np.nan, np.inf], [-np.inf, 1]])), "nonfinite=string")
put(HERE, "npy_to_json_nan.out.json", '[["NaN","-Infinity"],["Infinity",1.0]]')
put(HERE, "npy_to_json_null.in.npy", npy(np.array([[np.nan, 1]], dtype="<f2")), "nonfinite=null")
put(HERE, "npy_to_json_null.out.json", "[[null],[1.0]]")
put(HERE, "npy_to_json_c8.in.npy", npy(np.array([[1 + 2j, 0.1j]], dtype="<c8")))
put(HERE, "npy_to_json_c8.out.json", "[[[1.0,2.0]],[[0.0,0.1]]]")
put(HERE, "npy_to_json_bool.in.npy", npy(np.array([[True, False]])))
put(HERE, "npy_to_json_bool.out.json", "[[true],[false]]")
put(HERE, "npy_to_json_batch.in.npy", npy(np.arange(4, dtype="u1").reshape(1, 2, 2)))
put(HERE, "npy_to_json_batch.out.json", "[[[0,2],[1,3]]]")

# --- what must be refused ---


def bad_json(slug, what, text, params=""):
    put(REFUSE, f"{slug}--json-{what}.json", text, params)


for what, text in {
    "leading-zero": "[[007]]", "nan": "[[NaN]]", "infinity": "[[-Infinity]]", "plus": "[[+1]]", "dot": "[[.5]]", "dot-end": "[[1.]]",
    "exponent": "[[1e]]", "hex": "[[0x1]]", "minus": "[[-]]", "comma-end": "[[1,]]", "row-comma-end": "[[1],]", "two-commas": "[[1,,2]]",
    "no-comma": "[[1 2]]", "single-quotes": "[['a']]", "true-case": "[[True]]", "word-runs-on": "[[nulls]]", "object-cell": "[[{}]]",
    "scalar": "7", "string": '"[[1]]"', "flat": "[1,2,3]", "too-deep": "[[[[[1]]]]]", "four-levels": "[[[[1]]]]",
    "mixed-levels": "[[1],2]", "mixed-levels-2": "[1,[2]]", "control": '[["a\tb"]]', "escape": '[["\\x41"]]', "escape-u": '[["\\u12g4"]]',
    "utf8-overlong": b'[["\xc0\xaf"]]', "utf8-surrogate": b'[["\xed\xa0\x80"]]', "utf8-cut": b'[["\xe2\x82"]]', "utf8-f5": b'[["\xf5\x80\x80\x80"]]',
    "bom": b"\xef\xbb\xbf[[1]]", "nul": b"[[1\x00]]", "wrong-bracket": "[[1}]", "comment": "[[1/*x*/]]", "unknown-key": '{"data":[[1]],"name":1}',
    "key-twice": '{"data":[[1]],"data":[[2]]}', "no-data": '{"rows":1,"cols":1}', "empty-object": "{}", "key-bare": "{data:[[1]]}",
    "no-colon": '{"data" [[1]]}', "object-comma-end": '{"data":[[1]],}', "rows-negative": '{"rows":-1,"cols":1,"data":[1]}',
    "rows-fraction": '{"rows":1.0,"cols":1,"data":[1]}', "rows-string": '{"rows":"1","cols":1,"data":[1]}', "shape-one": '{"shape":[4],"data":[1,2,3,4]}',
    "shape-four": '{"shape":[1,1,1,1],"data":[1]}', "shape-number": '{"shape":4,"data":[1]}', "shape-and-rows": '{"shape":[1,1],"rows":1,"data":[1]}',
    "data-string": '{"data":"1,2"}', "dtype-number": '{"dtype":4,"data":[[1]]}', "complex-plain": '{"dtype":"complex64","data":[[1,2,3]]}',
}.items():
    bad_json("malformed", what, text)
for what, text in {
    "empty": "", "space": " \n", "open": "[[1,2", "open-string": '[["ab', "open-word": "[[tru", "open-row": "[[1,2]", "open-number": "[[-",
    "open-object": '{"data":[[1]]', "open-escape": '[["\\',
}.items():
    bad_json("truncated", what, text)
bad_json("trailing-bytes", "second", "[[1]][[2]]")
bad_json("trailing-bytes", "comma", "[[1]],")
bad_json("trailing-bytes", "nul", b"[[1]]\n\x00")
for what, text in {"short": "[[1,2],[3]]", "long": "[[1],[2,3]]", "empty-second": "[[1],[]]", "empty-first": "[[],[1]]",
                   "batch": "[[[1],[2]],[[3]]]", "batch-inner": "[[[1,2]],[[3]]]"}.items():
    bad_json("ragged", what, text)
for what, text in {"flat-few": '{"rows":2,"cols":2,"data":[1,2,3]}', "flat-many": '{"shape":[1,2],"data":[1,2,3]}', "no-cols": '{"rows":2,"data":[1,2]}',
                   "no-shape": '{"data":[1,2]}', "nested": '{"rows":3,"cols":2,"data":[[1,2]]}', "batch-flat-levels": '{"batch":1,"data":[[1]]}'}.items():
    bad_json("shape-mismatch", what, text)
bad_json("shape-mismatch", "query", "[[1,2]]", "rows=3")
bad_json("size-overflow", "shape", '{"shape":[4294967296,4294967296],"data":[1]}')
bad_json("size-overflow", "number", '{"rows":99999999999999999999,"cols":1,"data":[1]}')
bad_json("unknown-dtype", "float33", '{"dtype":"float33","data":[[1]]}')
bad_json("unknown-dtype", "opaque", '{"dtype":"opaque","data":[[1]]}')
bad_json("out-of-range", "int8", "[[128]]", "dtype=int8&to=npy")
bad_json("out-of-range", "uint8-negative", "[[-1]]", "dtype=uint8&to=npy")
bad_json("out-of-range", "fraction", "[[1.5]]", "dtype=int32&to=npy")
bad_json("out-of-range", "float16", "[[65520]]", "dtype=float16&to=npy")
bad_json("out-of-range", "float64", "[[1e400]]", "to=npy")
bad_json("out-of-range", "null-int", "[[null]]", "dtype=int32&to=npy")
bad_json("out-of-range", "e4m3-infinity", '[["Infinity"]]', "dtype=float8_e4m3&to=npy")
bad_json("out-of-range", "word-to-number", '[["abc"]]', "to=npy")
bad_json("out-of-range", "number-in-string", '[["1.5"]]', "dtype=float64&to=raw")
bad_json("bad-parameter", "dtype-idle", "[[1]]", "dtype=int8")
bad_json("bad-parameter", "dtype-other", '{"dtype":"int16","data":[[1]]}', "dtype=int8")
bad_json("too-large", "body", "[[1,2,3]]", "most=8")


def bad_npy(slug, what, header, data=b"", version=(1, 0), params="", magic=b"\x93NUMPY"):
    body = header if isinstance(header, bytes) else header.encode()
    length = struct.pack("<H" if version[0] == 1 else "<I", len(body))
    put(REFUSE, f"{slug}--npy-{what}.npy", magic + bytes(version) + length + body + data, params)


def head(descr="'<f4'", order="False", shape="(2, 3)", more=""):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, {more}}}\n"


data = bytes(range(24))
for what, header in {
    "no-dict": "[]", "empty-dict": "{}", "no-descr": "{'fortran_order': False, 'shape': (2, 3)}", "no-order": "{'descr': '<f4', 'shape': (2, 3)}",
    "no-shape": "{'descr': '<f4', 'fortran_order': False}", "unknown-key": head(more="'x': 1"), "key-twice": head(more="'descr': '<f4'"),
    "key-bare": "{descr: '<f4', 'fortran_order': False, 'shape': (2, 3)}", "no-colon": "{'descr' '<f4', 'fortran_order': False, 'shape': (2, 3)}",
    "no-comma": "{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3)}", "open": "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)",
    "after": head() + "x", "order-number": head(order="0"), "order-case": head(order="false"), "shape-list": head(shape="[2, 3]"),
    "shape-negative": head(shape="(-1, 3)"), "shape-float": head(shape="(2.0, 3)"), "shape-zero-first": head(shape="(02, 3)"),
    "shape-open": head(shape="(2, 3"), "shape-paren": head(shape="(6)"), "shape-commas": head(shape="(2,,3)"), "shape-code": head(shape="(2, __import__('os'))"),
    "descr-number": head(descr="4"), "descr-open": "{'descr': '<f4", "descr-escape": head(descr="'\\x3cf4'"), "descr-long": head(descr="'" + "f" * 60 + "'"),
    "descr-high": "{'descr': '<f\xe94', 'fortran_order': False, 'shape': (2, 3)}".encode("latin1"), "nul": head().encode() + b"\x00", "empty-header": "",
}.items():
    bad_npy("malformed", what, header, data)
bad_npy("malformed", "magic", head(), data, magic=b"\x93NUMPX")
bad_npy("malformed", "header-long", " " * 10001, data)
bad_npy("malformed", "header-huge", "", data, version=(2, 0))
huge = REFUSE / "malformed--npy-header-huge.npy"
huge.write_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + data)
bad_npy("unsupported", "version-4", head(), data, version=(4, 0))
bad_npy("unsupported", "version-1.1", head(), data, version=(1, 1))
bad_npy("unsupported", "object", head(descr="'|O'"), data)
bad_npy("unsupported", "structured", head(descr="[('a', '<f4'), ('b', '<i4')]"), data)
bad_npy("unsupported", "rank-0", head(shape="()"), data)
bad_npy("unsupported", "rank-1", head(shape="(6,)"), data)
bad_npy("unsupported", "rank-4", head(shape="(1, 1, 2, 3)"), data)
bad_npy("unsupported", "fortran-batch", head(order="True", shape="(3, 1, 2)"), data)
bad_npy("unsupported", "item-large", head(descr="'|V4097'", shape="(1, 1)"), data)
bad_npy("unsupported", "to-other-dtype", head(), data, params="dtype=float64")
bad_npy("unsupported", "opaque-to-json", head(descr="'|V4'"), data, params="to=json")
bad_npy("unsupported", "long-double-to-json", head(descr="'<f16'", shape="(1, 1)"), data[:16], params="to=json")
bad_npy("unsupported", "date-be-to-raw", head(descr="'>M8[s]'", shape="(1, 3)"), data, params="to=raw")
bad_npy("unknown-dtype", "f3", head(descr="'<f3'"), data)
bad_npy("unknown-dtype", "word", head(descr="'float32'"), data)
bad_npy("unknown-dtype", "empty", head(descr="''"), data)
bad_npy("unknown-dtype", "v0", head(descr="'|V0'"), data)
bad_npy("unknown-dtype", "unit", head(descr="'<M8[n\"s]'"), data)
bad_npy("size-overflow", "shape", head(shape="(4294967296, 4294967296)"), data)
bad_npy("size-overflow", "number", head(shape="(99999999999999999999, 1)"), data)
bad_npy("truncated", "items", head(), data[:23])
bad_npy("truncated", "no-items", head(), b"")
bad_npy("trailing-bytes", "items", head(), data + b"\x00")
bad_npy("trailing-bytes", "empty", head(shape="(0, 3)"), b"\x00")
bad_npy("too-large", "body", head(shape="(1024, 1024)"), data, params="most=4096")
bad_npy("shape-mismatch", "query", head(), data, params="cols=4")
bad_npy("bad-parameter", "itemsize", head(), data, params="itemsize=8")
whole = npy(np.zeros((2, 3), "<f4"))
for count in (0, 3, 6, 7, 9, 40):
    put(REFUSE, f"truncated--npy-header-{count}.npy", whole[:count])
nonfinite = np.array([[1, np.nan]], dtype="<f4")
put(REFUSE, "nonfinite--npy-to-json.npy", npy(nonfinite), "to=json")

for slug, what, body, params in [
    ("bad-parameter", "no-shape", b"1234", ""), ("bad-parameter", "no-rows", b"1234", "cols=1"), ("bad-parameter", "no-cols", b"1234", "rows=1"),
    ("bad-parameter", "sizes", b"1234", "rows=1&cols=1&dtype=float32&itemsize=8"), ("truncated", "one", b"123", "rows=1&cols=1"),
    ("truncated", "empty", b"", "rows=1&cols=1"), ("trailing-bytes", "one", b"12345", "rows=1&cols=1"), ("trailing-bytes", "zero", b"1", "rows=0&cols=5"),
    ("size-overflow", "shape", b"1234", "rows=4294967296&cols=4294967296"), ("too-large", "shape", b"1234", "rows=1000000&cols=1000000"),
    ("unsupported", "itemsize-0", b"1234", "rows=1&cols=1&itemsize=0"), ("unsupported", "itemsize-5000", b"1234", "rows=1&cols=1&itemsize=5000"),
    ("unsupported", "opaque-to-json", b"1234", "rows=1&cols=1&itemsize=4&to=json"), ("nonfinite", "to-json", b"\x00\x00\xc0\x7f", "rows=1&cols=1&to=json"),
]:
    put(REFUSE, f"{slug}--raw-{what}.raw", body, params)

# --- delimited text ---

tables = {
    "plain": ("a,b,c\n1,2,3\n", "a,1\nb,2\nc,3\n"),
    "open": ("a,b,c\n1,2,3", "a,1\nb,2\nc,3"),
    "letters": ("1.10,9007199254740993,1e400\n 1,-0,+5 \n", "1.10, 1\n9007199254740993,-0\n1e400,+5 \n"),
    "crlf": ("a,b\r\n1,2\r\n", "a,1\r\nb,2\r\n"),
    "crlf_open": ("a,b\r\n1,2", "a,1\r\nb,2"),
    "mixed_ends": ("a,b\r\n1,2\n3,4\r\n", "a,1,3\r\nb,2,4\r\n"),
    "quotes": ('"a,1","b ""x""",c\n1,"2\n2","\r\n"\n', '"a,1",1\n"b ""x""","2\n2"\nc,"\r\n"\n'),
    "inner_quotes": ('5" pipe,6" pipe\na"b"c,""\n', '5" pipe,a"b"c\n6" pipe,""\n'),
    "bom": (b"\xef\xbb\xbfa,b\n1,2\n", b"\xef\xbb\xbfa,1\nb,2\n"),
    "utf8": ("\u03b1,\u00df\n\U0001f600,x\n", "\u03b1,\U0001f600\n\u00df,x\n"),
    "latin1": (b"\xe9,b\n\xff,d\n", b"\xe9,\xff\nb,d\n"),
    "empty_cells": (",,\n,x,\n", ",\n,x\n,\n"),
    "one_column": ("a\n\nb\n", "a,,b\n"),
    "one_row": ("a,,b\n", "a\n\nb\n"),
    "row_open": ("a,b,", "a\nb\n\n"),
    "one_cell": ("x", "x"),
    "blank": ("\n", "\n"),
    "nothing": ("", ""),
    "nul": (b"a\x00,b\n1,2\n", b"a\x00,1\nb,2\n"),
    "semicolon": ("a;b\n1,5;2,5\n", "a;1,5\nb;2,5\n"),
    "quotes_off": ('"a,b\n1,2"\n', '"a,1\nb,2"\n'),
    "pad": ("a,b,c\n1\n\n", "a,1,NA\nb,NA,NA\nc,NA,NA\n".replace("a,1,NA", "a,1,")),
    "long": ("x" * 70 + "," + '"' + "y" * 70 + '"' + "\n1,2\n", "x" * 70 + ",1\n" + '"' + "y" * 70 + '"' + ",2\n"),
    "wide": (",".join(map(str, range(300))) + "\n" + ",".join(f'"{i}"' for i in range(300)) + "\n", "".join(f'{i},"{i}"\n' for i in range(300))),
}
params = {"semicolon": "delimiter=semicolon", "quotes_off": "quotes=off", "pad": "ragged=pad&filler=NA"}
for name, (given, wanted) in tables.items():
    put(HERE, f"csv_{name}.in.csv", given, params.get(name, ""))
    put(HERE, f"csv_{name}.out.csv", wanted)
put(HERE, "tsv_plain.in.tsv", "a\tb,c\n1\t2\n")
put(HERE, "tsv_plain.out.tsv", "a\t1\nb,c\t2\n")
put(HERE, "tsv_to_csv.in.tsv", 'a\tb,c\n5", wide\t"2,2"\n')
put(HERE, "tsv_to_csv.out.csv", 'a,"5"", wide"\n"b,c","2,2"\n')
put(HERE, "csv_to_tsv.in.csv", 'a,"b,c"\n1\t,2\n')
put(HERE, "csv_to_tsv.out.tsv", 'a\t"1\t"\n"b,c"\t2\n')


def bad_csv(slug, what, text, params=""):
    put(REFUSE, f"{slug}--csv-{what}.csv", text, params)


for what, text in {"short": "a,b\n1\n", "long": "a,b\n1,2,3\n", "blank-line": "a,b\n\n1,2\n", "blank-end": "a,b\n1,2\n\n", "last": "a,b\n1,2\n3"}.items():
    bad_csv("ragged", what, text)
for what, text in {"behind-quote": '"a"b,c\n', "behind-quote-cr": '"a"\rb,c\n', "cr": "a\r,b\n", "cr-cr": "a,b\r\r\n", "cr-end": "a,b\r", "quote-cr-end": '"a"\r'}.items():
    bad_csv("malformed", what, text)
for what, text in {"open-quote": 'a,"b\n1,2\n', "open-quotes": '"', "open-doubled": '"a""'}.items():
    bad_csv("truncated", what, text)
bad_csv("unsupported", "utf16", b"\xff\xfea\x00")
bad_csv("unsupported", "utf16-be", b"\xfe\xff\x00a")
bad_csv("shape-mismatch", "query", "a,b\n", "rows=2")
bad_csv("too-large", "body", "a,b,c,d,e\n", "most=8")
bad_csv("bad-parameter", "filler-delimiter", "a,b\n1\n", "ragged=pad&filler=a,b")
bad_csv("bad-parameter", "dtype-idle", "1,2\n", "dtype=int8")

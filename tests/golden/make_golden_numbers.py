#!/usr/bin/env python3
"""Writes the golden files of Matrix Market, safetensors and the conversions of text; make_golden.py's own come along.

Run it by hand after a change of the list (needs numpy); the files are committed. See make_golden.py for their names.
"""
import json
import struct

import numpy as np

from make_golden import HERE, REFUSE, npy, put, some


def pair(name, given, kind_in, wanted, kind_out, params=""):
    put(HERE, f"{name}.in.{kind_in}", given, params)
    put(HERE, f"{name}.out.{kind_out}", wanted)


def refuse(slug, what, kind, body, params=""):
    put(REFUSE, f"{slug}--{kind}-{what}.{kind}", body, params)


# --- Matrix Market ---


def mtx(field, rows, cols, entries, comments="", banner="%%MatrixMarket matrix array {} general"):
    return banner.format(field) + "\n" + comments + f"{rows} {cols}\n" + "".join(e + "\n" for e in entries)


letters = ["1.10", "-0", "+3", ".5", "1e400", "9007199254740993"]  # by columns: 2 x 3
turned = ["1.10", "+3", "1e400", "-0", ".5", "9007199254740993"]
pair("mtx_real", mtx("real", 2, 3, letters), "mtx", mtx("real", 3, 2, turned), "mtx")
pair("mtx_comments", mtx("real", 2, 3, letters, "% first\n%\n%%% third, with 1 2 in it\n"), "mtx",
     mtx("real", 3, 2, turned, "% first\n%\n%%% third, with 1 2 in it\n"), "mtx")
pair("mtx_crlf", mtx("real", 2, 3, letters).replace("\n", "\r\n"), "mtx", mtx("real", 3, 2, turned), "mtx")
pair("mtx_spread", "%%matrixmarket  MATRIX Array Real\tGENERAL\n\n   2 \t 3  \n\n" + " \n\n".join(letters), "mtx", mtx("real", 3, 2, turned), "mtx")
pair("mtx_integer", mtx("integer", 2, 2, ["1", "-2", "+03", "18446744073709551616"]), "mtx",
     mtx("integer", 2, 2, ["1", "+03", "-2", "18446744073709551616"]), "mtx")
pair("mtx_unsigned", mtx("unsigned-integer", 1, 2, ["1", "18446744073709551615"]), "mtx", mtx("integer", 2, 1, ["1", "18446744073709551615"]), "mtx")
pair("mtx_complex", mtx("complex", 1, 2, ["1 -2.5", "nan  inf"]), "mtx", mtx("complex", 2, 1, ["1 -2.5", "nan  inf"]), "mtx")
pair("mtx_empty", mtx("real", 0, 3, []), "mtx", mtx("real", 3, 0, []), "mtx")
pair("mtx_one", "%%MatrixMarket matrix array real general\n1 1\n7", "mtx", mtx("real", 1, 1, ["7"]), "mtx")
pair("mtx_to_npy", mtx("real", 2, 3, ["1.5", "-0", "+3", ".5", "nan", "-inf"]), "mtx",
     npy(np.array([[1.5, -0.0], [3, 0.5], [np.nan, -np.inf]])), "npy")
pair("mtx_to_i8", mtx("integer", 2, 2, ["1", "2", "3", "-9223372036854775808"]), "mtx", npy(np.array([[1, 2], [3, -2**63]], dtype="<i8")), "npy")
pair("mtx_to_u8", mtx("integer", 1, 2, ["1", "18446744073709551615"]), "mtx", npy(np.array([[1], [2**64 - 1]], dtype="<u8")), "npy")
pair("mtx_to_c16", mtx("complex", 2, 1, ["1 -2", "0 5e-1"]), "mtx", npy(np.array([[1 - 2j, 0.5j]])), "npy")
pair("mtx_to_f4", mtx("real", 1, 2, ["0.1", "16777217"]), "mtx", npy(np.array([[0.1], [16777216]], dtype="<f4")), "npy", "dtype=float32")
pair("mtx_to_json", mtx("real", 2, 2, ["1.50", "2", "3", "4"]), "mtx", "[[1.5,2.0],[3.0,4.0]]", "json")
pair("mtx_to_csv", mtx("integer", 2, 2, ["1", "2", "3", "4"]), "mtx", "1,2\n3,4\n", "csv")
pair("npy_to_mtx", npy(np.array([[1, 2, 3.5], [-0.0, 1e22, np.nan]])), "npy", mtx("real", 3, 2, "1.0 2.0 3.5 -0.0 1e+22 nan".split()), "mtx")
pair("npy_be_to_mtx", npy(np.array([[1, -2]], dtype=">i4")), "npy", mtx("integer", 2, 1, ["1", "-2"]), "mtx")
pair("npy_fortran_to_mtx", npy(np.asfortranarray(np.arange(6, dtype="<i2").reshape(2, 3))), "npy", mtx("integer", 3, 2, "0 1 2 3 4 5".split()), "mtx")
pair("npy_bool_to_mtx", npy(np.array([[True, False]])), "npy", mtx("integer", 2, 1, ["1", "0"]), "mtx")
pair("npy_c16_to_mtx", npy(np.array([[1 - 2.5j, complex(-0.0, np.inf)]])), "npy", mtx("complex", 2, 1, ["1.0 -2.5", "-0.0 inf"]), "mtx")
pair("npy_empty_to_mtx", npy(np.zeros((0, 4))), "npy", mtx("real", 4, 0, []), "mtx")
pair("json_to_mtx", "[[1,2.50],[3,4]]", "json", mtx("real", 2, 2, ["1.0", "2.5", "3.0", "4.0"]), "mtx")
pair("csv_to_mtx", "1,2,3\n4,5,6\n", "csv", mtx("integer", 3, 2, "1 2 3 4 5 6".split()), "mtx")

for what, body in {
    "banner": mtx("real", 1, 1, ["1"]).replace("%%M", "%M"), "banner-short": "%%MatrixMarket matrix array real\n1 1\n1\n",
    "banner-long": "%%MatrixMarket matrix array real general really\n1 1\n1\n", "word": mtx("real", 1, 2, ["1", "x"]), "number": mtx("real", 1, 2, ["1", "1.2.3"]),
    "exponent": mtx("real", 1, 1, ["1e"]), "point": mtx("real", 1, 1, ["."]), "fraction": mtx("integer", 1, 1, ["1.5"]), "nan-integer": mtx("integer", 1, 1, ["nan"]),
    "half": mtx("complex", 1, 2, ["1 2", "3"]) + "4", "shape-word": mtx("real", "two", 1, ["1"]), "shape-one": "%%MatrixMarket matrix array real general\n4\n1\n",
    "shape-three": "%%MatrixMarket matrix array real general\n1 1 1\n1\n", "shape-negative": mtx("real", -1, 1, ["1"]), "nul": b"%%MatrixMarket matrix array real general\n1 2\n1\x00\n2\n",
    "comment-later": mtx("real", 1, 2, ["1", "% no", "2"]),
}.items():
    refuse("malformed", what, "mtx", body)
for what, body in {
    "coordinate": "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n", "symmetric": mtx("real", 1, 1, ["1"]).replace("general", "symmetric"),
    "hermitian": mtx("complex", 1, 1, ["1 0"]).replace("general", "hermitian"), "pattern": mtx("pattern", 1, 1, []), "vector": mtx("real", 1, 1, ["1"]).replace("matrix array", "vector array"),
}.items():
    refuse("unsupported", what, "mtx", body)
refuse("truncated", "empty", "mtx", "")
refuse("truncated", "banner", "mtx", "%%MatrixMarket matrix array real general")
refuse("truncated", "shape", "mtx", "%%MatrixMarket matrix array real general\n2")
refuse("truncated", "entries", "mtx", mtx("real", 2, 2, ["1", "2", "3"]))
refuse("truncated", "many", "mtx", mtx("real", 1000000000, 1000000000, ["1"]))
refuse("trailing-bytes", "entry", "mtx", mtx("real", 1, 1, ["1", "2"]))
refuse("size-overflow", "shape", "mtx", mtx("real", 2**32, 2**32, ["1"]))
refuse("size-overflow", "number", "mtx", mtx("real", 2**64, 1, ["1"]))
refuse("shape-mismatch", "query", "mtx", mtx("real", 1, 1, ["1"]), "cols=2")
refuse("too-large", "body", "mtx", mtx("real", 1, 1, ["1"]), "most=20")
refuse("bad-parameter", "dtype-idle", "mtx", mtx("real", 1, 1, ["1"]), "dtype=int8")
refuse("out-of-range", "float64", "mtx", mtx("real", 1, 1, ["1e400"]), "to=npy")
refuse("out-of-range", "int8", "mtx", mtx("integer", 1, 2, ["1", "128"]), "to=npy&dtype=int8")
refuse("nonfinite", "to-json", "mtx", mtx("real", 1, 1, ["inf"]), "to=json")
refuse("unsupported", "batch-to-mtx", "npy", npy(np.zeros((2, 1, 1))), "to=mtx")
refuse("unsupported", "opaque-to-mtx", "npy", npy(np.zeros((1, 1), "V3")), "to=mtx")

# --- safetensors ---

KINDS = {"?": "BOOL", "i1": "I8", "u1": "U8", "<i2": "I16", "<u2": "U16", "<f2": "F16", "<i4": "I32", "<u4": "U32", "<f4": "F32", "<i8": "I64", "<u8": "U64",
         "<f8": "F64", "<c8": "C64"}


def file(tensors, metadata=None, pad=True):
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (kind, array) in tensors.items():
        raw = array.tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8 if pad else 0)
    return struct.pack("<Q", len(text)) + text + data


def tensor(name, kind, array, metadata=None, called="a", given_metadata=None, pad=True):
    pair(f"safetensors_{name}", file({called: (kind, array)}, metadata, pad), "safetensors",
         file({called: (kind, np.ascontiguousarray(np.swapaxes(array, -1, -2)))}, metadata), "safetensors")


for dtype, kind in KINDS.items():
    tensor(kind.lower(), kind, some("b1" if dtype == "?" else dtype, 3, 5))
tensor("bf16", "BF16", some("V2", 4, 3))
tensor("f8_e4m3", "F8_E4M3", some("V1", 4, 3))
tensor("f8_e5m2", "F8_E5M2", some("V1", 2, 9))
tensor("batch", "F32", some("<f4", 2, 3, 4))
tensor("empty", "F32", some("<f4", 0, 4))
tensor("unaligned", "U8", some("u1", 3, 3), pad=False)
tensor("metadata", "F16", some("<f2", 2, 3), {"format": "pt", "α": "\"quoted\" \\ "})
tensor("long", "I16", some("<i2", 2, 3), {"note": "x" * 700}, "layers.0." + "w" * 200)
tensor("name", "U8", some("u1", 2, 2), None, "modèle/層.weight")
f4, bias = some("<f4", 3, 2), some("<f4", 7)
three = {"first": ("F32", bias), "w": ("F32", f4), "last": ("F8_E8M0", some("u1", 1, 3))}
pair("safetensors_of_three", file(three, {"format": "pt"}), "safetensors", file({"w": ("F32", np.ascontiguousarray(f4.T))}, {"format": "pt"}), "safetensors", "tensor=w")
half = np.array([[1.5, -0.0], [65504, 2**-24]], dtype="<f2")
pair("safetensors_to_npy", file({"h": ("F16", half)}), "safetensors", npy(np.ascontiguousarray(half.T)), "npy")
bf16 = np.array([[1.5, -2, 3.3895314e38], [1e-40, 0.1, 256]], dtype="<f4").view("<u4")
bf16 = (bf16 >> 16).astype("<u2")  # cut, not rounded: whatever they are, they must come back
pair("safetensors_bf16_to_npy", file({"h": ("BF16", bf16)}), "safetensors", npy(np.ascontiguousarray(bf16.T).view("V2")).replace(b"'|V2'", b"'<V2'"), "npy")
pair("safetensors_bf16_to_csv", file({"h": ("BF16", np.array([[0x3fc0, 0x3dcd], [0x4380, 0x0001]], dtype="<u2"))}), "safetensors",
     "1.5,256.0\n0.1,9e-41\n", "csv")
pair("safetensors_e4m3_to_json", file({"h": ("F8_E4M3", np.array([[0x7e, 0x01], [0xb8, 0x00]], dtype="u1"))}), "safetensors",
     "[[450.0,-1.0],[0.002,0.0]]", "json")
pair("npy_to_safetensors", npy(some("<f8", 2, 0)), "npy", file({"matrix": ("F64", np.zeros((0, 2)))}), "safetensors")
big = np.arange(6, dtype=">u4").reshape(2, 3)
pair("npy_be_to_safetensors", npy(big), "npy", file({"q": ("U32", big.T.astype("<u4"))}), "safetensors", "tensor=q")
pair("csv_to_bf16", "1.5,0.1\n256,1e-40\n", "csv", file({"matrix": ("BF16", np.array([[0x3fc0, 0x4380], [0x3dcd, 0x0001]], dtype="<u2"))}), "safetensors", "dtype=bfloat16")

good = file({"a": ("F32", np.zeros((2, 3), "<f4"))})


def headed(header, data=b"\0" * 24):
    text = header if isinstance(header, bytes) else header.encode()
    return struct.pack("<Q", len(text)) + text + data


A = '"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}'
for what, body in {
    "no-object": headed("[]"), "nothing": headed(b""), "open": headed("{" + A), "comma": headed("{" + A + ",}"), "after": headed("{" + A + "}x"), "key": headed('{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24],"x":1}}'),
    "key-twice": headed('{"a":{"dtype":"F32","dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}'), "no-dtype": headed('{"a":{"shape":[2,3],"data_offsets":[0,24]}}'),
    "no-shape": headed('{"a":{"dtype":"F32","data_offsets":[0,24]}}'), "no-offsets": headed('{"a":{"dtype":"F32","shape":[2,3]}}'),
    "offsets-one": headed('{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[24]}}'), "offsets-back": headed('{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[24,0]}}'),
    "negative": headed('{"a":{"dtype":"F32","shape":[-2,3],"data_offsets":[0,24]}}'), "float": headed('{"a":{"dtype":"F32","shape":[2.0,3],"data_offsets":[0,24]}}'),
    "zero-first": headed('{"a":{"dtype":"F32","shape":[02,3],"data_offsets":[0,24]}}'), "hole": headed('{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[4,28]}}', b"\0" * 28),
    "overlap": headed('{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}'),
    "metadata": headed('{"__metadata__":{"a":1},' + A + "}"), "metadata-twice": headed('{"__metadata__":{},"__metadata__":{},' + A + "}"), "utf8": headed(b'{"\xff":' + A.encode()[4:] + b"}"),
    "huge": struct.pack("<Q", 2**40) + b"{}", "string": headed('{"a":"F32"}'), "deep": headed('{"a":{"dtype":"F32","shape":[[2],3],"data_offsets":[0,24]}}'),
}.items():
    refuse("malformed", what, "safetensors", body)
refuse("malformed", "twice", "safetensors", headed("{" + A + "," + A.replace("[0,24]", "[24,48]") + "}", b"\0" * 48), "tensor=a")
for what, count in {"nothing": 0, "length": 5, "header": 20, "brace": 9, "items": len(good) - 1, "no-items": len(good) - 24}.items():
    refuse("truncated", what, "safetensors", good[:count])
refuse("truncated", "of-three", "safetensors", file(three)[:-1], "tensor=w")
refuse("trailing-bytes", "one", "safetensors", good + b"\0")
refuse("bad-parameter", "several", "safetensors", file(three))
refuse("bad-parameter", "none", "safetensors", file({}, {"format": "pt"}))
refuse("bad-parameter", "other", "safetensors", good, "tensor=b")
refuse("bad-parameter", "itemsize", "safetensors", good, "itemsize=8")
refuse("unknown-dtype", "e8m0", "safetensors", file(three), "tensor=last")
refuse("unsupported", "rank-1", "safetensors", file(three), "tensor=first")
refuse("unsupported", "rank-4", "safetensors", file({"a": ("U8", np.zeros((1, 1, 1, 1), "u1"))}))
refuse("unsupported", "to-other-dtype", "safetensors", good, "dtype=float64")
refuse("unsupported", "c16-to-safetensors", "npy", npy(np.zeros((1, 1), "<c16")), "to=safetensors")
refuse("shape-mismatch", "bytes", "safetensors", headed('{"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,24]}}'))
refuse("shape-mismatch", "query", "safetensors", good, "rows=3")
refuse("size-overflow", "shape", "safetensors", headed('{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,24]}}'))
refuse("size-overflow", "number", "safetensors", headed('{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,99999999999999999999]}}'))
refuse("too-large", "items", "safetensors", headed('{"a":{"dtype":"U8","shape":[1,4294967296],"data_offsets":[0,4294967296]}}'), "most=4096")

# --- numbers in delimited text ---

pair("csv_to_f8", "1.10,-0,+3\n.5,5.,1E+2\n", "csv", npy(np.array([[1.1, 0.5], [-0.0, 5], [3, 100]])), "npy")
pair("csv_to_f8_crlf", "\ufeff1.5, 2\r\n3 ,4\r\n", "csv", npy(np.array([[1.5, 3], [2, 4]])), "npy")
pair("csv_to_f8_quoted", '"1.25","2"\n3,"-4e-3"', "csv", npy(np.array([[1.25, 3], [2, -0.004]])), "npy")
pair("csv_to_f8_words", "nan,inf,-INF\nNaN,Infinity,1\n", "csv", npy(np.array([[np.nan, np.nan], [np.inf, np.inf], [-np.inf, 1]])), "npy")
pair("csv_to_i8", "1,-2\n3,4\n", "csv", npy(np.array([[1, 3], [-2, 4]], dtype="<i8")), "npy")
pair("csv_to_u8", "1\n18446744073709551615\n", "csv", npy(np.array([[1, 2**64 - 1]], dtype="<u8")), "npy")
pair("csv_to_late_float", "1,2\n3,4.5\n", "csv", npy(np.array([[1, 3], [2, 4.5]])), "npy")
pair("csv_to_bool", "true,False\n", "csv", npy(np.array([[True], [False]])), "npy")
pair("csv_to_c16", "1.5,(1+2j)\n-2j,1e-5-1e5j\n(nan+infj),(1+-2j)\n", "csv",
     npy(np.array([[1.5, complex(0, -2), complex(np.nan, np.inf)], [1 + 2j, 1e-5 - 1e5j, 1 - 2j]])), "npy")
pair("csv_to_f2", "0.1,65519.999\n2049,2051\n", "csv", npy(np.array([[0.1, 2048], [65504, 2052]], dtype="<f2")), "npy", "dtype=float16")
pair("csv_to_i1", "-128,127\n1e1,2.0\n", "csv", npy(np.array([[-128, 10], [127, 2]], dtype="i1")), "npy", "dtype=int8")
pair("tsv_to_f4", "0.1\t16777217\n1e-45\t3.4028235e38\n", "tsv", npy(np.array([[0.1, 1e-45], [16777216, 3.4028235e38]], dtype="<f4")), "npy", "dtype=float32")
pair("csv_to_raw", "1,2\n3,4\n", "csv", np.array([[1, 3], [2, 4]], dtype="<u2").tobytes(), "raw", "dtype=uint16")
pair("npy_f8_to_csv", npy(np.array([[0.1, -0.0, 1e22], [5e-324, 1, np.nan]])), "npy", "0.1,5e-324\n-0.0,1.0\n1e+22,nan\n", "csv")
pair("npy_f4_to_tsv", npy(np.array([[0.1, np.inf], [16777216, -np.inf]], dtype="<f4")), "npy", "0.1\t16777216.0\ninf\t-inf\n", "tsv")
pair("npy_null_to_csv", npy(np.array([[0.5, np.nan], [np.inf, 1]])), "npy", "0.5,\n,1.0\n", "csv", "nonfinite=null")
pair("npy_f2_to_csv", npy(np.array([[0.1, 65504, 6e-8]], dtype="<f2")), "npy", "0.1\n65500.0\n6e-08\n", "csv")
pair("npy_i8_to_csv", npy(np.array([[-2**63, 2**63 - 1]], dtype=">i8")), "npy", "-9223372036854775808\n9223372036854775807\n", "csv")
pair("npy_bool_to_csv", npy(np.array([[True, False]])), "npy", "true\nfalse\n", "csv")
pair("npy_c16_to_csv", npy(np.array([[1 + 2j, complex(-0.0, -1.5)], [complex(np.nan, np.inf), 0.1j]])), "npy",
     "(1+2j),(nan+infj)\n(-0-1.5j),(0+0.1j)\n", "csv")
pair("csv_to_json", '1.10,"a""b\n",007\n+1,.5,5.\n,"",true\n-0,1e400,"12"\nα,-.5e3, 2 \n', "csv",
     '[[1.10,1,null,-0,"α"],["a\\"b\\u000a",0.5,"",1e400,-0.5e3],["007",5.0,true,"12",2]]', "json")
pair("csv_nan_to_json", "nan,Nan\n-Infinity,inf\n", "csv", '[["NaN","-Infinity"],["Nan","Infinity"]]', "json", "nonfinite=string")
pair("csv_null_to_json", "nan,1\n", "csv", "[[null],[1]]", "json", "nonfinite=null")
pair("csv_f4_to_json", "0.1,1\n", "csv", "[[0.1],[1.0]]", "json", "dtype=float32")
pair("json_to_csv", '[[1.10,null,""],[true,"a,b","x\\"y"],["nan","12","\\ud83d\\ude00\\n"],["007","b\\tc"," d "]]', "json",
     '1.10,true,"nan",007\n,"a,b","12","b\tc"\n"","x""y","\U0001f600\n", d \n', "csv")
pair("json_to_tsv", '[["a,b","c\\td"]]', "json", 'a,b\n"c\td"\n', "tsv")
pair("json_i2_to_csv", '{"dtype":"int16","data":[[1,2e1]]}', "json", "1\n20\n", "csv")
pair("json_complex_to_csv", '{"dtype":"complex64","data":[[[1,-2]]]}', "json", "(1-2j)\n", "csv")

for what, body, params in [
    ("word", "1,2\n3,abc\n", "to=npy"), ("empty", "1,\n3,4\n", "to=npy"), ("hex", "0x10\n", "to=npy"), ("under", "1_000\n", "to=npy"), ("int8", "1,128\n", "to=npy&dtype=int8"),
    ("uint8", "-1\n", "to=raw&dtype=uint8"), ("fraction", "1.5\n", "to=npy&dtype=int64"), ("large", "1e400\n", "to=npy"), ("half", "65520\n", "to=npy&dtype=float16"),
    ("e4m3-infinity", "inf\n", "to=npy&dtype=float8_e4m3"), ("nan-int", "nan\n", "to=npy&dtype=int8"), ("late-word", "1.5\n2.5\nx\n", "to=safetensors"), ("two-numbers", "1 2\n", "to=npy"),
    ("complex-real", "(1+2j)\n", "to=npy&dtype=float64"), ("header", "a,b\n1,2\n", "to=npy"),
]:
    refuse("out-of-range", what, "csv", body, params)
refuse("nonfinite", "to-json", "csv", "1,nan\n", "to=json")
refuse("unsupported", "latin1-to-json", "csv", b"caf\xe9\n", "to=json")
refuse("unsupported", "surrogate-to-csv", "json", '[["\\ud83d"]]', "to=csv")
refuse("unsupported", "batch-to-csv", "json", "[[[1]],[[2]]]", "to=csv")
refuse("unsupported", "opaque-to-csv", "npy", npy(np.zeros((1, 1), "V3")), "to=csv")

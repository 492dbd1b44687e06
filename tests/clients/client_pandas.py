"""client_pandas.py -- tables of numbers, written and read by pandas and numpy: every number comes back as the same bits."""
import io
import sys
import warnings

try:
    import pandas as pd
except ImportError:
    print("waived: pandas is not installed (tests/run.sh puts it into .venv)")
    sys.exit(77)

from arrays import Arrays, loaded, np, random_array, rng, saved
from daemon import CSV, JSON, NPY, TSV, main

warnings.simplefilter("ignore")  # newer versions are exact without float_precision, and say so


def doubles(shape):
    """Bit patterns at random, finite ones."""
    array = random_array("<f8", shape).copy()
    array[~np.isfinite(array)] = 0.1
    return array


class Pandas(Arrays):
    def test_csv_of_pandas(self):
        for array in (doubles((40, 30)), rng.standard_normal((40, 30)), rng.integers(-2**63, 2**63 - 1, (9, 7)), doubles((1, 5)), doubles((5, 1))):
            for type, separator in ((CSV, ","), (TSV, "\t")):
                text = pd.DataFrame(array).to_csv(header=False, index=False, sep=separator)
                self.same_bits(loaded(self.post(text.encode(), type=type, accept=NPY)), array.T)

    def test_csv_of_numpy(self):
        array = doubles((20, 30))
        for form in ("%.17g", "%.16e", "%25.18e"):
            file = io.BytesIO()
            np.savetxt(file, array, fmt=form, delimiter=",")
            self.same_bits(loaded(self.post(file.getvalue(), type=CSV, accept=NPY)), array.T)
        complexes = (rng.standard_normal((5, 4)) - 1j * rng.standard_normal((5, 4))).round(3)
        file = io.BytesIO()
        np.savetxt(file, complexes, fmt="%.17g", delimiter=",")
        self.same_bits(loaded(self.post(file.getvalue(), type=CSV, accept=NPY)), complexes.T)

    def test_what_we_write(self):
        array = doubles((30, 20))
        text = self.post(saved(array), type=NPY, accept=CSV)
        self.same_bits(pd.read_csv(io.BytesIO(text), header=None, float_precision="round_trip").to_numpy(), array.T)
        self.same_bits(np.loadtxt(io.BytesIO(text), delimiter=","), array.T)
        for dtype in ("<f4", "<f2"):
            small = rng.standard_normal((6, 5)).astype(dtype)
            text = self.post(saved(small), type=NPY, accept=TSV)
            self.same_bits(pd.read_csv(io.BytesIO(text), header=None, sep="\t", float_precision="round_trip").to_numpy().astype(dtype), small.T)
        complexes = rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4))
        text = self.post(saved(complexes), type=NPY, accept=CSV)
        self.same_bits(np.loadtxt(io.BytesIO(text), delimiter=",", dtype=complex), complexes.T)
        self.assertEqual(text.decode().splitlines()[0].split(",")[0], str(complexes[0, 0]))

    def test_non_finite(self):
        array = np.array([[np.nan, np.inf, 1.5], [-np.inf, -0.0, 2.0]])
        text = self.post(saved(array), type=NPY, accept=CSV)
        np.testing.assert_array_equal(pd.read_csv(io.BytesIO(text), header=None).to_numpy(), array.T)
        self.same_bits(loaded(self.post(text, type=CSV, accept=NPY)), array)
        text = self.post(saved(array[:, [0, 2]]), "?nonfinite=null", type=NPY, accept=CSV)
        np.testing.assert_array_equal(pd.read_csv(io.BytesIO(text), header=None).to_numpy(), [[np.nan, np.nan], [1.5, 2.0]])

    def test_narrow(self):
        every = np.arange(65536, dtype="<u2").view("<f2").reshape(256, 256)
        finite = np.where(np.isfinite(every), every, np.float16(0.5))
        text = self.post(saved(finite), type=NPY, accept=CSV)
        back = self.post(text, "?dtype=float16", type=CSV, accept=NPY)
        self.same_bits(loaded(back), finite)
        self.same_bits(np.loadtxt(io.BytesIO(text), delimiter=",").astype("<f2"), finite.T)

    def test_json_both_ways(self):
        frame = pd.DataFrame({"a": ["x", "y,z"], "b": ['"q"', "plain"], "c": [1.5, 2.25]})
        text = frame.to_csv(header=False, index=False).encode()
        rows = self.daemon.post(text, type=CSV, accept=JSON).json()
        self.assertEqual(rows, [["x", "y,z"], ['"q"', "plain"], [1.5, 2.25]])

    def test_a_word_is_named(self):
        answer = self.daemon.post(b"1,2\n3,four\n", type=CSV, accept=NPY)
        self.assertEqual((answer.status, answer.json()["code"], answer.json()["line"], answer.json()["column"]), (422, "out-of-range", 2, 3))
        self.assertIn("'four'", answer.json()["detail"])


if __name__ == "__main__":
    main()

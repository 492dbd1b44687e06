"""client_tables.py -- other people's tools on the same files: datamash, csvtool, Miller, Python's csv and json, pandas agree cell for cell."""
import csv
import io
import json
import random
import shutil
import subprocess
import unittest

from daemon import Folder, main, run_binary

try:
    import pandas
except ImportError:
    pandas = None


def numbers(rows, cols, seed):
    source = random.Random(seed)
    return [[f"{source.gauss(0, 1000):.6g}" for _ in range(cols)] for _ in range(rows)]


def words(rows, cols, seed):
    source = random.Random(seed)
    pool = ["", "a", "two words", "comma, inside", 'a "quoted" word', "line\nline", "\u03b1\u03b2", "5", " padded ", "'single'", "tab\tinside", ";", "NA"]
    return [[source.choice(pool) for _ in range(cols)] for _ in range(rows)]


SHAPES = [(1, 1), (1, 9), (9, 1), (3, 5), (40, 300), (300, 40), (257, 64)]


class Tables(Folder):
    def run_on(self, text, suffix, *flags):
        path = self.write("t" + suffix, text)
        return path, run_binary("run", path, *flags).stdout

    def need(self, tool):
        if shutil.which(tool) is None:
            self.skipTest(f"{tool} is not installed (tests/run.sh does that)")

    def test_datamash(self):
        self.need("datamash")
        for i, shape in enumerate(SHAPES):
            text = "".join("\t".join(row) + "\n" for row in numbers(*shape, i)).encode()
            path, got = self.run_on(text, ".tsv")
            with open(path, "rb") as file:
                self.assertEqual(got, subprocess.run(["datamash", "transpose"], stdin=file, capture_output=True, check=True).stdout, shape)

    def test_csvtool(self):
        self.need("csvtool")
        for i, shape in enumerate(SHAPES):
            cells = [[cell.strip() for cell in row] for row in words(*shape, i)]
            out = io.StringIO()
            csv.writer(out, lineterminator="\n").writerows(cells)
            path, got = self.run_on(out.getvalue().encode(), ".csv")
            theirs = subprocess.run(["csvtool", "transpose", path], capture_output=True, check=True).stdout
            # csvtool drops empty cells at a row's end, and blanks round a cell
            theirs = [row + [""] * (shape[0] - len(row)) for row in csv.reader(io.StringIO(theirs.decode(), newline=""))]
            ours = [row or [""] for row in csv.reader(io.StringIO(got.decode(), newline=""))]
            self.assertEqual(ours, theirs + [[""] * shape[0]] * (len(ours) - len(theirs)), shape)

    def test_miller(self):
        self.need("mlr")
        for i, (rows, cols) in enumerate(SHAPES):
            cells = [[f"k{c}" for c in range(cols)]] + [[f"r{r}" if c == 0 else f"{r}.{c}0" for c in range(cols)] for r in range(rows)]
            path, got = self.run_on("".join(",".join(row) + "\n" for row in cells).encode(), ".csv")
            theirs = subprocess.run(["mlr", "--icsv", "--ojson", "--infer-none", "cat", path], capture_output=True, check=True).stdout
            records = json.loads(theirs)
            self.assertEqual(list(csv.reader(io.StringIO(got.decode()))), [[f"k{c}"] + [record[f"k{c}"] for record in records] for c in range(cols)])

    def test_python_csv(self):
        for i, shape in enumerate(SHAPES):
            for end, delimiter, suffix, flags in (("\n", ",", ".csv", []), ("\r\n", ",", ".csv", []), ("\n", "\t", ".tsv", []), ("\n", ";", ".csv", ["--delimiter", ";"])):
                for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
                    cells = words(*shape, i)
                    out = io.StringIO()
                    csv.writer(out, lineterminator=end, delimiter=delimiter, quoting=quoting).writerows(cells)
                    got = self.run_on(out.getvalue().encode(), suffix, *flags)[1].decode()
                    read = list(csv.reader(io.StringIO(got, newline=""), delimiter=delimiter))
                    self.assertEqual([row or [""] for row in read], [list(row) for row in zip(*cells)], (shape, end, delimiter))
                    self.assertEqual(got.endswith(end), True)

    def test_python_json(self):
        for i, shape in enumerate(SHAPES):
            cells = [[value if r % 2 else float(number) for value, number in zip(row, line)] for r, (row, line) in enumerate(zip(words(*shape, i), numbers(*shape, i)))]
            got = self.run_on(json.dumps(cells, indent=i % 3 or None).encode(), ".json")[1]
            self.assertEqual(json.loads(got), [list(row) for row in zip(*cells)])

    @unittest.skipIf(pandas is None, "pandas is not installed: a .venv at the top of the tree with it will do")
    def test_pandas(self):
        for i, shape in enumerate(SHAPES):
            out = io.StringIO()
            csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(words(*shape, i))
            path, got = self.run_on(out.getvalue().encode(), ".csv")
            read = {"header": None, "dtype": str, "keep_default_na": False, "skip_blank_lines": False}
            ours, theirs = pandas.read_csv(io.BytesIO(got), **read), pandas.read_csv(path, **read).T
            self.assertEqual(ours.values.tolist(), theirs.values.tolist(), shape)


if __name__ == "__main__":
    main()

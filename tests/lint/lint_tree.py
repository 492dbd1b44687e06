"""lint_tree.py -- what every lint shares: the files of the project, source without comments, rows of tables, the verdict."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = (".c", ".h", ".cu", ".cpp", ".def")
PASSED_OVER = {"build", ".git", ".venv", "__pycache__", ".cache"}


def files(*suffixes, under=""):
    """Paths from the root, sorted: what git knows or would take, else (an unpacked archive) what lies there."""
    try:
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z"], capture_output=True)
    except FileNotFoundError:  # no git on this machine
        listed = None
    if listed is not None and listed.returncode == 0:
        found = [p for p in listed.stdout.decode().split("\0") if p and os.path.isfile(os.path.join(ROOT, p))]
    else:
        found = []
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [f for f in folders if f not in PASSED_OVER]
            found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    return sorted(p for p in set(found) if p.startswith(under) and (not suffixes or p.endswith(suffixes)))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def code_of(text):
    """Comments and the insides of strings blanked; line numbers stay."""
    def blank(match):
        found = match.group(0)
        if found[0] in "\"'":
            return found[0] + found[-1]
        return re.sub(r"[^\n]", " ", found)
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def table(name):
    """Rows of include/transposed/tbl/NAME.def: lists of fields, quotes off."""
    text = re.sub(r"/\*.*?\*/", "", read(f"include/transposed/tbl/{name}.def"), flags=re.S)
    rows = []
    for body in re.findall(r"^X\((.*?)\)\s*$", text, re.S | re.M):
        fields = re.findall(r'\s*("(?:\\.|[^"\\])*"|[^,"]+)\s*(?:,|$)', body)
        rows.append([field.strip().strip('"') for field in fields])
    return rows


class Verdict:
    def __init__(self):
        self.problems = []

    def say(self, path, line, words):
        self.problems.append(f"{path}:{line}: {words}" if line else f"{path}: {words}")

    def end(self):
        for problem in self.problems:
            print(problem)
        print(f"{len(self.problems)} problems")
        sys.exit(1 if self.problems else 0)

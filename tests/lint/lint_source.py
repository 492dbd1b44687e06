"""lint_source.py -- calls that are banned, files that are too long, names that stand twice, words that do not belong here."""
import collections
import os
import re

from lint_tree import SOURCE, Verdict, code_of, files, read

LINES_MOST = 500
BANNED = {
    "strcpy": "memcpy or snprintf", "strcat": "snprintf", "sprintf": "snprintf", "vsprintf": "vsnprintf", "gets": "fgets",
    "atoi": "a parser that can fail", "atol": "a parser that can fail", "atof": "a parser that can fail", "strtok": "strsep",
    "alloca": "the heap or a fixed array", "rand": "tests/harness", "srand": "tests/harness", "system": "no shell at all",
    "popen": "no shell at all", "tmpnam": "mkostemp", "mktemp": "mkostemp", "setjmp": "a status", "longjmp": "a status",
}
HEAP = re.compile(r"(?<![\w.>])(malloc|calloc|realloc)\s*\(")
SHARED_NAMES = {"README.md", "RESULTS.md", "CMakeLists.txt", ".gitignore"}

verdict = Verdict()
places = collections.defaultdict(list)
for path in files():
    name = os.path.basename(path)
    if name not in SHARED_NAMES and not path.startswith(("tests/golden", "tests/fuzz/", "config/", "deploy/")):
        places[name].append(path)
for name, paths in sorted(places.items()):
    if len(paths) > 1:
        verdict.say(paths[1], 0, f"has the name of {paths[0]}")

for path in files(*SOURCE, ".py", ".sh"):
    text = read(path)
    lines = text.count("\n")
    if lines > LINES_MOST:
        verdict.say(path, 0, f"has {lines} lines: more than {LINES_MOST} is two ideas")
    if text and not text.endswith("\n"):
        verdict.say(path, lines + 1, "does not end with a newline")
    for number, line in enumerate(text.splitlines(), 1):
        if line != line.rstrip() or "\t" in line:
            verdict.say(path, number, "has a tab or white space at its end")
        if re.search(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX)\b", line):
            verdict.say(path, number, "leaves something to be done: do it, or say it in an issue")
    if not path.endswith(SOURCE):
        continue
    if not re.match(r"/\* " + re.escape(os.path.basename(path)) + r" -- ", text):
        verdict.say(path, 1, "does not begin with its name and what it is for")
    if path.startswith("tests/"):
        continue
    for number, line in enumerate(code_of(text).splitlines(), 1):
        for word in re.findall(r"(?<![\w.>])(\w+)\s*\(", line):
            if word in BANNED:
                verdict.say(path, number, f"calls {word}; take {BANNED[word]}")
        if path != "kernels/core/alloc.c" and HEAP.search(line):
            verdict.say(path, number, "takes memory past include/transposed/alloc.h")

# A path of somebody's machine in a public file helps nobody.
private = re.compile(r"(?<![\w.])/(home|Users|wo" + r"rk|ro" + r"ot)/[\w.]")
for path in files(*SOURCE, ".py", ".sh", ".md", ".txt", ".cmake", ".json", ".service", "run"):
    if path.startswith("tests/golden"):
        continue
    for number, line in enumerate(read(path).splitlines(), 1):
        if private.search(line):
            verdict.say(path, number, "names a path of one machine")
verdict.end()

"""lint_tables.py -- every row of a table has its file and its words in the documents."""
import os
import re

from lint_tree import ROOT, Verdict, files, read, table

verdict = Verdict()


def exists(path):
    return os.path.exists(os.path.join(ROOT, path))


def documented(table_name, word, *places):
    if not any(exists(place) and re.search(r"(?<![\w/-])" + re.escape(word) + r"(?![\w-])", read(place)) for place in places):
        verdict.say(f"include/transposed/tbl/{table_name}.def", 0, f"{word} is not in {' or '.join(places)}")


def one_of(table_name, row, *paths):
    if not any(exists(path) for path in paths):
        verdict.say(f"include/transposed/tbl/{table_name}.def", 0, f"{row} has no {' or '.join(paths)}")


for row in table("strategies"):
    one_of("strategies", row[1], f"kernels/strategies/strategy_{row[1]}.h")
    documented("strategies", row[1], "kernels/README.md", "kernels/strategies/README.md")
    if exists("kernels/strategies/every_strategy.h") and f"strategy_{row[1]}.h" not in read("kernels/strategies/every_strategy.h"):
        verdict.say("kernels/strategies/every_strategy.h", 0, f"does not include strategy_{row[1]}.h")
for row in table("codecs"):
    one_of("codecs", row[1], f"server/codec/codec_{row[1]}.c", f"server/codec/codec_{row[1]}.cpp")
    documented("codecs", row[2], "README.md")
for row in table("backends"):
    one_of("backends", row[1], f"kernels/{row[1]}/backend_{row[1]}.c")
    documented("backends", row[1], "kernels/README.md")
for row in table("config"):
    documented("config", row[1], "config/README.md")
handlers = "".join(read(path) for path in files(".c", under="server/http/"))
for row in table("routes"):
    documented("routes", row[1], "README.md", "server/README.md")
    if not re.search(r"\b" + row[4] + r"\s*\(", handlers):
        verdict.say("include/transposed/tbl/routes.def", 0, f"{row[4]} is not defined in server/http/")
commands = "".join(read(path) for path in files(".c", under="server/cmd/"))
for row in table("commands"):
    documented("commands", row[1], "README.md", "server/README.md")
    if not re.search(r"^int " + row[2] + r"\(", commands, re.M):
        verdict.say("include/transposed/tbl/commands.def", 0, f"{row[2]} is not defined in server/cmd/")
for row in table("dtypes"):
    documented("dtypes", row[1], "README.md")
errors = read("server/README.md")
for row in table("status"):
    line = f"| `{row[1]}` | {row[2]} | {'yes' if row[3] == '1' else ''} | {row[4]} |"
    if row[0] not in ("OK", "CONFIG", "IO") and line not in errors:
        verdict.say("server/README.md", 0, f"lacks the line: {line}")
slugs = [row[1] for row in table("status")]
for slug in sorted({slug for slug in slugs if slugs.count(slug) > 1}):
    verdict.say("include/transposed/tbl/status.def", 0, f"slug {slug} stands twice")
# A slug that nothing uses promises an error that never comes.
source = "".join(read(path) for path in files(".c", ".cu", ".cpp", ".h") if path.startswith(("kernels/", "server/", "include/")))
for row in table("status"):
    if not re.search(r"\bTPD_" + row[0] + r"\b", source):
        verdict.say("include/transposed/tbl/status.def", 0, f"TPD_{row[0]} is never answered")
verdict.end()

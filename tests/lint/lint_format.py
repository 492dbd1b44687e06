"""lint_format.py -- clang-format 14 (Debian 12's) and shellcheck have nothing to say."""
import os
import re
import shutil
import subprocess
import sys

from lint_tree import ROOT, files

formatter = shutil.which("clang-format-14") or shutil.which("clang-format")
version = subprocess.run([formatter, "--version"], capture_output=True, text=True).stdout if formatter else ""
failed, missing = False, []
if re.search(r"version 14\.", version):
    paths = files(".c", ".h", ".cu", ".cpp")
    done = subprocess.run([formatter, "--dry-run", "-Werror", *paths], cwd=ROOT, capture_output=True, text=True)
    bad = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", done.stderr, re.M)))
    for path in bad:
        print(f"{path}: clang-format would change it")
    failed |= done.returncode != 0
else:
    missing.append("clang-format 14")
if shutil.which("shellcheck"):
    scripts = files(".sh") + [path for path in (".ci/run",) if os.path.exists(os.path.join(ROOT, path))]
    done = subprocess.run(["shellcheck", "-x", *scripts], cwd=ROOT, capture_output=True, text=True)
    print(done.stdout, end="")
    failed |= done.returncode != 0
else:
    missing.append("shellcheck")
if failed:
    sys.exit(1)
if missing:
    print(f"waived: {' and '.join(missing)} not installed")
    sys.exit(77)
print("0 problems")

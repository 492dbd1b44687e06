#!/usr/bin/env python3
"""compare.py -- lays `transposed bench` beside every peer that is here: one Markdown table, the best peer, the ratio, who wins.

    compare.py BIN --device cpu|cuda [--peer NAME] ... [--bars] [--rounds N] [--write] [OPTIONS of peer.py, for all of them]
    compare.py --from FILE.json ...

BIN is a build's bin folder. Our own grid is measured first; peers get the cells that fitted. With --rounds, all take turns so often
and medians count: what a shared machine does to one of them it then does to all. --keep FOLDER keeps every program's JSON; --from
joins such files and measures nothing. --write puts a CPU's table into tests/bench/RESULTS.md. 2 % apart is a tie.
Exit 0 good, 1 a program failed or gave a wrong transpose, 2 usage.
"""
import argparse
import datetime
import glob
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from results_page import put  # noqa: E402

TIE = 0.02
SKIPPED = 77
# What each is started as; a name without a suffix lies in BIN.
PEERS = {
    "cuda": {"cublas geam": ["peer_geam"], "cutensor": ["peer_cutensor"], "pytorch": ["pytorch.py"],
             "torch.compile": ["pytorch.py", "--compiled"], "xla": ["jax_xla.py"], "cupy": ["cupy_peer.py"]},
    "cpu": {"openblas": ["peer_openblas"], "numpy": ["numpy_peer.py"], "hptt": ["hptt_peer.py"]},
}


def arguments():
    parser = argparse.ArgumentParser(description="transposed beside its peers, as a Markdown table.")
    parser.add_argument("bin", type=pathlib.Path, nargs="?", help="a build's bin folder")
    parser.add_argument("--from", type=pathlib.Path, nargs="+", dest="files", metavar="FILE", help="JSON of earlier runs: join, do not measure")
    parser.add_argument("--device", choices=sorted(PEERS), default="cpu")
    parser.add_argument("--peer", action="append", help="this one alone; may be given again (all)")
    parser.add_argument("--bars", action="store_true", help="the cells alone for which the grid has a bar on this device")
    parser.add_argument("--rounds", type=int, default=1, help="how often all take turns (1)")
    parser.add_argument("--python", default=sys.executable, help="the Python that has the peers' libraries")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for every program's JSON")
    parser.add_argument("--write", action="store_true", help="put the table into tests/bench/RESULTS.md")
    for name in ("shape", "itemsize", "threads"):
        parser.add_argument(f"--{name}", action="append", default=[], help="for all of them; may be given again")
    for name in ("repeats", "seconds", "memory"):
        parser.add_argument(f"--{name}", help="for all of them")
    parser.add_argument("--stop-after", help="seconds after which a peer begins no new cell")
    options = parser.parse_args()
    if (options.bin is None) == (options.files is None):
        parser.error("give BIN to measure, or --from FILE.json to join")
    unknown = set(options.peer or ()) - set(PEERS[options.device])
    if unknown:
        parser.error(f"no peer {', '.join(sorted(unknown))} on {options.device}: there are {', '.join(PEERS[options.device])}")
    return options


def environment(options, ours):
    """Carried libraries are for our binaries alone; libraries that came with Python's packages are named for those that look."""
    names = dict(os.environ)
    carried = options.bin.resolve().parent / "lib"
    if ours and carried.is_dir():
        names["LD_LIBRARY_PATH"] = str(carried)
    for variable, pattern in (("TRANSPOSED_CUBLAS", "nvidia/*/lib/libcublas.so.*"), ("TRANSPOSED_CUTENSOR", "cutensor/lib/libcutensor.so.2")):
        found = sorted(path for folder in sys.path for path in glob.glob(os.path.join(folder, pattern)))
        if found:
            names.setdefault(variable, found[-1])
    return names


def run(options, command, ours):
    """(the program's JSON, whether it ended well)"""
    print("== " + " ".join(str(word) for word in command[:6]) + (" ..." if len(command) > 6 else ""), file=sys.stderr, flush=True)
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment(options, ours), check=False)
    try:
        return json.loads(ended.stdout), ended.returncode in (0, SKIPPED)
    except json.JSONDecodeError:
        return {"rows": [], "left_out": [], "skipped": f"exit status {ended.returncode}, and no JSON"}, False


def passed(options, *names):
    words = []
    for name in names:
        value = getattr(options, name.replace("-", "_"))
        for each in value if isinstance(value, list) else [value] if value is not None else []:
            words += [f"--{name}", str(each)]
    return words


def cell_words(rows):
    cells = dict.fromkeys((row["rows"], row["cols"], row["batch"], row["itemsize"]) for row in rows)
    return [word for rows_, cols, batch, size in cells for word in ("--shape", f"{rows_}x{cols}x{batch}:{size}")]


def measure(options):
    """[(name, JSON)] of every program and round, and whether all ended well."""
    found, good = [], True
    for turn in range(options.rounds):
        command = [options.bin / "transposed", "bench", "--json", "--device", options.device]
        ours, fine = run(options, command + passed(options, "shape", "itemsize", "threads", "repeats", "seconds", "memory"), True)
        if options.bars:
            ours["rows"] = [row for row in ours["rows"] if row["bar"]]
        found.append(("transposed", ours))
        good &= fine
        if not ours["rows"]:  # without our cells a peer would measure all of its grid, for nothing
            print("compare.py: transposed measured nothing on this device: there is nothing to compare", file=sys.stderr)
            return found, False
        begun = len(found) - 1
        for name, (program, *first) in PEERS[options.device].items():
            if options.peer and name not in options.peer:
                continue
            in_python = program.endswith(".py")
            command = [options.python, "-B", HERE / program, *first] if in_python else [options.bin / program]
            if not in_python and not command[0].exists():
                found.append((name, {"rows": [], "left_out": [], "skipped": f"{program} was not built: its library was not found"}))
                continue
            words = passed(options, "threads", "repeats", "seconds", "memory", "stop-after")
            theirs, fine = run(options, command + cell_words(ours["rows"]) + words, not in_python)
            found.append((name, theirs))
            good &= fine
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            for name, said in found[begun:]:
                (options.keep / f"{re.sub('[^a-z.]', '_', name)}-{turn}.json").write_text(json.dumps(said))
    return found, good


def key_of(row):
    return row["rows"], row["cols"], row["batch"], row["itemsize"], row.get("threads")


def joined(found):
    """{cell: {name: [rows]}} of what was right, ours chosen by `auto`; in the order measured."""
    table = {}
    for name, said in found:
        for row in said["rows"]:
            if row["verified"] and row.get("auto", True) and row["seconds_median"]:
                table.setdefault(key_of(row), {}).setdefault(name, []).append(row)
    return {cell: names for cell, names in table.items() if "transposed" in names}


def time_of(rows):
    return statistics.median(row["seconds_median"] for row in rows)


def shown_time(seconds):
    return f"{seconds * 1e6:.2f}" if seconds < 1e-3 else f"{seconds * 1e6:.0f}"


def markdown(found):
    cells = joined(found)
    peers = [name for name in dict.fromkeys(name for name, _ in found) if name != "transposed"]
    shown = [name for name in peers if any(name in names for names in cells.values())]
    lines = ["| cell | threads | µs | GB/s | of copy | strategy | " + " | ".join(f"{name} µs" for name in shown) + " | best peer | ratio | wins |",
             "|---|---|---|---|---|---|" + "---|" * len(shown) + "---|---|---|"]
    count = {"transposed": 0, "tie": 0, "a peer": 0, "no peer": 0}
    for (rows, cols, batch, size, threads), names in cells.items():
        ours = time_of(names["transposed"])
        row = names["transposed"][-1]
        share = statistics.median(each["share_of_copy"] for each in names["transposed"])
        times = {name: time_of(names[name]) for name in shown if name in names}
        best = min(times, key=times.get, default=None)
        ratio = times[best] / ours if best else None
        wins = "no peer" if best is None else "tie" if abs(ratio - 1) <= TIE else "transposed" if ratio > 1 else "a peer"
        count[wins] += 1
        shape = f"{rows}x{cols}" + (f"x{batch}" if batch != 1 else "")
        lines.append(f"| {shape}:{size} | {threads or '–'} | {shown_time(ours)} | {2e-9 * row['bytes'] / ours:.1f} | {share:.3f} | {row['strategy']} | "
                     + " | ".join(shown_time(times[name]) if name in times else "–" for name in shown)
                     + f" | {best or '–'} | {f'{ratio:.2f}' if ratio else '–'} | {best if wins == 'a peer' else wins} |")
    lines.append("")
    lines.append(f"{len(cells)} cells: transposed wins {count['transposed']}, {count['tie']} ties (within {TIE * 100:.0f} %), a peer wins "
                 f"{count['a peer']}, {count['no peer']} without a peer. Ratio: the best peer's time by ours.")
    for name in peers:
        reasons = dict.fromkeys(said["skipped"] for who, said in found if who == name and said.get("skipped"))
        lines += [f"- {name}: skipped: {reason}" for reason in reasons]
        left = dict.fromkeys(each["reason"] for who, said in found if who == name for each in said["left_out"])
        if left:
            lines.append(f"- {name}: cells left out: {'; '.join(left)}")
    references = dict.fromkeys(f"- {name}: its copy: {said['reference']}" for name, said in found if said["rows"])
    return "\n".join(lines + list(references)) + "\n"


def machine():
    model = re.search(r"model name\s+:\s+(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}"


def main():
    options = arguments()
    if options.files:
        found = [(said.get("peer", "transposed"), said) for said in (json.loads(path.read_text()) for path in options.files)]
        good = True
    else:
        found, good = measure(options)
    ours = [said for name, said in found if name == "transposed" and "device" in said]
    table = markdown(found)
    head = f"{ours[0]['device'] if ours else 'nothing of ours'}; {machine()}; commit {ours[0]['commit'] if ours else '–'}; {datetime.date.today()}; " \
           f"{options.rounds if not options.files else 'earlier'} rounds, medians.\n\n"
    print(head + table, end="")
    if options.write:
        put(f"peers-{options.device}", "compare.py", f"## Peers on the {options.device.upper()}\n\n{head}{table}")
    wrong = any("WRONG" in each["reason"] for _, said in found for each in said["left_out"])
    return 0 if good and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())

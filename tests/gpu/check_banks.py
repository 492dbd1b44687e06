"""check_banks.py -- the profiler's counters beside the bank model: python3 tests/gpu/check_banks.py CARRIED [--csv FILE]

Runs CARRIED/bin/bank_probe under Nsight Compute, lays counter beside model launch by launch, and prints Markdown; --csv writes
what was measured, which tests/unit/model/test_bank_measured.c holds the model against. Equal means equal; above the model by up
to NOISE is the counters' own; everything else differs and fails. Exits 77, saying why, where there is no GPU or no ncu.
"""
import argparse
import csv
import glob
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

NOISE = 0.03
WINDOW_FIRST, WINDOW_MOST = 40, 220  # launches a run of ncu: what is lost when one fails
WAVEFRONTS, CONFLICTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
SHARED = {f"{word}_{what}": metric for word, op in (("load", "ld"), ("store", "st")) for what, metric in (
    ("requests", f"smsp__inst_executed_op_shared_{op}"), ("wavefronts", f"{WAVEFRONTS}_op_{op}"), ("excess", f"{CONFLICTS}_op_{op}"))}
SECTORS = {"load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld", "store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st"}
# Which counters see ldmatrix and stmatrix is not the same on every architecture: the first that counted anything is taken.
MATRIX = {"load_requests": ["smsp__inst_executed_op_ldsm", SHARED["load_requests"]],
          "store_requests": ["smsp__inst_executed_op_stsm", SHARED["store_requests"]],
          **{f"{word}_{what}": [f"{base}_op_{op}", base] for word, op in (("load", "ld"), ("store", "st"))
             for what, base in (("wavefronts", WAVEFRONTS), ("excess", CONFLICTS))}}
CANDIDATE = re.compile(rf"({WAVEFRONTS}|{CONFLICTS}|smsp__inst_executed_op_(ldsm|stsm|shared))\w*$")
KEYS = ["load_requests", "load_wavefronts", "load_excess", "load_sectors", "store_requests", "store_wavefronts", "store_excess",
        "store_sectors"]
COLUMNS = ["kind", "name", "op", "itemsize", "tile", "rows", "cols", "batch", "active", "addresses", "repeats"]


def waive(why):
    print(f"waived: {why}")
    sys.exit(77)


def find_ncu(given):
    places = [given] if given else [shutil.which("ncu"), *sorted(glob.glob("/usr/local/cuda*/bin/ncu"), reverse=True),
                                    *sorted(glob.glob("/opt/nvidia/nsight-compute/*/ncu"), reverse=True)]
    return next((place for place in places if place and os.access(place, os.X_OK)), None)


def probe(binary, job):
    """The model's lines; the launches run once without a profiler, so that a failing one is seen for what it is."""
    done = subprocess.run([binary, job], capture_output=True, text=True, timeout=60)
    if done.returncode == 77:
        waive(done.stderr.strip().removeprefix("waived: "))
    if done.returncode != 0:
        sys.exit(f"bank_probe {job}: exit status {done.returncode}: {done.stderr.strip()[-1000:]}")
    if done.stderr.strip():
        print(done.stderr.strip().replace("\n", "  \n") + "\n")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    for row in rows:
        row.update({key: int(row[key]) for key in KEYS})
    return rows


def known_metrics(ncu):
    """Base names that this ncu knows for this GPU; none when it does not say."""
    done = subprocess.run([ncu, "--query-metrics"], capture_output=True, text=True, timeout=60)
    return set(re.findall(r"^\"?([a-z0-9]+__\w+)", done.stdout, re.M))


def launches_of(text):
    """[(kernel, {metric: value})] in the order of launch, from ncu's long CSV; text before its header is ncu's own."""
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith('"ID"')), None)
    launches = {}
    for row in csv.DictReader(lines[start:]) if start is not None else []:
        if not (row.get("ID") or "").isdigit():
            continue
        kernel, counts = launches.setdefault(int(row["ID"]), (row["Kernel Name"], {}))
        value = (row.get("Metric Value") or "").replace(",", "")
        if re.fullmatch(r"\d+(\.\d+)?", value):
            counts[row["Metric Name"].removesuffix(".sum")] = round(float(value))
    return [launches[at] for at in sorted(launches)]


def profile(ncu, binary, job, first, rows, metrics, seconds):
    """Counts rows[first:] (a window) into row["counts"]; answers what went wrong, or None."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "ncu.csv")
        command = [ncu, "--clock-control", "none", "--cache-control", "none", "--target-processes", "all", "--csv", "--print-units", "base",
                   "--log-file", log, "--metrics", ",".join(f"{name}.sum" for name in metrics), binary, job, str(first), str(len(rows))]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=max(seconds, 1))
        except subprocess.TimeoutExpired:
            return f"{job} {first}: no answer within {seconds:.0f} s"
        text = open(log, encoding="utf-8", errors="replace").read() if os.path.exists(log) else ""
    launches = launches_of(text)
    at = 0
    for row in rows:
        # A row that this GPU has no instruction for was not launched.
        if at < len(launches) and re.search(rf"\b{row['kernel']}\b", launches[at][0]):
            row["counts"] = launches[at][1]
            at += 1
    if at != len(launches) or at == 0 or done.returncode != 0:
        said = "\n".join(line for line in (text + done.stdout + done.stderr).splitlines() if line.startswith("=="))
        return f"{job} {first}: ncu's exit status {done.returncode}, {at} of {len(launches)} launches recognised: {said[-1500:]}"
    return None


def measured(row):
    """{key: counter} of a row; a key is absent when nothing counted it."""
    counts, found = row.get("counts", {}), {}
    for key in KEYS:
        if key in SECTORS or not row["kind"].endswith("matrix"):
            name = {**SHARED, **SECTORS}[key]
        else:
            name = next((name for name in MATRIX[key] if counts.get(name)), MATRIX[key][0])
            if not key.startswith(row["op"]):
                continue
        if name in counts:
            found[key] = counts[name]
    return found


def keys_of(row):
    """What a row is judged by."""
    if row["kind"] == "strategy":
        keys = [key for key in KEYS if "sectors" in key or row["tile"] != "0x0"]
    else:
        keys = [f"{row['op']}_{what}" for what in ("requests", "wavefronts", "excess")]
    # Not every ncu counts the requests of every instruction; without the rest nothing is proved.
    return [key for key in keys if "requests" not in key or key in measured(row)]


def verdict_of(row, key):
    """"equal", "noise", "differs" or "not measured"; conflicts are a share of wavefronts, and have their noise."""
    count, model = measured(row).get(key), row[key]
    if count is None:
        return "not measured"
    noise = NOISE * row[key.replace("excess", "wavefronts")] if "requests" not in key else 0
    return "equal" if count == model else "noise" if model < count <= model + noise else "differs"


def verdict_of_row(row):
    verdicts = {verdict_of(row, key) for key in keys_of(row)}
    return next(word for word in ("not measured", "differs", "noise", "equal") if word in verdicts)


def cell(row, key):
    count, model = measured(row).get(key), row[key]
    if count is None:
        return f"{model} / –"
    share = "" if count == model else f" ({(count - model) / model:+.2%})" if model else f" ({count - model:+d})"
    return f"{model} / {count}{share}"


def print_strategies(rows):
    print("### Strategies: sums over the whole grid, model / counter\n")
    print("| strategy | bytes | tile | rows×cols×batch | shared load requests | wavefronts | conflicts | shared store requests | wavefronts "
          "| conflicts | sectors loaded | sectors stored | verdict |\n|" + "---|" * 13)
    order = ["load_requests", "load_wavefronts", "load_excess", "store_requests", "store_wavefronts", "store_excess", *SECTORS]
    for row in rows:
        print(f"| {row['name']} | {row['itemsize']} | {row['tile']} | {row['rows']}×{row['cols']}×{row['batch']} | "
              + " | ".join(cell(row, key) for key in order) + f" | {verdict_of_row(row)} |")
    print()


def print_patterns(rows):
    groups = {}
    for row in rows:
        groups.setdefault((row["kind"], row["op"], int(row["itemsize"])), []).append(row)
    print("### Bare patterns: wavefronts, model and counter\n")
    print("| pattern | op | bytes | requests measured | model | counter | difference | equal | noise | differ | not measured |\n|" + "---|" * 11)
    for (kind, op, size), group in groups.items():
        key, verdicts = f"{op}_wavefronts", [verdict_of_row(row) for row in group]
        seen = [(row[key], measured(row)[key]) for row in group if key in measured(row)]
        model, count = sum(pair[0] for pair in seen), sum(pair[1] for pair in seen)
        share = f"{count / model - 1:+.3%}" if model else ""
        print(f"| {kind} | {op} | {size} | {len(seen)} | {model} | {count} | {share} | "
              + " | ".join(str(verdicts.count(word)) for word in ("equal", "noise", "differs", "not measured")) + " |")
    bad = [row for row in rows if verdict_of_row(row) == "differs"]
    if bad:
        print("\nEvery pattern that differs, model / counter of all its rounds:\n")
        print("| pattern | request | active lanes | rounds | requests | wavefronts | conflicts |\n|---|---|---|---|---|---|---|")
        for row in bad:
            print(f"| {row['kind']} | {row['name']} | {row['active']} | {row['repeats']} | "
                  + " | ".join(cell(row, f"{row['op']}_{what}") for what in ("requests", "wavefronts", "excess")) + " |")
    print()


def print_candidates(rows):
    """Which counter saw the matrix instructions, and what it counted."""
    rows = [row for row in rows if row["kind"].endswith("matrix") and "counts" in row]
    print("### ldmatrix and stmatrix: what each counter counted, over all patterns\n")
    print("| instruction | counter | sum | model's wavefronts | model's conflicts | requests |\n|---|---|---|---|---|---|")
    for kind, op in (("ldmatrix", "load"), ("stmatrix", "store")):
        group = [row for row in rows if row["kind"] == kind]
        sums = " | ".join(str(sum(row[f"{op}_{what}"] for row in group)) for what in ("wavefronts", "excess", "requests"))
        for name in sorted({name for row in group for name in row["counts"]}):
            print(f"| {kind} | `{name}` | {sum(row['counts'].get(name, 0) for row in group)} | {sums} |")
    print()


def write_csv(path, rows, device):
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(f"# Written by tests/gpu/check_banks.py: Nsight Compute's counters on {device}\n")
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS + [key.replace("excess", "conflicts") for key in KEYS])
        for row in rows:
            found = measured(row)
            if found:
                out.writerow([row[column] for column in COLUMNS] + [found.get(key, "") for key in KEYS])


def device_name():
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True,
                              timeout=20)
        return "; ".join(done.stdout.splitlines()[0].split(", ")) if done.returncode == 0 else "an unnamed GPU"
    except (OSError, IndexError, subprocess.TimeoutExpired):
        return "an unnamed GPU"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("carried")
    parser.add_argument("--csv", help="file for what was measured")
    parser.add_argument("--ncu")
    parser.add_argument("--seconds", type=float, default=190, help="stop profiling after so many, and say what is left")
    asked = parser.parse_args()
    binary = os.path.join(os.path.abspath(asked.carried), "bin", "bank_probe")
    end = time.monotonic() + asked.seconds
    ncu = find_ncu(asked.ncu)
    if ncu is None:
        waive("Nsight Compute (ncu) is not installed here")
    strategies, patterns = probe(binary, "strategies"), probe(binary, "patterns")
    bare = next((at for at, row in enumerate(patterns) if row["kind"].endswith("matrix")), len(patterns))
    known = known_metrics(ncu)
    if not known:
        print("ncu --query-metrics named no metric: asked for all of them untried.\n")
    extra = {name for names in MATRIX.values() for name in names} | {name for name in known if CANDIDATE.match(name)}
    extra = sorted(name for name in extra if not known or name in known)
    missing = [name for name in [*SHARED.values(), *SECTORS.values()] if known and name not in known]
    for name in missing:
        print(f"ncu has no metric `{name}` for this GPU: what it would count is not measured.\n")
    jobs = [("strategies", 0, strategies, [*SHARED.values(), *SECTORS.values()]), ("patterns", bare, patterns[bare:], extra),
            ("patterns", 0, patterns[:bare], list(SHARED.values()))]
    troubles, window = [], WINDOW_FIRST
    for job, offset, rows, metrics in jobs:
        metrics, first = [name for name in metrics if name not in missing], 0
        while first < len(rows):
            begun = time.monotonic()
            if end - begun < 5:
                troubles.append(f"the time is up: {len(rows) - first} {job} are left")
                break
            trouble = profile(ncu, binary, job, offset + first, rows[first:first + window], metrics, end - begun)
            if trouble:
                troubles.append(trouble)
            first, each = first + window, (time.monotonic() - begun) / min(window, len(rows) - first)
            # As many as the time left is sure to be enough for.
            window = max(1, min(WINDOW_MOST, int(0.8 * (end - time.monotonic()) / each)))
    rows = strategies + patterns
    verdicts = [verdict_of_row(row) for row in rows]
    shares = [measured(row)[key] / row[key] - 1 for row in rows for key in keys_of(row) if verdict_of(row, key) == "noise" and row[key]]
    print(f"{len(rows)} launches: {verdicts.count('equal')} equal, {verdicts.count('noise')} within the counters' noise (at most "
          f"{max(shares, default=0):+.2%}), {verdicts.count('differs')} differ, {verdicts.count('not measured')} not measured; "
          f"{asked.seconds - (end - time.monotonic()):.0f} s.\n")
    print_patterns(patterns)
    print_candidates(patterns)
    print_strategies(strategies)
    for trouble in dict.fromkeys(troubles):
        print(f"Trouble: {trouble}\n")
    if asked.csv:
        write_csv(asked.csv, rows, device_name())
    return 0 if not troubles and all(word in ("equal", "noise") for word in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What an isolde binary says of every history that there is, so that two binaries can be compared.

    scripts/verdicts.py target/release/isolde --json old.json --answers old.tsv
    ... change the checker and build it ...
    scripts/verdicts.py target/release/isolde --json new.json --answers new.tsv
    diff old.tsv new.tsv     # other answers
    diff old.json new.json   # other witnesses, reasons, figures or words

The histories are the project's own (histories/) and, if they are there, the shared ones
($ISOLDE_SHARED, else ../shared); further files and folders of files can be named. Every level is
asked, with and without session order, and then no level at all, which gives the summary. Seconds,
memory and options are left out: they differ between runs and between versions.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEVELS = (
    "read-uncommitted pl-2 read-committed cursor-stability read-atomic causal prefix repeatable-read"
    " snapshot-isolation strong-snapshot-isolation serializable strict-serializable sequential"
    " linearizable"
).split()
# The options are what was asked, which this script says itself; a new option is no new answer.
LEFT_OUT = {"seconds", "peak_memory_bytes", "memory", "options"}
NO_HISTORY = {"README.md", "expected.tsv", "verdicts.tsv"}


def histories(folder):
    """The histories below a folder; a folder is one itself where expected.tsv says so."""
    table = folder / "expected.tsv"
    listed = set()
    if table.is_file():
        rows = table.read_text().splitlines()[1:]
        listed = {row.split("\t")[0] for row in rows if row}
    found = {path for path in listed if (folder / path).exists()}
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        inside = any(str(parent) in listed for parent in name.parents)
        if path.is_file() and path.name not in NO_HISTORY and not inside:
            found.add(str(name))
    return sorted(found)


def collections(more):
    """Folders with the histories in them: each history is named relative to its folder, so that the
    output does not depend on where the folder lies."""
    shared = pathlib.Path(os.environ.get("ISOLDE_SHARED", ROOT.parent / "shared")) / "histories"
    places = [("own", ROOT / "histories"), ("shared", shared)]
    for name in more:
        path = pathlib.Path(name).resolve()
        if path.is_file():
            yield path.name, path.parent, [path.name]
        else:
            places.append((path.name, path))
    for name, folder in places:
        if folder.is_dir():
            yield name, folder, histories(folder)
        else:
            print(f"SKIPPED: there is no folder {folder}", file=sys.stderr)


def normal(value):
    """Without what differs from run to run."""
    if isinstance(value, dict):
        return {key: normal(inner) for key, inner in value.items() if not left_out(key)}
    if isinstance(value, list):
        return [normal(inner) for inner in value]
    return value


def left_out(key):
    return key in LEFT_OUT or key.endswith("_seconds")


def reports(text):
    """One object after another, with white space between them."""
    decoder = json.JSONDecoder()
    found = []
    text = text.strip()
    while text:
        report, end = decoder.raw_decode(text)
        found.append(normal(report))
        text = text[end:].lstrip()
    return found


def ask(isolde, folder, path, options, timeout):
    """One call of the command, as data."""
    command = [isolde, "check", "--json", *options, path]
    try:
        ran = subprocess.run(command, cwd=folder, capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return {"exit": "stopped by this script"}
    answer = {"exit": ran.returncode, "reports": reports(ran.stdout.decode(errors="replace"))}
    if ran.stderr:
        answer["error"] = ran.stderr.decode(errors="replace")
    return answer


def questions(alone):
    """What is asked of each history."""
    levels = [[level] for level in LEVELS] if alone else [LEVELS]
    for some in levels:
        named = ["--level", ",".join(some)]
        yield named
        yield [*named, "--no-session-order"]
    yield []


def rows(asked, said):
    """Level, with or without session order, answer."""
    sessions = "no-session-order" if "--no-session-order" in asked else "session-order"
    if "reports" not in said or not said["reports"]:
        return [("-", sessions, f"exit {said['exit']}")]
    verdicts = [verdict for report in said["reports"] for verdict in report["verdicts"]]
    if not asked:
        summaries = [report.get("summary") or {} for report in said["reports"]]
        strongest = [level for summary in summaries for level in summary.get("strongest", [])]
        return [("strongest", sessions, ",".join(strongest) or "none")]
    return [(verdict["level"], sessions, verdict["answer"]) for verdict in verdicts]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("isolde", help="the binary")
    parser.add_argument("more", nargs="*", help="more histories, or folders of them")
    parser.add_argument("--json", metavar="FILE", help="write everything that was said")
    parser.add_argument("--answers", metavar="FILE", help="write path, level and answer only; - prints them")
    parser.add_argument("--alone", action="store_true", help="ask each level by itself, not all at once")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for each call")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    isolde = str(pathlib.Path(args.isolde).resolve())
    begin = time.monotonic()
    cases = [
        (f"{name}/{path}", folder, path, asked)
        for name, folder, paths in collections(args.more)
        for path in paths
        for asked in questions(args.alone)
    ]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        said = list(pool.map(lambda case: ask(isolde, *case[1:], args.timeout), cases))
    if args.json:
        all_said = [
            {"path": case[0], "asked": case[3], **answer} for case, answer in zip(cases, said, strict=True)
        ]
        text = json.dumps(all_said, indent=1, sort_keys=True, ensure_ascii=False)
        pathlib.Path(args.json).write_text(text + "\n")
    if args.answers or not args.json:
        lines = [
            "\t".join((case[0], *row))
            for case, answer in zip(cases, said, strict=True)
            for row in rows(case[3], answer)
        ]
        text = "\n".join(["path\tlevel\tsessions\tanswer", *lines]) + "\n"
        if args.answers in (None, "-"):
            sys.stdout.write(text)
        else:
            pathlib.Path(args.answers).write_text(text)
    spent = time.monotonic() - begin
    print(f"{len(cases)} calls in {spent:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()

"""``python -m tests.soak``: attacks for ten minutes, recorded, plotted and judged. Exit code 1: beyond a limit."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.soak.soaking import plot, soak

parser = argparse.ArgumentParser(prog="make soak")
parser.add_argument("minutes", type=float, nargs="?", default=10.0)
parser.add_argument("--folder", type=Path, default=Path(".artifacts"), help="where the record and the plot go")
args = parser.parse_args()

record = soak(args.minutes * 60)
args.folder.mkdir(exist_ok=True)
(args.folder / "soak.json").write_text(json.dumps(vars(record)))
plot(record, args.folder / "soak.svg")
faults = record.faults()
print(record.text())
print(*(f"BEYOND THE LIMIT: {fault}" for fault in faults), f"{args.folder}/soak.svg", sep="\n")
raise SystemExit(bool(faults))

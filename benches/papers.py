#!/usr/bin/env python3
"""What a large batch of papers costs: memory over time, requests, and whether every provider's rate was kept.

    cargo build --release -p curtsy-cli && cargo build --release -p curtsy-papers --example world
    benches/papers.py [PAPERS]

A world of invented papers on loopback plays all providers and seventy repositories and publishers, at the rates of the
real ones: ten thousand papers take as long as Unpaywall's ten a second, a good quarter of an hour. Of the papers none
is in PubMed Central, whose five a second would take three times as long and show nothing else.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

BIN = pathlib.Path(os.environ.get("CURTSY_BIN", "target/release")).resolve()


def memory(pid, field):
    """A field of /proc/PID/status, in MiB."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return 0.0


def main():
    papers = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    chosen = [n for n in range(10 * papers) if n % 10 in (6, 7, 8)][:papers]
    with tempfile.TemporaryDirectory() as folder:
        world = subprocess.Popen(
            [BIN / "examples/world", str(chosen[-1] + 1)], stdout=subprocess.PIPE, text=True
        )
        env = dict(os.environ, HOME=folder)
        options = []
        for line in world.stdout:
            name, value = line.removeprefix("export ").rstrip("\n").split("=", 1)
            if name == "CURTSY_WORLD":
                options = value.strip("'").split()
                break
            env[name] = value
        listed = pathlib.Path(folder, "list")
        listed.write_text("".join(f"10.5555/world.{n}\n" for n in chosen))
        began = time.monotonic()
        batch = subprocess.Popen(
            [BIN / "curtsy", "paper", "batch", listed, "-o", "PDFs", "--json", "-q", "--delay", "0", *options],
            cwd=folder, env=env, stdout=subprocess.PIPE, text=True,
        )
        samples, peak = [], 0.0
        while batch.poll() is None:
            time.sleep(1)
            try:
                samples.append(memory(batch.pid, "VmRSS"))
                peak = max(peak, memory(batch.pid, "VmHWM"))
            except (FileNotFoundError, ProcessLookupError):
                pass
        took = time.monotonic() - began
        report = json.loads(batch.stdout.read() or "{}")
        world.send_signal(signal.SIGINT)
        seen = json.loads(world.stdout.read())
    tenth = max(1, len(samples) // 10)
    early = samples[tenth : 2 * tenth] or samples
    late = samples[-tenth:]
    print(f"{papers} papers in {took:.0f} s, exit {batch.returncode}: "
          f"{report.get('pdf')} PDFs, {report.get('failed')} failed, {report.get('deferred')} deferred")
    print(f"memory: {sum(early) / len(early):.0f} MiB after a tenth of the time, "
          f"{sum(late) / len(late):.0f} MiB in the last one, {peak:.0f} MiB at most")
    print(f"requests: {seen['requests'] / max(1, seen['pdfs']):.2f} a PDF, robots.txt counted; "
          f"{seen['pdfs_twice']} PDFs sent twice")
    for name, of in seen["providers"].items():
        print(f"{name:<14} {of['requests']:>7} requests at {of['requests'] / max(1e-9, of['seconds']):.2f}/s "
              f"of {of['rate']:.2f}/s, at most {of['ahead_ms']:.1f} ms ahead")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What a crawl costs: CPU, memory, and what one host costs the others. Loopback only.

    benches/crawl.py throughput   CPU per URL beside curl -Z and, where it is installed, Scrapy: over few hosts and many
    benches/crawl.py scale        10,000 URLs over 1,000 hosts, before and after 1,000,000 over 100,000
    benches/crawl.py isolation    48 paced hosts alone, and beside a slow and a parked one

Needs nginx, and a release build (or --curtsy PATH). All of 127/8 is this machine, so that every address is a
host. The files go to a temporary directory (TMPDIR), which is removed.
"""

import argparse
import gzip
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BODY = 2048
PAGES = 100
NGINX = """
daemon off; worker_processes 1; pid {dir}/nginx.pid; error_log {dir}/error.log;
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 1000000; root {dir}/www;
  server {{
    listen 0.0.0.0:{port} backlog=4096;
    location = /robots.txt {{ return 404; }}
    location / {{ rewrite ^/(\\d\\d?)(?:/.*)?$ /$1.bin break; }}
  }}
}}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["throughput", "scale", "isolation"])
    parser.add_argument("--curtsy", default=ROOT / "target/release/curtsy")
    parser.add_argument("--urls", type=int, help="of the throughput; of the larger crawl")
    parser.add_argument("--no-body", action="store_true", help="in the scale: keep no bodies")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="curtsy-bench-") as name:
        where = pathlib.Path(name)
        # nginx reads as another user.
        where.chmod(0o755)
        with Nginx(where) as port:
            {"throughput": throughput, "scale": scale, "isolation": isolation}[args.what](args, where, port)


class Nginx:
    """Serves files of random bytes, at /N and /N/anything."""

    def __init__(self, where):
        self.where = where
        self.port = free_port()

    def __enter__(self):
        (self.where / "www").mkdir()
        for page in range(PAGES):
            (self.where / f"www/{page}.bin").write_bytes(os.urandom(BODY))
        config = self.where / "nginx.conf"
        config.write_text(NGINX.format(dir=self.where, port=self.port))
        self.process = subprocess.Popen(["nginx", "-c", config], stderr=subprocess.DEVNULL)
        wait_for(self.port)
        return self.port

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


class Run:
    """A process, run to its end: what it cost and what it said."""

    def __init__(self, command, expected=(0,), **kwargs):
        started = time.time()
        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, **kwargs)
        self.said = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in expected:
            sys.exit(f"{command[0]} ended with {process.returncode}: {self.said}")
        self.started, self.wall = started, time.time() - started
        self.cpu = usage.ru_utime + usage.ru_stime
        self.user = usage.ru_utime
        self.peak_mib = usage.ru_maxrss / 1024


def curtsy(args, out, *options, expected=(0,)):
    state = f"sqlite:{out}.state"
    fixed = ["--state", state, "-o", out, "--json", "-q", "--contact", "bench@example.org"]
    return Run([args.curtsy, "fetch", *fixed, *options], expected)


def unpaced():
    return ["--rate", "100000", "--max-rate", "100000", "--burst", "1000"]


def throughput(args, where, port):
    count = args.urls or 20_000
    table(["client", "URLs", "hosts", "wall s", "CPU s", "user s", "µs CPU a URL", "URLs a CPU s", "peak MiB"])
    for hosts in [4, count // 10]:
        urls = [page(n, n % hosts, port) for n in range(count)]
        listed = where / f"urls{hosts}"
        listed.write_text("\n".join(urls) + "\n")
        for name, run in clients(args, where, urls, listed, hosts):
            cells = [name, count, hosts, f"{run.wall:.1f}", f"{run.cpu:.2f}", f"{run.user:.2f}"]
            table([*cells, f"{run.cpu / count * 1e6:.0f}", f"{count / run.cpu:.0f}", f"{run.peak_mib:.0f}"])


def clients(args, where, urls, listed, hosts):
    out = where / f"out{hosts}"
    run = curtsy(args, out, "-i", listed, *unpaced(), "-c", 64, "--per-host", max(2, 64 // hosts))
    assert json.loads(run.said)["outcomes"] == {"fetched": len(urls)}, run.said
    yield "curtsy fetch", run

    config, out = where / f"curl{hosts}", where / f"curl-out{hosts}"
    out.mkdir()
    config.write_text("".join(f'url="{url}"\noutput="{out}/{n}"\n' for n, url in enumerate(urls)))
    yield "curl -Z", Run(["curl", "-Z", "--parallel-max", "64", "--no-progress-meter", "-K", config])

    scrapy = shutil.which("scrapy")
    if scrapy:
        spider = where / "spider.py"
        spider.write_text(SPIDER.format(listed=listed))
        yield "Scrapy", Run([scrapy, "runspider", "-L", "ERROR", spider])


def page(number, host, port):
    """A URL of its own on a host by number."""
    address = f"127.{1 + host // 62500}.{host // 250 % 250}.{1 + host % 250}"
    return f"http://{address}:{port}/{number % PAGES}/{number}"


SPIDER = """
import scrapy

class Crawl(scrapy.Spider):
    name = "crawl"
    custom_settings = {{
        "CONCURRENT_REQUESTS": 64, "CONCURRENT_REQUESTS_PER_DOMAIN": 16, "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": True, "TELNETCONSOLE_ENABLED": False,
    }}

    async def start(self):
        with open("{listed}") as urls:
            for url in urls:
                yield scrapy.Request(url.strip(), self.parse, dont_filter=True)

    def parse(self, response):
        pass
"""


def scale(args, where, port):
    large = args.urls or 1_000_000
    table(["URLs", "hosts", "wall s", "CPU s", "µs CPU a URL", "peak MiB", "first departure s"])
    # Twice the smaller one, since a machine that others use is not as fast after some minutes as before.
    for count in [10_000, large, 10_000]:
        hosts, out, listed = count // 10, where / f"out{count}", where / f"urls{count}"
        with listed.open("w") as file:
            for n in range(count):
                file.write(page(n, n % hosts, port) + "\n")
        body = ["--no-body"] if args.no_body else []
        run = curtsy(args, out, "-i", listed, *unpaced(), *body)
        assert json.loads(run.said)["outcomes"] == {"fetched": count}, run.said
        first = first_departure(out / ".curtsy") - run.started
        cells = [count, hosts, f"{run.wall:.1f}", f"{run.cpu:.1f}", f"{run.cpu / count * 1e6:.0f}"]
        table([*cells, f"{run.peak_mib:.0f}", f"{first:.2f}"])
        shutil.rmtree(out)
        for file in where.glob(f"{out.name}.state*"):
            file.unlink()


def first_departure(where):
    """That of the log's first file: a long log goes on in others."""
    log = min(where.glob("audit-0001.jsonl*"), default=where / "audit.jsonl")
    with (gzip.open if log.suffix == ".gz" else open)(log, "rt") as lines:
        for line in lines:
            record = json.loads(line)
            if record["event"] == "departure":
                return seconds(record["timestamp"])
    sys.exit(f"no departure in {log}")


def isolation(args, where, port):
    hosts = [f"127.0.1.{n}:{port}" for n in range(1, 49)]
    ordinary = [f"http://{host}/{page}" for page in range(50) for host in hosts]
    slow = Origin(args, where, "slow", {"service": {"latency_ms": 5000}})
    parked = {"status": 429, "headers": [["Retry-After", "3600"]]}
    parked = Origin(args, where, "parked", {"page": parked})
    table(["jobs", "first to last of the 48 hosts s", "a URL over its pace"])
    with slow as slow_port, parked as parked_port:
        others = [f"http://127.0.0.1:{port}/{n}" for port in (slow_port, parked_port) for n in range(20)]
        times = []
        for name, urls, expected in [("alone", ordinary, (0,)), ("beside", others + ordinary, (1, 3))]:
            out, listed = where / name, where / f"{name}.urls"
            listed.write_text("\n".join(urls) + "\n")
            pace = ["--rate", "5", "--burst", "1", "--no-robots", "--max-wait", "0"]
            curtsy(args, out, "-i", listed, *pace, expected=expected)
            spans = []
            for line in (out / "manifest.jsonl").read_text().splitlines():
                line = json.loads(line)
                if line["url"] in set_of(ordinary):
                    assert line["outcome"] == "fetched", line
                    spans.append((seconds(line["first_departure"]), seconds(line["finished"])))
            times.append(max(end for _, end in spans) - min(start for start, _ in spans))
            table([name, f"{times[-1]:.2f}", f"{times[-1] / times[0] - 1:+.1%}"])


def set_of(urls, known={}):
    return known.setdefault(id(urls), set(urls))


class Origin:
    """`curtsy origin` with a script."""

    def __init__(self, args, where, name, script):
        self.path = where / f"{name}.json"
        self.path.write_text(json.dumps(script))
        self.port = free_port()
        self.command = [args.curtsy, "origin", self.path, "--port", str(self.port), "--for", "600s"]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.port)
        return self.port

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def seconds(timestamp):
    import datetime
    return datetime.datetime.fromisoformat(timestamp).timestamp()


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for(port):
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
    sys.exit(f"nothing listens on port {port}")


def table(cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""curtsy and other clients on the same jobs: how long, how often refused, how often told to wait and not waiting.

    benches/compare.py            runs all and writes docs/benchmarks.md; about ten minutes, mostly waiting
    benches/compare.py --runs 5 --at-once 1 --only curl,got --jobs quota-hidden --to -

Loopback only. Each job is a script of `curtsy origin`, started on a free port for each run of each client; the origin
judges by its own log of arrivals. Needs a release build (or --curtsy PATH), curl and wget; the clients of Python and
npm are installed under target/compare. What is missing is left out, and said so.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ROOT / "target/compare"
PYTHON = TOOLS / "venv/bin/python"
# Seconds after which a client is stopped.
PATIENCE = 150
AT_ONCE = 8
TRIES = 10

WINDOW = {"kind": "fixed_window", "limit": 50, "window_s": 5}
ANSWERS = {"service": {"latency_ms": 5}}
JOBS = {
    "quota-hidden": (
        "50 requests in 5 s, which no header tells; refused with 429, without Retry-After",
        200,
        {**ANSWERS, "policies": [{**WINDOW, "published": False}], "refuse": {"retry_after": "none"}},
    ),
    "quota-headers": (
        "50 requests in 5 s, told by RateLimit-Limit, -Remaining and -Reset (draft 6) on every answer; refused with "
        "429 and Retry-After",
        300,
        {**ANSWERS, "policies": [WINDOW], "dialect": "draft6"},
    ),
    "token-bucket": (
        "a bucket of 50 that refills at 10/s, which no header tells; refused with 503, without Retry-After",
        200,
        {
            **ANSWERS,
            "policies": [{"kind": "token_bucket", "rate_per_s": 10, "burst": 50, "published": False}],
            "refuse": {"status": 503, "retry_after": "none"},
        },
    ),
    "retry-after": (
        "40 requests in 2 s, which no header tells; refused with 429 and `Retry-After: 2`",
        200,
        {
            **ANSWERS,
            "policies": [{**WINDOW, "limit": 40, "window_s": 2, "published": False}],
            "refuse": {"retry_after": 2},
        },
    ),
    "outage": (
        "4 workers of 50 ms a request; from second 1 to 7 all is answered with 503, without Retry-After",
        160,
        {
            "service": {"latency_ms": 50, "workers": 4},
            "outages": [{"at_s": 1, "for_s": 6, "status": 503, "retry_after": "none"}],
        },
    ),
    "crawl-delay": (
        "no quota; robots.txt says `Crawl-delay: 0.2`",
        75,
        {**ANSWERS, "robots": "User-agent: *\nCrawl-delay: 0.2\n"},
    ),
}

REQUESTS = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

retry = Retry(total={tries}, backoff_factor=0.5, status_forcelist=[429, 503], raise_on_status=False)
local = threading.local()

def get(url):
    if not hasattr(local, "session"):
        local.session = requests.Session()
        local.session.mount("http://", HTTPAdapter(max_retries=retry))
    try:
        local.session.get(url)
    except requests.RequestException:
        pass

with ThreadPoolExecutor({at_once}) as pool:
    list(pool.map(get, open(sys.argv[1]).read().split()))
"""
SCRAPY = """
import sys
import scrapy
from scrapy.crawler import CrawlerProcess

class Crawl(scrapy.Spider):
    name = "crawl"
    custom_settings = {{
        "AUTOTHROTTLE_ENABLED": True, "CONCURRENT_REQUESTS_PER_DOMAIN": {at_once}, "RETRY_TIMES": {tries},
        "ROBOTSTXT_OBEY": True, "TELNETCONSOLE_ENABLED": False, "LOG_LEVEL": "CRITICAL",
    }}

    async def start(self):
        for url in open(sys.argv[1]).read().split():
            yield scrapy.Request(url, dont_filter=True)

    def parse(self, response):
        pass

process = CrawlerProcess()
process.crawl(Crawl)
process.start()
"""
GOT = """
import {{ readFileSync }} from 'node:fs';
import got from 'got';

const urls = readFileSync(process.argv[2], 'utf8').split('\\n').filter(Boolean);
const work = async () => {{
  for (let url; (url = urls.shift()); ) {{
    try {{ await got(url, {{ retry: {{ limit: {tries} }} }}); }} catch {{ }}
  }}
}};
await Promise.all(Array.from({{ length: {at_once} }}, work));
"""


def curtsy(args, where, listed):
    fixed = ["--state", "memory:", "-o", where / "out", "--no-body", "-q", "--contact", "bench@example.org"]
    pace = ["--rate", 20, "--per-host", AT_ONCE, "--max-retries", TRIES]
    return [args.curtsy, "fetch", "-i", listed, *fixed, *pace]


def curl(args, where, listed):
    # Into files, since a retry truncates them, which /dev/null cannot.
    config, bodies = where / "curl", where / "bodies"
    bodies.mkdir()
    urls = enumerate(listed.read_text().split())
    config.write_text("".join(f'url="{url}"\noutput="{bodies}/{n}"\n' for n, url in urls))
    return ["curl", "-Z", "--parallel-max", AT_ONCE, "--retry", TRIES, "-s", "-K", config]


def wget(args, where, listed):
    return ["wget", "-q", "-O", "/dev/null", f"--tries={TRIES}", "--retry-on-http-error=429,503", "-i", listed]


def requests(args, where, listed):
    return [PYTHON, written(where / "get.py", REQUESTS), listed]


def scrapy(args, where, listed):
    return [PYTHON, written(where / "crawl.py", SCRAPY), listed]


def got(args, where, listed):
    return ["node", TOOLS / "get.mjs", listed]


CLIENTS = {
    "curtsy": (curtsy, "`curtsy fetch --rate 20 --per-host 8 --max-retries 10`"),
    "curl": (curl, "`curl -Z --parallel-max 8 --retry 10`"),
    "wget": (wget, "`wget --tries=10 --retry-on-http-error=429,503`, one request at a time"),
    "requests": (requests, "8 threads, `Retry(total=10, backoff_factor=0.5, status_forcelist=[429, 503])` of urllib3"),
    "Scrapy": (scrapy, "AutoThrottle, 8 requests per domain, 10 retries, robots.txt obeyed"),
    "got": (got, "8 at once, `retry: {limit: 10}`"),
}

INTRO = """\
# Benchmarks

How long a job takes beside the best that anybody could do, and what that costs the server: curtsy and other clients on
the same jobs, in the same run. Made by

```sh
cargo build --release && benches/compare.py --runs {args.runs} --at-once {args.at_once}
```

on {date}; {machine}. All is on loopback. Every run of a client has a server of its own, `curtsy origin` with the script
that the job names; its log of arrivals is what is judged. {args.at_once} clients ran at a time. A figure is the median of
{args.runs} runs, with the least and the most in brackets where they differ.

- *time / optimum*: from the first request to the last page served, beside a client that knows every limit and every
  outage beforehand. Only where all pages were served.
- *served*: pages that were served in the end; a client is stopped after {patience} s.
- *refused*: requests that the quota refused or that met the outage.
- *in a hold*: requests, for whichever page, that came while a Retry-After asked for none.

## Clients

Each set up to be persistent: ten retries and, but for wget, eight requests at once. All else is its default.
"""
READING = """
## How to read it

- Time and refusals belong together: where a refusal costs a client nothing, one that asks again and again is quick.
- After a refusal that names no wait, curtsy asks for one page at a time until one is served, and then approaches the
  limit slowly. On jobs of a few windows that is a good part of the time.
- curtsy was told `--rate 20`, and goes no faster: the pages of *outage* alone take 8 s at that rate, those of
  *retry-after* 10 s. Without a `--rate` it sends 2/s to a server that publishes nothing.
- curtsy spreads a published quota over its window instead of using it up at once. On a job of six windows that costs a
  fifth of the time; on one of sixty, a fiftieth (`curtsy simulate`).
- A Crawl-delay is a wish that this server does not enforce. Who passes it over is many times quicker, and comes too
  close: closer to the request before than the Crawl-delay less a tenth. Of these clients curtsy and Scrapy read
  robots.txt, and curtsy keeps the Crawl-delay.
- These are models of servers without a network between, and each job is one of many that could be thought of.

## What a URL costs

CPU of the process in µs a URL, and its peak memory: 20,000 pages of 2 KiB from nginx on the same machine, as fast as it
gives them, 64 at a time, into files on tmpfs (Scrapy keeps none). curtsy does what it always does: robots.txt, queue,
state, audit log. By `benches/crawl.py throughput`, some ten runs in December 2026 on two cores of an AMD EPYC that
others use too, so that only figures of one run can be compared: there curtsy took 1.5 to 1.9 times curl's CPU over 4
hosts, and 0.9 to 1.15 times over 2,000.

| client | over 4 hosts | over 2,000 hosts |
| --- | --- | --- |
| curtsy | 64–97, 55 MiB | 138–222, 217 MiB |
| curl -Z --parallel-max 64 | 41–58, 23 MiB | 147–205, 24 MiB |
| Scrapy | 2,140–2,850, 91 MiB | 2,890–4,520, 121 MiB |
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curtsy", default=ROOT / "target/release/curtsy")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--at-once", type=int, default=2, help="clients that run at a time, each with its own origin")
    parser.add_argument("--only", default=",".join(CLIENTS), help="clients")
    parser.add_argument("--jobs", default=",".join(JOBS), help="jobs")
    parser.add_argument("--to", default=ROOT / "docs/benchmarks.md", help="the page; - is standard output")
    args = parser.parse_args()
    versions, missing = prepare(args, args.only.split(","))
    runs = [(job, client) for _ in range(args.runs) for job in args.jobs.split(",") for client in versions]
    results = {}
    with concurrent.futures.ThreadPoolExecutor(args.at_once) as pool:
        for (job, client), judgement in zip(runs, pool.map(lambda run: play(args, *run), runs)):
            results.setdefault((job, client), []).append(judgement)
            figures = {key: judgement[key] for key in ["served", "refused", "outage_hits", "in_hold", "ratio"]}
            print(f"{job} {client}: {figures}", file=sys.stderr, flush=True)
    text = page(args, versions, missing, results)
    if str(args.to) == "-":
        print(text, end="")
    else:
        pathlib.Path(args.to).write_text(text)


def play(args, job, client):
    """One client on one job: the judgement of the origin."""
    _, count, script = JOBS[job]
    with tempfile.TemporaryDirectory(prefix="curtsy-compare-") as name:
        where = pathlib.Path(name)
        model = where / "script.json"
        model.write_text(json.dumps(script))
        life = f"{PATIENCE + 60}s"
        command = [args.curtsy, "origin", model, "--log", where / "log.jsonl", "--json", "--for", life]
        origin = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            base = origin.stdout.readline().split()[-1]
            listed = where / "urls"
            listed.write_text("".join(f"{base}{n}\n" for n in range(count)))
            command = [str(part) for part in CLIENTS[client][0](args, where, listed)]
            try:
                subprocess.run(command, timeout=PATIENCE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            except subprocess.TimeoutExpired:
                pass
        finally:
            origin.terminate()
            said, _ = origin.communicate()
        judgement = json.loads(said)
    if judgement["served"] < count:
        judgement["ratio"] = None
    return judgement


def page(args, versions, missing, results):
    date = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
    intro = INTRO.format(args=args, machine=machine(), date=date, patience=PATIENCE)
    lines = [intro, *table(["client", "version", "as"])]
    lines += [row([name, version, CLIENTS[name][1]]) for name, version in versions.items()]
    lines += [f"\nNot run, since it could not be had: {', '.join(missing)}."] if missing else []
    for job in args.jobs.split(","):
        about, count, _ = JOBS[job]
        of = {client: results[job, client] for client in versions}
        optimum = max(judgement["optimum_s"] for runs in of.values() for judgement in runs)
        lines += [f"\n## {job}\n", f"{about[0].upper()}{about[1:]}. {count} URLs; the optimum is {optimum:.1f} s.\n"]
        gaps = ["too close"] if job == "crawl-delay" else []
        lines += table(["client", "time / optimum", "served", "refused", "in a hold", *gaps])
        for client, runs in of.items():
            refused = [judgement["refused"] + judgement["outage_hits"] for judgement in runs]
            cells = [client, ratio(runs), spread([judgement["served"] for judgement in runs]), spread(refused)]
            cells.append(spread([judgement["in_hold"] for judgement in runs]))
            cells += [spread([judgement["short_gaps"] for judgement in runs])] if gaps else []
            lines.append(row(cells))
    lines += [READING]
    return "\n".join(lines)


def ratio(runs):
    ratios = [judgement["ratio"] for judgement in runs]
    return "not all served" if None in ratios else spread(ratios, 2)


def spread(values, decimals=0):
    least, middle, most = (f"{of(values):.{decimals}f}" for of in (min, statistics.median, max))
    return middle if least == most else f"{middle} ({least}–{most})"


def table(head):
    return [row(head), row(["---"] * len(head))]


def row(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def machine():
    try:
        cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    except (OSError, StopIteration):
        cpu = platform.machine()
    return f"{os.cpu_count()} cores, {cpu}, {platform.system()} {platform.release().split('-')[0]}"


def prepare(args, wanted):
    """The version of each client that can be had, installed where it must be, and who cannot."""
    TOOLS.mkdir(parents=True, exist_ok=True)
    how = {
        "curtsy": lambda: said(args.curtsy, "--version").split()[1],
        "curl": lambda: said("curl", "--version").split()[1],
        "wget": lambda: said("wget", "--version").split()[2],
        "requests": lambda: from_pypi("requests"),
        "Scrapy": lambda: from_pypi("Scrapy"),
        "got": from_npm,
    }
    versions, missing = {}, []
    for client in wanted:
        try:
            versions[client] = how[client]()
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{client}: {error}", file=sys.stderr)
            missing.append(client)
    return versions, missing


def from_pypi(package):
    if not PYTHON.exists():
        venv.create(TOOLS / "venv", with_pip=True)
    said(PYTHON, "-m", "pip", "install", "-q", package)
    return said(PYTHON, "-c", f"from importlib.metadata import version; print(version('{package}'))").strip()


def from_npm():
    if not shutil.which("npm"):
        raise OSError("npm is not installed")
    said("npm", "install", "--silent", "--prefix", TOOLS, "got")
    # Beside its packages, since that is where node looks for them.
    written(TOOLS / "get.mjs", GOT)
    return json.loads((TOOLS / "node_modules/got/package.json").read_text())["version"]


def said(*command):
    command = [str(part) for part in command]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


def written(path, text):
    path.write_text(text.format(at_once=AT_ONCE, tries=TRIES))
    return path


if __name__ == "__main__":
    main()

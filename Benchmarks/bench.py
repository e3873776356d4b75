#!/usr/bin/env python3
"""Measures APNSClient beside other HTTP/2 clients, all against the same server, and prints one table.

usage: bench.py CLIENT-BENCH [--rounds N] [--pushes N] [--only NAME,...] [--json FILE]

The client has one core to itself and the server another (taskset). Rounds are interleaved: each client runs once, then
each again, so that other load on the machine affects all clients alike. Figures are medians. The table has the ranges
of the processor time. See docs/client-performance.md.
"""
import argparse, json, os, pathlib, re, resource, shutil, socket, statistics, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
PATHS = 1000
BODY = 310


def say(text):
    print(text, file=sys.stderr, flush=True)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def pinned(core, command):
    return ["taskset", "-c", str(core), *command] if shutil.which("taskset") and os.cpu_count() > 1 else command


class Server:
    """nghttpd with one thread, and an empty file for each device's path: 200 without a body."""

    def __init__(self, folder):
        self.folder, self.port = folder, free_port()
        devices = folder / "root/3/device"
        devices.mkdir(parents=True)
        for number in range(PATHS):
            (devices / f"{number:064x}").touch()
        (folder / "uris.txt").write_text(
            "\n".join(f"https://127.0.0.1:{self.port}/3/device/{n:064x}" for n in range(PATHS)))
        (folder / "payload.json").write_text('{"aps":{"content-state":{"fill":"' + "x" * (BODY - 38) + '"}}}')
        run = dict(check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
             "-keyout", folder / "server.key", "-out", folder / "ca.pem", "-subj", "/CN=bench",
             "-addext", "subjectAltName=IP:127.0.0.1"], **run)
        subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-out", folder / "key.p8"], **run)
        self.process = subprocess.Popen(
            pinned(1, ["nghttpd", "--address=127.0.0.1", "--workers=1", "--max-concurrent-streams=1000",
                       # Large enough that the connection's window does not limit the number of outstanding pushes.
                       "--connection-window-bits=20",
                       f"--htdocs={folder}/root", str(self.port), folder / "server.key", folder / "ca.pem"]),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise SystemExit("nghttpd does not listen")

    def stop(self):
        self.process.kill()
        self.process.wait()


def run(command, limit=600):
    """Runs a command. Returns its output, and the processor time and memory of its process."""
    process = subprocess.Popen(pinned(0, [str(word) for word in command]), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        out, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise RuntimeError("it took too long")
    if process.returncode:
        raise RuntimeError(errors.strip()[-300:] or f"it ended with {process.returncode}")
    return out


def own_figures(out):
    line = [line for line in out.splitlines() if line.startswith("{")][-1]
    return json.loads(line)


class Clients:
    def __init__(self, server, bench):
        self.server, self.bench = server, bench

    def islet(self, mode, pushes, outstanding=500, connections=1, rate=None, allocations=False):
        folder = self.server.folder
        command = [self.bench, "--port", self.server.port, "--authority", folder / "ca.pem", "--key", folder / "key.p8",
                   "--mode", mode, "--pushes", pushes, "--outstanding", outstanding, "--connections", connections]
        if rate:
            command += ["--rate", rate]
        if allocations:
            command += ["--allocations"]
        return own_figures(run(command))

    def h2load(self, pushes, outstanding=500, connections=1):
        folder = self.server.folder
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        out = run(["h2load", "-t1", f"-c{connections}", f"-m{outstanding // connections}", f"-n{pushes}",
                   "-i", folder / "uris.txt", "-d", folder / "payload.json", "-H", "content-type: application/json",
                   "-H", "apns-topic: com.example.bench.push-type.liveactivity", "-H", "apns-push-type: liveactivity",
                   "-H", "apns-priority: 10", "-H", "apns-expiration: 0",
                   "-H", "apns-id: 00000000-0000-0001-0000-000000000007",
                   "-H", "authorization: bearer " + "j" * 200])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = int(re.search(r"(\d+) succeeded", out)[1])
        if done != pushes:
            raise RuntimeError(f"{done} of {pushes} were accepted")
        seconds = pushes / float(re.search(r"([\d.]+) req/s", out)[1])
        return {"pushes": pushes, "seconds": seconds, "rss_mb": None,
                "cpu_s": after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime}

    def peer(self, command, pushes, outstanding=500, rate=0):
        """Runs another client's program, which takes these arguments and prints a line of JSON."""
        folder = self.server.folder
        return own_figures(run([*command, self.server.port, folder / "ca.pem", folder / "key.p8",
                                folder / "payload.json", pushes, outstanding, rate]))


def peers(folder):
    """Returns the installed clients by name, each with its command and the divisor of its number of pushes."""
    found = {}
    if shutil.which("go"):
        program = folder / "go-peer"
        built = subprocess.run(["go", "build", "-o", program, HERE / "peers/go_client.go"], capture_output=True,
                               env={**os.environ, "GO111MODULE": "off", "GOFLAGS": ""})
        if built.returncode == 0:
            found["go net/http"] = ([program], 5)
    if shutil.which("node"):
        found["node http2"] = (["node", HERE / "peers/node_client.js"], 10)
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import aioapns"], capture_output=True).returncode == 0:
            found["aioapns"] = ([python, HERE / "peers/aioapns_client.py"], 40)
            break
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pushes", type=int, default=200_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    options = parser.parse_args()
    for tool in ("nghttpd", "h2load", "openssl"):
        if not shutil.which(tool):
            raise SystemExit(f"{tool} is missing; script/bench client installs it on Debian")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="client-bench-"))
    server = Server(folder)
    clients, n = Clients(server, options.bench), options.pushes
    runs = {
        "h2load m=500": lambda: clients.h2load(n),
        "islet batch m=500": lambda: clients.islet("batch", n),
        "islet async m=500": lambda: clients.islet("async", n),
    }
    for m in (1, 10, 100, 1000):
        few = n if m >= 100 else n // 20 if m == 1 else n // 5
        runs[f"islet batch m={m}"] = lambda m=m, few=few: clients.islet("batch", few, m)
        runs[f"h2load m={m}"] = lambda m=m, few=few: clients.h2load(few, m)
    for c in (2, 4, 8):
        runs[f"islet batch m=1000 c={c}"] = lambda c=c: clients.islet("batch", n, 1000, c)
    for name, (command, part) in peers(folder).items():
        runs[f"{name} m=500"] = lambda command=command, part=part: clients.peer(command, n // part)
        if part <= 5:
            runs[f"{name} 10000/s"] = lambda command=command: clients.peer(command, 30_000, 500, 10_000)
    for rate in (2_000, 10_000, 20_000):
        runs[f"islet async {rate}/s"] = lambda rate=rate: clients.islet("async", rate * 3, 500, 1, rate)
    runs["islet batch m=500, allocations"] = lambda: clients.islet("batch", n, allocations=True)
    runs["islet async m=500, allocations"] = lambda: clients.islet("async", n, allocations=True)
    wanted = [part for part in options.only.split(",") if part]
    if wanted:
        runs = {name: run for name, run in runs.items() if any(part in name for part in wanted)}
    results = {name: [] for name in runs}
    try:
        for number in range(options.rounds):
            for name, start in runs.items():
                say(f"round {number + 1} of {options.rounds}: {name}")
                try:
                    results[name].append(start())
                except RuntimeError as problem:
                    say(f"  failed: {problem}")
    finally:
        server.stop()
        shutil.rmtree(folder)
    publish(results, options.json)


def publish(results, file):
    def middle(rows, key, digits):
        values = [row[key] for row in rows if row.get(key) is not None]
        return round(statistics.median(values), digits) if values else None

    table = []
    for name, rows in results.items():
        for row in rows:
            row["cost"] = row["cpu_s"] / row["pushes"] * 100_000
            row["per_s"] = row["pushes"] / row["seconds"]
        if not rows:
            continue
        costs = [row["cost"] for row in rows]
        table.append({
            "client": name, "cpu_s_per_100k": round(statistics.median(costs), 3),
            "cpu_range": [round(min(costs), 3), round(max(costs), 3)], "per_s": middle(rows, "per_s", 0),
            "p50_ms": middle(rows, "p50_ms", 3), "p99_ms": middle(rows, "p99_ms", 3),
            "rss_mb": middle(rows, "rss_mb", 1), "allocations_per_push": middle(rows, "allocations", 2),
            "connections": middle(rows, "connections", 0), "rounds": len(rows)})
    cost = {row["client"]: row["cpu_s_per_100k"] for row in table}
    for row in table:
        m = re.search(r"m=\d+", row["client"])
        base = cost.get(f"h2load {m[0]}") if m else None
        row["ratio_to_h2load"] = round(row["cpu_s_per_100k"] / base, 2) if base else None
    names = ["client", "cpu_s_per_100k", "cpu_range", "ratio_to_h2load", "per_s", "p50_ms", "p99_ms", "rss_mb",
             "allocations_per_push"]

    def text(value):
        if value is None:
            return "–"
        if isinstance(value, list):
            return "–".join(str(part) for part in value)
        return str(int(value)) if isinstance(value, float) and value > 1000 else str(value)

    lines = [names] + [[text(row[name]) for name in names] for row in table]
    widths = [max(len(line[column]) for line in lines) for column in range(len(names))]
    for line in lines:
        print("  ".join(cell.ljust(width) if index == 0 else cell.rjust(width)
                        for index, (cell, width) in enumerate(zip(line, widths))))
    if file:
        pathlib.Path(file).write_text(json.dumps(table, indent=1) + "\n")


main()

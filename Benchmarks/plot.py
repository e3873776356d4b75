#!/usr/bin/env python3
"""Draws the figures of benchmarks as one SVG.

usage: plot.py OUT.svg ROWS.json...

Each file is an array of rows as a benchmark writes it with --json. Two kinds of rows can be drawn:
- of `fanout`: processor time of the server per push, against the number of pushes; rows by channel are left out,
  because they have no push for each phone
- of `client`: processor time of each client per push
"""
import json, math, sys
from html import escape

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 80, 45, 60, 60
INK, GRID, COLORS = "#1f2328", "#d1d9e0", ["#0969da", "#bc4c00", "#1a7f37"]


class Problem(Exception):
    pass


def text(x, y, words, anchor="middle", size=13, extra=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{INK}" {extra}>'
            f"{escape(words)}</text>")


def line(x1, y1, x2, y2, color=GRID, width=1):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" stroke-width="{width}"/>'


def page(title, parts):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" role="img" '
        f'aria-label="{escape(title)}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        text(WIDTH / 2, 28, title, size=16), *parts, "</svg>", ""])


def number(value):
    """Writes 1500 as 1,500, and 0.25 as it is."""
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


def powers(low, high):
    """Returns the powers of ten from at most `low` to at least `high`: the lines of a logarithmic axis."""
    return [10.0 ** exponent for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def place(value, scale, start, length):
    """Returns where a value lies on an axis with a logarithmic scale."""
    low, high = math.log10(scale[0]), math.log10(scale[-1])
    return start + length * (math.log10(value) - low) / max(1e-9, high - low)


def positive(row, key):
    """Returns a figure that can stand on a logarithmic scale."""
    value = row.get(key)
    if not isinstance(value, (int, float)) or value <= 0:
        raise Problem(f"{key} of a row is {json.dumps(value)}: only numbers above 0 can be drawn")
    return value


def fanout(rows):
    several = [row for row in rows if row["activities"] > 1 and row["phones"] > 1]
    if several:
        raise Problem("a row has several activities of several phones: draw one activity, or one phone each")
    series = {
        "one activity, many phones": [row for row in rows if row["activities"] == 1],
        "many activities of one phone each": [row for row in rows if row["activities"] > 1],
    }
    points = {name: sorted((positive(row, "pushes"), positive(row, "server_cpu_us_per_push")) for row in some)
              for name, some in series.items() if some}
    every = [point for some in points.values() for point in some]
    xs, ys = (powers(min(values), max(values)) for values in zip(*every))
    inner = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM)
    parts = []
    for x in xs:
        at = place(x, xs, LEFT, inner[0])
        parts += [line(at, TOP, at, TOP + inner[1]), text(at, TOP + inner[1] + 20, number(x))]
    for y in ys:
        at = place(y, ys, TOP + inner[1], -inner[1])
        parts += [line(LEFT, at, LEFT + inner[0], at), text(LEFT - 10, at + 4, number(y), "end")]
    parts.append(text(LEFT + inner[0] / 2, HEIGHT - 14, "phones that get a push (both scales are logarithmic)"))
    middle = TOP + inner[1] / 2
    parts.append(text(22, middle, "µs of processor per push", extra=f'transform="rotate(-90 22 {middle:.1f})"'))
    for (name, some), color in zip(points.items(), COLORS):
        path = [(place(x, xs, LEFT, inner[0]), place(y, ys, TOP + inner[1], -inner[1])) for x, y in some]
        parts.append(f'<polyline fill="none" stroke="{color}" stroke-width="2" points="'
                     + " ".join(f"{x:.1f},{y:.1f}" for x, y in path) + '"/>')
        for (x, y), (_, value) in zip(path, some):
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{color}"/>',
                      text(x, y - 9, number(round(value, 1)), size=11)]
        parts.append(text(path[0][0], path[0][1] - 26, name, "start", extra=f'style="fill:{color}"'))
    return page("What a push costs the server, by the size of the change", parts)


def client(rows):
    # Counting allocations costs time, so those rows are no measure of it.
    rows = [row for row in rows if row.get("cpu_s_per_100k") and "allocations" not in row["client"]]
    if not rows:
        raise Problem("no row has cpu_s_per_100k")
    # Seconds for 100,000 pushes are tens of microseconds for each.
    bars = sorted((positive(row, "cpu_s_per_100k") * 10, row["client"]) for row in rows)
    scale, left = powers(bars[0][0] / 2, bars[-1][0]), 210
    inner = WIDTH - left - RIGHT - 40
    step = (HEIGHT - TOP - BOTTOM) / len(bars)
    parts = []
    for x in scale:
        at = place(x, scale, left, inner)
        parts += [line(at, TOP, at, HEIGHT - BOTTOM), text(at, HEIGHT - BOTTOM + 20, number(x))]
    for index, (value, name) in enumerate(bars):
        y, end = TOP + step * index, place(value, scale, left, inner)
        color = COLORS[0] if name.startswith("islet") else COLORS[1]
        parts += [
            f'<rect x="{left}" y="{y + step * 0.15:.1f}" width="{end - left:.1f}" height="{step * 0.7:.1f}" '
            f'fill="{color}"/>',
            text(left - 8, y + step / 2 + 4, name, "end", 12),
            text(end + 6, y + step / 2 + 4, number(round(value, 1)), "start", 12)]
    parts.append(text(left + inner / 2, HEIGHT - 14, "µs of the client's processor per push (logarithmic scale)"))
    return page("What a push costs a client", parts)


def main(arguments):
    if len(arguments) < 2 or arguments[0].startswith("-"):
        raise Problem(__doc__.strip())
    out, *files = arguments
    rows = []
    for file in files:
        try:
            with open(file, encoding="utf-8") as opened:
                found = json.load(opened)
        except (OSError, ValueError) as error:
            raise Problem(f"{file}: {error}") from error
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            raise Problem(f"{file}: it is not an array of rows, as a benchmark writes with --json")
        rows += [row for row in found if row.get("route") != "channel"]
    if not rows:
        raise Problem("there are no rows")
    if all({"server_cpu_us_per_push", "activities", "phones"} <= row.keys() for row in rows):
        drawn = fanout(rows)
    elif all("client" in row for row in rows):
        drawn = client(rows)
    else:
        raise Problem("only rows of `fanout`, or only rows of `client`, can be drawn together")
    try:
        with open(out, "w", encoding="utf-8") as opened:
            opened.write(drawn)
    except OSError as error:
        raise Problem(f"{out}: {error}") from error


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Problem as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)

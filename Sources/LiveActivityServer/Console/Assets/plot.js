// Small plots over time: lines with axes, units, and the values under the pointer or the arrow keys.

import { s, h, clockTime, fill, minute } from "./dom.js";

const WIDTH = 480, HEIGHT = 170, LEFT = 44, RIGHT = 8, TOP = 10, BOTTOM = 24;

/** Round steps that divide 0 … `most` into at most four parts. */
function steps(most) {
  if (!(most > 0)) return [0, 1];
  const raw = most / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw);
  const all = [];
  for (let value = 0; value < most + step; value += step) all.push(value);
  return all;
}

const short = (value) => value >= 1e6 ? `${+(value / 1e6).toFixed(1)}M` : value >= 1000 ? `${+(value / 1000).toFixed(1)}k`
  : `${+value.toPrecision(3)}`;

/**
 * A plot that is redrawn with each `draw(points)`.
 *
 * A point is `{at: Date, values: [number or null, …]}`, one value for each line.
 * @param sign The unit behind a value.
 * @param lines `[{name, kind}]`; `kind` is a class that sets the color.
 * @param span The seconds that the plot shows, up to its newest point.
 */
export function plot(title, unit, sign, lines, span = 900) {
  const picture = s("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plot", role: "img", tabindex: "0", "aria-label": title,
  });
  const reading = h("p", { class: "reading", "aria-live": "off" });
  let points = [], chosen = null;

  const legend = lines.length > 1 && h("ul", { class: "legend" },
    lines.map((line) => h("li", { class: line.kind }, line.name)));
  const figure = h("figure", { class: "panel" },
    h("figcaption", {}, h("h2", {}, title), h("span", { class: "unit" }, unit), legend), picture, reading);

  const scale = () => {
    const end = points.length ? points.at(-1).at.getTime() : Date.now();
    const begin = end - span * 1000;
    const most = Math.max(0, ...points.flatMap((point) => point.values.filter((value) => value !== null)));
    const ticks = steps(most);
    const top = ticks.at(-1);
    return {
      ticks, begin, end,
      x: (date) => LEFT + (WIDTH - LEFT - RIGHT) * (date.getTime() - begin) / (end - begin),
      y: (value) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top,
    };
  };

  function draw(given) {
    if (given) points = given;
    const { ticks, begin, end, x, y } = scale();
    const shown = points.filter((point) => point.at.getTime() >= begin);
    const parts = ticks.map((tick) => s("g", { class: "tick" },
      s("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(tick), y2: y(tick) }),
      s("text", { x: LEFT - 6, y: y(tick) + 3.5, "text-anchor": "end" }, short(tick))));
    for (let part = 0; part <= 3; part++) {
      const at = new Date(begin + (end - begin) * part / 3);
      parts.push(s("text", {
        class: "hour", x: x(at), y: HEIGHT - 7, "text-anchor": part === 0 ? "start" : part === 3 ? "end" : "middle",
      }, minute(at)));
    }
    lines.forEach((line, index) => {
      let path = "", open = false;
      for (const point of shown) {
        const value = point.values[index];
        if (value === null || value === undefined) { open = false; continue; }
        path += `${open ? "L" : "M"}${x(point.at).toFixed(1)} ${y(value).toFixed(1)}`;
        open = true;
      }
      parts.push(s("path", { class: `line ${line.kind}`, d: path || "M0 0" }));
    });
    const point = chosen === null ? shown.at(-1) : shown.reduce((best, point) =>
      Math.abs(point.at - chosen) < Math.abs((best?.at ?? 0) - chosen) ? point : best, null);
    if (point && chosen !== null) {
      parts.push(s("line", { class: "cursor", x1: x(point.at), x2: x(point.at), y1: TOP, y2: HEIGHT - BOTTOM }));
      lines.forEach((line, index) => {
        const value = point.values[index];
        if (value !== null && value !== undefined) {
          parts.push(s("circle", { class: `dot ${line.kind}`, cx: x(point.at), cy: y(value), r: 3.5 }));
        }
      });
    }
    fill(picture, parts);
    fill(reading, point ? [h("time", {}, clockTime(point.at)), lines.map((line, index) =>
      h("span", { class: line.kind }, lines.length > 1 && `${line.name} `,
        h("b", {}, point.values[index] === null || point.values[index] === undefined ? "–" : short(point.values[index])),
        sign && ` ${sign}`))] : "No samples yet");
    picture.setAttribute("aria-label", `${title}: ${reading.textContent}`);
  }

  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const { begin, end } = scale();
    const place = ((event.clientX - box.left) / box.width * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT);
    chosen = new Date(begin + (end - begin) * Math.min(1, Math.max(0, place)));
    draw();
  });
  picture.addEventListener("pointerleave", () => { chosen = null; draw(); });
  picture.addEventListener("blur", () => { chosen = null; draw(); });
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !points.length) return;
    event.preventDefault();
    const at = chosen ?? points.at(-1).at;
    const nearest = points.findIndex((point) => point.at >= at);
    chosen = points[Math.min(points.length - 1, Math.max(0, (nearest < 0 ? points.length - 1 : nearest) + step))].at;
    draw();
  });
  draw();
  return { element: figure, draw };
}

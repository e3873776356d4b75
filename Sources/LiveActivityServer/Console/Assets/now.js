// The live state of the server.

import { add, ago, badge, duration, empty, fill, goOn, h, heading, moment, number, panel, table } from "./dom.js";
import { follow, get, repeat, runningActivities } from "./server.js";
import { plot } from "./plot.js";

const KEPT = 450;
/** The number of newest running activities among which the page finds those that changed last. */
const RUNNING = 500;
/** The time in seconds over which latency is measured. */
const WINDOW = 60;

/** The quantile of what was counted between two samples, interpolated linearly within a range. */
export function quantile(share, bounds, counts) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (!total) return null;
  let rank = share * total, index = 0;
  while (index < counts.length - 1 && rank > counts[index]) rank -= counts[index++];
  if (index >= bounds.length) return bounds.at(-1);
  const low = index ? bounds[index - 1] : 0;
  return low + (bounds[index] - low) * (counts[index] ? rank / counts[index] : 1);
}

const sum = (counts) => Object.values(counts).reduce((all, count) => all + count, 0);

/** The counts between two samples. After a restart of the process they count from 0. */
function between(before, after) {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries([...keys].map((key) =>
    [key, Math.max(0, (after[key] ?? 0) - (before[key] ?? 0))]));
}

function tile(title) {
  const value = h("b", {}, "–"), note = h("span", {});
  return { element: h("div", { class: "tile" }, h("h2", {}, title), value, note),
    show: (text, about, kind) => { value.textContent = text; value.className = kind ?? ""; fill(note, about); } };
}

const seconds = (value) => value === null ? "–" : duration(value);

/** The share of pushes that leave at most a tenth of a phone's budget, from which the page shows an alarm. */
const NEAR = 0.2;

/** The remaining budgets after the pushes of the last minutes. */
function budgets(first, last, minutes) {
  const row = (title, name, over) => {
    const now = last?.[name], before = first?.[name];
    const counts = (now?.counts ?? []).map((count, range) => {
      const passed = count - (before?.counts[range] ?? 0);
      return passed < 0 ? count : passed;
    });
    const all = counts.reduce((total, count) => total + count, 0);
    if (!all) return [h("dt", {}, title), h("dd", {}, `no push used this budget in ${minutes} min`)];
    const half = quantile(0.5, now.bounds, counts);
    const near = now.bounds.reduce((total, bound, range) => bound <= 0.1 ? total + counts[range] : total, 0);
    const words = `${Math.round(half * 100)} % left after half of ${number.format(all)} ${all === 1 ? "push" : "pushes"}`;
    return [h("dt", {}, title), h("dd", { class: "budget" },
      h("meter", { min: 0, max: 1, low: 0.1, optimum: 1, value: half, "aria-label": `${title}: ${words}` }), words,
      near > 0 && badge(`${number.format(near)} left 10 % or less`, near / all > NEAR ? "bad" : "warn", over))];
  };
  const putOff = Math.max(0, (last?.startsPutOff ?? 0) - (first?.startsPutOff ?? 0));
  return [h("dl", { class: "facts" },
    row("High priority", "high", "These phones get further updates at low priority"),
    row("Starts", "start", "Further starts on these phones wait"),
    h("dt", {}, "Starts postponed"), h("dd", {}, putOff ? badge(number.format(putOff), "warn") : "none")),
  h("p", { class: "note" }, "Islet's estimates of what iOS still delivers to a phone, by ", h("code", {}, "budgets"),
    " of the policies. The share is of what a phone may get at once, after each push that used the budget.")];
}

export async function now(place, { signal }) {
  let samples = [], routes = [], firing = [], overview = null;
  const tiles = { rate: tile("Pushes"), success: tile("Accepted"), lag: tile("Change to APNs, p95"), queue: tile("Queue") };
  const plots = {
    rate: plot("Pushes", "per second", "/s", [{ name: "accepted", kind: "one" }, { name: "not accepted", kind: "bad" }]),
    lag: plot("From a change to APNs's answer, or to an attempt's failure", "seconds", "s",
      [{ name: "p50", kind: "one" }, { name: "p95", kind: "two" }, { name: "p99", kind: "three" }]),
    queue: plot("Wait of the earliest due work", "seconds", "s", [{ name: "age", kind: "one" }]),
    flight: plot("Pushes in flight", "pushes", "",
      [{ name: "without an answer", kind: "one" }, { name: "not sent yet", kind: "two" }]),
  };
  const state = h("div", { class: "beside" });
  const alerts = h("div", {}), errors = h("div", {}), ways = h("div", {}), running = h("div", {}, empty("…")), left = h("div", {});
  add(place, [heading("Now", state), alerts,
    h("div", { class: "tiles" }, Object.values(tiles).map((tile) => tile.element)),
    h("div", { class: "plots" }, Object.values(plots).map((plot) => plot.element)),
    h("div", { class: "halves" }, panel("Not accepted, by reason", errors), panel("Connections to APNs", ways)),
    h("div", { class: "halves" }, panel("Running now", running), panel("Budgets of phones", left))]);

  function draw() {
    if (!samples.length) return;
    const last = samples.at(-1);
    const points = samples.map((sample, index) => {
      const at = new Date(sample.at);
      const before = samples[Math.max(0, index - 5)];
      const past = samples.findLast((one, place) => place <= index && at - new Date(one.at) >= WINDOW * 1000) ?? samples[0];
      const time = (at - new Date(before.at)) / 1000;
      const pushes = between(before.pushes, sample.pushes);
      // States of failed attempts are late as well. In an outage there are no others.
      const passed = (name) => sample[name].counts.map((count, range) => Math.max(0, count - past[name].counts[range]));
      const failed = passed("failedLag"), lag = passed("lag").map((count, range) => count + failed[range]);
      const good = pushes.accepted ?? 0;
      return {
        at, pushes, failed: sum(failed),
        rate: time > 0 ? [good / time, (sum(pushes) - good) / time] : [null, null],
        quantiles: [0.5, 0.95, 0.99].map((share) => quantile(share, sample.lag.bounds, lag)),
      };
    });
    plots.rate.draw(points.map((point) => ({ at: point.at, values: point.rate })));
    plots.lag.draw(points.map((point) => ({ at: point.at, values: point.quantiles })));
    plots.queue.draw(samples.map((one) => ({ at: new Date(one.at), values: [one.queueAge ?? null] })));
    plots.flight.draw(samples.map((one) => ({ at: new Date(one.at), values: [one.inFlight, one.queued] })));

    const span = between(samples[0].pushes, last.pushes);
    const all = sum(span), good = span.accepted ?? 0;
    const minutes = Math.max(1, Math.round((new Date(last.at) - new Date(samples[0].at)) / 60000));
    const newest = points.at(-1);
    tiles.rate.show(newest.rate[0] === null ? "–" : `${+(newest.rate[0] + newest.rate[1]).toFixed(1)} /s`,
      `${number.format(all)} in ${minutes} min`);
    tiles.success.show(all ? `${+(100 * good / all).toFixed(1)} %` : "–", all ? `${number.format(all - good)} not accepted`
      : "no push was sent yet", all && good / all < 0.95 ? "bad" : "");
    // An older figure would look healthy while nothing is sent.
    const [p50, p95, p99] = newest.quantiles;
    const attempts = newest.failed === 1 ? "attempt" : "attempts";
    const quiet = routes.length ? "pushes are held back" : last.queueAge > WINDOW ? "due work waits"
      : "no push was due in the last minute";
    tiles.lag.show(seconds(p95), p95 === null ? quiet
      : `p50 ${seconds(p50)}, p99 ${seconds(p99)}`
        + (newest.failed ? `; ${number.format(newest.failed)} ${attempts} failed` : ""),
    p99 > 10 || (p95 === null && routes.length) ? "bad" : "");
    tiles.queue.show(last.queueAge === undefined ? "–" : duration(last.queueAge), last.queueAge === undefined
      ? "the database did not answer" : `${number.format(last.waiting ?? 0)} writes are waiting`, last.queueAge > 30 ? "bad" : "");

    const reasons = Object.entries(between(samples[0].reasons, last.reasons)).filter(([, count]) => count)
      .sort((a, b) => b[1] - a[1]);
    fill(errors, reasons.length ? h("ul", { class: "bars" }, reasons.slice(0, 8).map(([reason, count]) =>
      h("li", {}, h("span", {}, reason), h("i", { wide: `${Math.max(2, 100 * count / reasons[0][1])}%` }),
        h("b", {}, number.format(count))))) : empty(`None in ${minutes} min.`));
    fill(ways, h("dl", { class: "facts" },
      h("dt", {}, "Connections"), h("dd", {}, last.connections),
      h("dt", {}, "Streams in use"), h("dd", {}, `${last.streams} of ${number.format(last.streamLimit)}`),
      h("dt", {}, "Circuit"), h("dd", {}, routes.length
        ? routes.map((route) => badge(route.state === "halted" ? "halted" : "open", "bad", route.text))
        : badge("closed: pushes are sent", "good")),
      h("dt", {}, "Memory"), h("dd", {}, last.memory ? `${number.format(Math.round(last.memory / 1e6))} MB` : "–"),
      h("dt", {}, "Server"), h("dd", {}, `${overview.version}, since `, moment(overview.startedAt))));
    fill(left, budgets(samples[0].budgets, last.budgets, minutes));
    drawAlerts();
  }

  /** Shows the server's own alerts, and the routes to APNs that wait. */
  let told = "";
  function drawAlerts() {
    // A replaced alert would be announced again.
    const news = JSON.stringify([routes, firing]);
    if (news === told) return;
    told = news;
    fill(alerts, [
      ...routes.map((route) => h("div", { class: "problem", role: "alert" },
        h("strong", {}, `Pushes to ${route.environment} ${route.state === "halted" ? "are halted" : "wait"}`), " ",
        route.text, " next attempt ", moment(route.nextAttemptAt))),
      ...firing.map((alert) => h("div", { class: "problem", role: "alert" },
        h("strong", {}, alert.summary), " ", badge(alert.severity === "page" ? "urgent" : "to do", "bad", alert.name),
        " since ", moment(alert.since), h("span", { class: "fix" }, alert.meaning))),
    ]);
  }

  function take(answer) {
    overview = answer;
    routes = answer.routes;
    const newest = samples.at(-1)?.at;
    samples.push(...answer.samples.filter((one) => !newest || one.at > newest));
    samples = samples.slice(-KEPT);
    draw();
  }

  const live = (text, kind) => fill(state, badge(text, kind));
  take(await get("/v1/overview", signal));
  if (signal.aborted) return;
  live("connecting", "");
  follow("/console/live", "overview", signal, {
    event: (answer) => { live("live", "good"); take(answer); },
    lost: () => live("not connected, trying again", "warn"),
  });

  repeat(5000, signal, async () => {
    firing = (await get("/v1/alerts", signal)).alerts;
    drawAlerts();
  });

  let shown = "";
  repeat(3000, signal, async () => {
    const { rows: newest, isPart } = await runningActivities(RUNNING);
    // Unchanged content is left as it is, because a link in it may have the focus.
    const on = number.format(newest.reduce((all, row) => all + (row.phones ?? 0), 0));
    const news = JSON.stringify([newest.slice(0, 8), newest.length, isPart, on]);
    if (news === shown) return goOn(running);
    shown = news;
    fill(running, newest.length ? [h("p", { class: "note" }, isPart
      ? `The newest ${number.format(newest.length)} running activities are on ${on} phones`
      : `${number.format(newest.length)} running on ${on} phones`),
    table(["Activity", "Type", "Revision", "Phones", "Changed"], newest.slice(0, 8).map((row) => [
      h("a", { href: `#/activities/${encodeURIComponent(row.activity)}` }, row.activity), row.type, row.revision,
      row.phones ?? "–", ago(row.updatedAt)]), "Running activities")] : empty("No activity is running."));
  });
}

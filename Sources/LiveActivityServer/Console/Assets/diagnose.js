// Diagnose: the reasons why something did not arrive.

import { add, badge, empty, fill, h, heading, moment, panel, problem } from "./dom.js";
import { get, runningActivities } from "./server.js";

const severities = { blocked: ["blocked", "bad"], waiting: ["waiting", "warn"], warning: ["warning", "warn"],
  note: ["note", "calm"] };

/** A value of the evidence. Times are formatted, everything else is shown as it is. */
const value = (one) => typeof one === "string" && /^\d{4}-\d\d-\d\dT/.test(one) ? moment(one)
  : typeof one === "object" && one !== null ? h("code", {}, JSON.stringify(one)) : `${one}`;

function finding(one) {
  const [text, kind] = severities[one.severity] ?? [one.severity];
  return h("li", { class: `finding ${kind ?? ""}` },
    h("div", { class: "line" }, badge(text, kind), h("code", {}, one.id),
      one.activity && h("a", { href: `#/activities/${encodeURIComponent(one.activity)}` }, one.activity)),
    h("p", {}, one.text), one.fix && h("p", { class: "fix" }, one.fix),
    one.evidence && Object.keys(one.evidence).length > 0 && h("details", {}, h("summary", {}, "Evidence"),
      h("dl", { class: "facts" }, Object.entries(one.evidence).map(([name, found]) =>
        [h("dt", {}, name), h("dd", {}, value(found))]))));
}

export async function diagnose(place, { rest, query, signal }) {
  const device = h("input", { id: "device", required: true, autocomplete: "off", spellcheck: "false",
    value: rest[0] ?? "", placeholder: "device id" });
  const activity = h("input", { id: "of", autocomplete: "off", spellcheck: "false",
    value: query.get("activity") ?? "", placeholder: "all activities" });
  const result = h("div", { "aria-live": "polite" });
  const form = h("form", { class: "filters panel" }, h("label", { for: "device" }, "Phone", device),
    h("label", { for: "of" }, "Activity", activity), h("button", { class: "main", type: "submit" }, "Diagnose"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const wanted = `#/diagnose/${encodeURIComponent(device.value)}`
      + (activity.value ? `?activity=${encodeURIComponent(activity.value)}` : "");
    if (wanted === location.hash) look(); else location.hash = wanted;
  });
  add(place, [heading("Why did it not arrive?"), form, result]);

  async function look() {
    const about = activity.value ? `?activity=${encodeURIComponent(activity.value)}` : "";
    try {
      const answer = await get(`/v1/devices/${encodeURIComponent(device.value)}/diagnosis${about}`, signal);
      fill(result, panel(null, h("div", { class: "line" }, h("b", {}, answer.device),
        answer.user && h("span", { class: "note" }, answer.user), badge(...answer.findings.length ? severities[answer.verdict] ?? [answer.verdict] : ["no problem found", "good"]),
        moment(answer.at)), answer.findings.length ? h("ol", { class: "findings" }, answer.findings.map(finding))
        : empty("Nothing prevents this phone from showing what it should.")));
    } catch (error) {
      if (error.name !== "AbortError") fill(result, problem(error));
    }
  }
  if (rest[0]) return look();
  const newest = (await runningActivities(500)).rows.slice(0, 5);
  const views = await Promise.all(newest.map((row) =>
    get(`/v1/activities/${encodeURIComponent(row.activity)}?limit=10`, signal)));
  const behind = views.flatMap((view) => view.devices.filter((device) => device.revision < view.revision)
    .map((device) => [view, device]));
  fill(result, panel("Phones that are behind", behind.length ? h("ul", { class: "choices" }, behind.map(([view, device]) =>
    h("li", {}, h("a", { href: `#/diagnose/${encodeURIComponent(device.device)}?activity=${encodeURIComponent(view.activity)}` },
      `${device.device} · ${view.activity}`), h("span", { class: "note" }, device.reason.text))))
    : empty("No phone is behind on the activities that changed last.")));
}

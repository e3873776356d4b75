// Activities: a list to search, and one activity with its phones and its timeline.

import { add, ago, badge, empty, fill, goOn, h, heading, json, moment, number, panel, problem, table } from "./dom.js";
import { activityTypes, byChange, get, may, pages, repeat } from "./server.js";
import { card } from "./phone.js";

/** The number of activities on one page. */
const PAGE = 200;
/** The number of newest activities that are searched for a part of an id. */
const SEARCHED = 2000;

const link = (id, text) => h("a", { href: `#/activities/${encodeURIComponent(id)}` }, text ?? id);
export const phaseBadge = (phase) => badge(phase, { active: "good", announced: "warn" }[phase] ?? "calm");

export async function activities(place, { rest, query, signal }) {
  return rest[0] ? one(place, rest[0], query, signal) : list(place, query, signal);
}

// The list

async function list(place, query, signal) {
  const types = await activityTypes();
  const choice = (id, label, name, options) => h("label", { for: id }, label,
    h("select", { id, name }, h("option", { value: "" }, "all"),
      options.map((option) => h("option", { value: option, selected: query.get(name) === option }, option))));
  const search = h("form", { class: "filters panel", role: "search" },
    h("label", { for: "find" }, "Activity", h("input", { id: "find", name: "find", type: "search",
      value: query.get("find") ?? "", placeholder: "part of the id" })),
    h("label", { for: "user" }, "Person", h("input", { id: "user", name: "user", type: "search",
      value: query.get("user") ?? "", placeholder: "whole id" })),
    choice("type", "Type", "type", [...types.keys()]), choice("phase", "Phase", "phase", ["announced", "active", "ended"]));
  const count = h("p", { class: "note", "aria-live": "polite" }), result = h("div", {}, empty("…"));
  let asked = 0, shown = "";
  // The cursors of the visited pages. The first page has no cursor.
  let trail = [], next;
  // The buttons are never disabled or replaced, because that would take the focus from people who use the keyboard.
  const turn = (title, onto) => h("button", { type: "button", class: "quiet", onclick: () => {
    const way = onto();
    if (way) { trail = way; look(); }
  } }, title);
  const newer = turn("Newer", () => trail.length && trail.slice(0, -1));
  const older = turn("Older", () => next && [...trail, next]);
  const pager = h("div", { class: "beside", hidden: true }, newer, older);
  add(place, [heading("Activities", may("backend") && h("a", { class: "button", href: "#/compose" }, "Compose")), search,
    count, result, pager]);

  /** Finds a part of an id among the newest activities, and a whole id among all. */
  async function find(text, parameters) {
    const found = await pages(`/v1/activities?${parameters}&limit=1000`, "activities", SEARCHED);
    const wanted = text.toLowerCase(), isIt = (row) => row.activity.toLowerCase() === wanted;
    const rows = found.rows.filter((row) => row.activity.toLowerCase().includes(wanted));
    // The answer does not contain the audience, so a search for a person cannot use it.
    if (found.isPart && !rows.some(isIt) && !parameters.get("user")) {
      try {
        const row = await get(`/v1/activities/${encodeURIComponent(text)}?limit=1`, signal);
        if (["type", "phase"].every((name) => (parameters.get(name) ?? row[name]) === row[name])) rows.push(row);
      } catch { /* it is none */ }
    }
    return { rows, isPart: found.isPart };
  }

  async function look() {
    const fields = Object.fromEntries(new FormData(search));
    const parameters = new URLSearchParams({ newest: true });
    for (const name of ["type", "phase", "user"]) if (fields[name]) parameters.set(name, fields[name]);
    const round = ++asked;
    try {
      const after = trail.at(-1);
      const answer = fields.find ? await find(fields.find, parameters)
        : await get(`/v1/activities?${parameters}&limit=${PAGE}${after ? `&after=${after}` : ""}`, signal);
      if (round !== asked || signal.aborted) return;
      const rows = byChange(answer.rows ?? answer.activities);
      // Unchanged content is left as it is, because somebody may be reading or selecting it.
      const news = JSON.stringify([rows, answer.next, trail]);
      if (news === shown) return goOn(result);
      shown = news;
      next = answer.next;
      const stood = result.contains(document.activeElement) && document.activeElement.getAttribute("href");
      const searched = `Only the newest ${number.format(SEARCHED)} activities were searched: narrow the search, or enter the whole id.`;
      const words = number.format(rows.length) + (rows.length === 1 ? " activity" : " activities")
        + (trail.length ? ", older ones" : next ? ", the newest" : "");
      if (count.textContent !== words) count.textContent = words;
      const heads = ["Activity", "Type", "Phase", "Revision", "Phones", "Changed"];
      fill(result, rows.length ? panel(null, table(heads, rows.slice(0, PAGE).map((row) => [link(row.activity), row.type,
        phaseBadge(row.phase), row.revision, row.phones ?? "–", ago(row.updatedAt)]), "Activities"),
      answer.isPart && h("p", { class: "note" }, searched))
        : empty(answer.isPart ? searched : next ? "No activity on this page matches; there are older ones." : "No activity matches."));
      pager.hidden = !trail.length && !next;
      newer.setAttribute("aria-disabled", !trail.length);
      older.setAttribute("aria-disabled", !next);
      if (stood) result.querySelector(`a[href="${CSS.escape(stood)}"]`)?.focus();
    } catch (error) {
      if (error.name === "AbortError") return;
      shown = "";
      fill(result, problem(error));
    }
  }
  let timer;
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const fields = new URLSearchParams([...new FormData(search)].filter(([, value]) => value));
      history.replaceState(null, "", `#/activities${fields.size ? `?${fields}` : ""}`);
      trail = [];
      look();
    }, 200);
  });
  search.addEventListener("submit", (event) => event.preventDefault());
  repeat(4000, signal, look);
}

// One activity

const kinds = {
  "state-set": ["State", "change"], reopened: ["New run", "change"], ended: ["Ended", "change"],
  "audience-changed": ["Audience", "change"], reported: ["Report", "phone"], "token-reported": ["Token", "phone"],
  start: ["Start", "push"], update: ["Update", "push"], end: ["End", "push"], fallback: ["Notification", "push"],
  rescued: ["Rescued", "push"], "channel-made": ["Channel made", "push"], broadcast: ["Broadcast", "push"],
  "broadcast-end": ["Broadcast of the end", "push"], "channel-deleted": ["Channel deleted", "push"],
};

const confirmations = {
  held: ["confirmed", "good", "The phone reported this revision"],
  accepted: ["accepted", "calm", "APNs accepted the push; the phone has not reported since, which is normal"],
  contradicted: ["contradicted", "bad", "The phone reported an older revision after the push"],
  unknown: ["unknown", "", "What the phone shows is not known"],
};

/** The fields of a state that differ from the previous state. */
function differences(before, after) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after)])];
  const text = (value) => value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value);
  const changed = names.filter((name) => JSON.stringify(before?.[name]) !== JSON.stringify(after[name]));
  return h("dl", { class: "changes" }, changed.map((name) => [h("dt", {}, name),
    h("dd", {}, before && [h("s", {}, text(before[name])), " → "], h("b", {}, text(after[name])))]));
}

function pushBadges(entry) {
  return [
    entry.priority && badge(`priority ${entry.priority}`, entry.priority === 10 ? "warn" : "calm",
      entry.priority === 10 ? "High: delivered at once, counts against the phone's budget" : "Low: delivered when it suits the phone"),
    entry.alert && badge("alert", "warn"),
    entry.bytes && badge(`${number.format(entry.bytes)} B`, "", "A push may have up to 4,096 bytes"),
    entry.status && badge(entry.status, entry.status === 200 ? "good" : "bad", "APNs's answer"),
  ];
}

function item(entry, before, openID) {
  const [title, kind] = kinds[entry.kind] ?? [entry.kind, "change"];
  const details = entry.payload && h("details", { open: openID }, h("summary", {}, "Payload"),
    h("p", { class: "note" }, "Rebuilt from the timeline, without the token. ",
      entry.apnsID && ["apns-id ", h("code", {}, entry.apnsID)]), json(entry.payload));
  return h("li", { class: `entry ${kind} ${entry.status && entry.status !== 200 ? "refused" : ""}` },
    h("div", { class: "when" }, moment(entry.at)),
    h("div", { class: "what" },
      h("div", { class: "line" }, h("b", {}, title), entry.revision > 0 && h("span", { class: "revision" }, `revision ${entry.revision}`),
        entry.device && h("span", { class: "device" }, entry.device), pushBadges(entry)),
      h("p", {}, entry.text), entry.state && differences(before, entry.state), details));
}

/** The number of newest entries of a timeline that are read. */
export const READ = 1000;
/** The number of these entries that are listed. */
const LISTED = 500;

/** The newest entries of the timeline, the oldest of them first. */
export const timeline = async (id) =>
  (await get(`/v1/activities/${encodeURIComponent(id)}/timeline?payloads=true&newest=true&limit=${READ}`)).entries;

/** The identity of an entry. Its index changes as newer entries arrive. */
export const mark = (entry) => entry && [entry.at, entry.kind, entry.device, entry.revision, entry.apnsID].join(" ");

async function one(place, id, query, signal) {
  const types = await activityTypes();
  const head = h("div", {}), summary = h("div", {}), phones = h("div", {}), entries = h("ol", { class: "timeline" });
  const whose = h("select", { id: "whose" }, h("option", { value: "" }, "all phones"));
  const what = h("select", { id: "what" }, [["", "everything"], ["change", "changes"], ["push", "pushes"],
    ["phone", "reports"]].map(([value, text]) => h("option", { value }, text)));
  add(place, [head, h("div", { class: "aside" }, summary, phones), h("section", { class: "panel" },
    h("div", { class: "heading" }, h("h2", {}, "Timeline"), h("div", { class: "beside" },
      h("label", { for: "whose", class: "inline" }, "Phone ", whose), h("label", { for: "what", class: "inline" }, "Show ",
        what))), entries)]);
  let all = [], seen = "", known = "";

  function drawTimeline() {
    const opened = new Set([...entries.querySelectorAll("details[open]")].map((one) => one.closest("li").dataset.key));
    let state;
    const rows = all.map((entry) => {
      const before = state;
      if (entry.state) state = entry.state;
      const key = mark(entry);
      const row = item(entry, before, opened.has(key));
      row.dataset.key = key;
      row.dataset.device = entry.device ?? "";
      row.dataset.kind = kinds[entry.kind]?.[1] ?? "change";
      return row;
    });
    const shown = rows.filter((row) => (!whose.value || !row.dataset.device || row.dataset.device === whose.value)
      && (!what.value || row.dataset.kind === what.value));
    fill(entries, shown.length ? shown.reverse().slice(0, LISTED) : h("li", { class: "empty" }, "No entry matches."),
      shown.length > LISTED && h("li", { class: "empty" }, `The newest ${number.format(LISTED)} are listed.`),
      all.length === READ && shown.length <= LISTED && h("li", { class: "empty" },
        `The newest ${number.format(READ)} entries were searched.`));
  }
  whose.addEventListener("change", drawTimeline);
  what.addEventListener("change", drawTimeline);

  async function look() {
    const view = await get(`/v1/activities/${encodeURIComponent(id)}?limit=200`, signal);
    all = await timeline(id);
    const news = JSON.stringify(view);
    if (news === seen) goOn(phones);
    else {
      seen = news;
      fill(head, heading(h("span", { class: "id" }, view.activity), phaseBadge(view.phase),
        h("a", { class: "button quiet", href: `#/phones/${encodeURIComponent(id)}` }, "Phones through time"),
        may("backend") && h("a", { class: "button quiet", href: `#/compose/${encodeURIComponent(id)}` }, "Change")));
      const counts = Object.entries(view.counts).map(([state, count]) => badge(`${number.format(count)} ${state}`,
        { live: "good", unconfirmed: "warn", gone: "bad" }[state] ?? "calm"));
      fill(summary, panel("What should be shown", card({ type: types.get(view.type), state: view.state,
        attributes: view.attributes, look: view.phase === "ended" ? "ended" : "active" }), h("dl", { class: "facts" },
        h("dt", {}, "Type"), h("dd", {}, view.type), h("dt", {}, "Revision"), h("dd", {}, view.revision),
        h("dt", {}, "Run"), h("dd", {}, view.run), h("dt", {}, "Changed"), h("dd", {}, moment(view.updatedAt)),
        h("dt", {}, "Phones"), h("dd", {}, counts.length ? counts : "none")),
      view.reason && h("p", { class: "note" }, view.reason.text),
      h("details", {}, h("summary", {}, "State and attributes"), json({ state: view.state, attributes: view.attributes }))));
      fill(phones, panel("What phones show", view.devices.length ? table(
        ["Phone", "Card", "Revision", "Confirmation", "Last push", "Why"], view.devices.map((device) => [
          h("span", {}, h("a", { href: `#/diagnose/${encodeURIComponent(device.device)}?activity=${encodeURIComponent(id)}`,
            title: "Diagnose" }, device.device), h("small", {}, device.user)),
          h("span", {}, device.state, device.channel && h("small", { title: device.channel }, "on a channel")),
          h("span", { class: device.revision < view.revision ? "behind" : "" }, `${device.revision} of ${view.revision}`),
          badge(...confirmations[device.confirmation] ?? [device.confirmation]),
          device.lastDelivery ? h("span", {}, device.lastDelivery.kind, " ", ago(device.lastDelivery.at),
            device.lastDelivery.reason && h("small", {}, device.lastDelivery.reason)) : "–", device.reason.text]),
        "Phones of this activity") : empty("No phone is known of anybody in the audience."),
      view.next && h("p", { class: "note" }, "The first 200 phones are listed.")));
      const devices = view.devices.map((device) => device.device);
      const old = whose.value || query.get("device") || "";
      fill(whose, h("option", { value: "" }, "all phones"), devices.map((device) =>
        h("option", { value: device, selected: device === old }, device)));
    }
    const length = `${all.length} ${mark(all.at(-1))}`;
    if (length !== known) {
      known = length;
      drawTimeline();
    }
  }
  await look();
  repeat(2000, signal, look);
}

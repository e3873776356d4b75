// The screens of phones: of one activity at any time of its timeline, and of the simulator's phones in development.

import { add, badge, clockTime, empty, fill, h, heading, moment, number, panel, problem, say } from "./dom.js";
import { activityTypes, byChange, call, get, may, path, repeat, visitor } from "./server.js";
import { phone } from "./phone.js";
import { mark, READ, timeline } from "./activities.js";

export async function phones(place, { rest, signal }) {
  if (rest[0]) return through(place, rest[0], signal);
  if (visitor.simulator) return simulated(place, signal);
  return choose(place, signal);
}

async function choose(place, signal) {
  const newest = byChange((await get("/v1/activities?newest=true&limit=500")).activities).slice(0, 30);
  add(place, [heading("Phones"), panel("Choose an activity", newest.length ? h("ul", { class: "choices" },
    newest.map((row) => h("li", {}, h("a", { href: `#/phones/${encodeURIComponent(row.activity)}` }, row.activity), " ",
      badge(row.type), " ", badge(row.phase, row.phase === "active" ? "good" : "calm")))) : empty("There is no activity yet."))]);
}

// Through time

/** The known screens of all phones after the first `count` entries of a timeline. */
export function screens(entries, count, at) {
  const states = new Map(), phones = new Map();
  let latest = null, ended = false;
  for (const entry of entries.slice(0, count)) {
    if (!entry.device) {
      if (entry.state) { latest = entry.state; states.set(entry.revision, entry.state); }
      if (entry.kind === "ended") ended = true;
      if (entry.kind === "reopened") { ended = false; phones.clear(); }
      continue;
    }
    const phone = phones.get(entry.device) ?? { look: null, state: null, note: "", revision: 0 };
    phones.set(entry.device, phone);
    const accepted = entry.status === 200;
    if (["start", "update", "end"].includes(entry.kind)) {
      if (!accepted) { phone.note = `${entry.kind}: ${entry.text}`; continue; }
      phone.state = states.get(entry.revision) ?? entry.payload?.aps?.["content-state"] ?? phone.state;
      phone.revision = entry.revision;
      phone.stale = entry.payload?.aps?.["stale-date"];
      phone.look = entry.kind === "end" ? "ended" : entry.kind === "start" ? "waiting" : "active";
      phone.note = entry.kind === "start" ? "started; the phone has not reported it yet" : "";
    } else if (entry.kind === "reported" || entry.kind === "token-reported") {
      if (/dismissed|gone/.test(entry.text)) { phone.look = "away"; phone.note = entry.text; continue; }
      // Another card of the activity stays.
      if (entry.code === "duplicate-ended") continue;
      if (/ended/.test(entry.text)) { phone.look = "ended"; continue; }
      if (phone.look === "waiting" || phone.look === null) phone.look = "active";
      phone.state ??= states.get(entry.revision) ?? latest;
      phone.revision ||= entry.revision;
      phone.note = "";
    } else if (entry.kind === "fallback") phone.note = "an ordinary notification was sent instead";
  }
  for (const phone of phones.values()) {
    if (phone.look === "active" && phone.stale && phone.stale * 1000 <= at) phone.look = "stale";
  }
  return { phones, ended, states };
}

/** The current screen of a phone whose entries were not read, as the server knows it. */
function known(device, view, states) {
  if (device.state !== "live") return null;
  return states.get(device.revision) ?? (device.revision === view.revision ? view.state : null);
}

async function through(place, id, signal) {
  const types = await activityTypes();
  const ask = () => Promise.all([get(`/v1/activities/${encodeURIComponent(id)}?limit=200`, signal), timeline(id)]);
  let [view, entries] = await ask();
  const slider = h("input", { id: "time", type: "range", min: 1, max: Math.max(1, entries.length), value: entries.length });
  const now = h("output", { for: "time" }), row = h("div", { class: "phones" });
  const cut = h("span", { hidden: true }, ` Only the newest ${number.format(READ)} entries are read: a phone that has none of them is `
    + "drawn as it is now, and not at earlier times.");
  const step = (by) => { slider.value = +slider.value + by; draw(); };
  add(place, [heading(h("span", { class: "id" }, id), h("a", { class: "button quiet",
    href: `#/activities/${encodeURIComponent(id)}` }, "Timeline"), visitor.simulator && h("a", { class: "button quiet",
    href: "#/phones" }, "Simulated phones")),
  h("div", { class: "travel panel" }, h("label", { for: "time" }, "Time"),
    h("button", { type: "button", "aria-label": "Earlier", onclick: () => step(-1) }, "‹"), slider,
    h("button", { type: "button", "aria-label": "Later", onclick: () => step(1) }, "›"), now), row,
  h("p", { class: "note" }, "Drawn from what APNs accepted and phones reported, as the type's ", h("code", {}, "view"),
    " in the configuration says. The app's own design is not known here.", cut)]);

  function draw() {
    cut.hidden = entries.length < READ;
    const count = +slider.value, entry = entries[count - 1];
    if (!entry) return fill(row, empty("Nothing has happened yet."));
    const newest = count === entries.length;
    const at = newest ? new Date() : new Date(entry.at);
    const told = screens(entries, count, at);
    fill(now, newest ? badge("now", "good") : moment(entry.at), " ", entry.device && [h("b", {}, entry.device), ": "], entry.text);
    const all = new Map(view.devices.map((device) => [device.device, device]));
    for (const name of told.phones.keys()) if (!all.has(name)) all.set(name, { device: name, user: "" });
    fill(row, [...all.values()].map((device) => {
      const one = told.phones.get(device.device);
      const isOlder = newest && !one?.state && entries.length >= READ;
      const state = isOlder ? known(device, view, told.states) : one?.look && one.look !== "away" && one.state;
      const detail = newest ? device.reason?.text : one ? `revision ${one.revision}`
        : entries.length < READ ? "nothing sent yet" : "no entry among those that were read";
      return phone({
        name: device.device, at, detail: one?.note || detail, cards: state ? [{ type: types.get(view.type), state,
          attributes: view.attributes, look: isOlder ? "active" : one.look }] : [],
      });
    }));
  }
  slider.addEventListener("input", draw);
  draw();
  repeat(2000, signal, async () => {
    const [seen, fresh] = await ask();
    view = seen;
    if (fresh.length === entries.length && mark(fresh.at(-1)) === mark(entries.at(-1))) return;
    const wasNewest = +slider.value === entries.length, stood = mark(entries[+slider.value - 1]);
    entries = fresh;
    slider.max = entries.length;
    // The selected moment stays selected, or the oldest one that is left.
    slider.value = wasNewest ? entries.length : Math.max(1, 1 + entries.findIndex((entry) => mark(entry) === stood));
    draw();
  });
}

// The simulator's phones

const control = (method, rest, body) => call(method, `/console/simulator/v1/${rest}`, body);

const actions = [
  ["Open the app", "foreground", "The person opens the app"], ["Kill the app", "kill", "iOS ends the app's process"],
  ["Force quit", "forceQuit", "The person swipes the app out of the app switcher"],
  ["Tap Allow", "allow", "The app receives update tokens from now on"],
  ["Swipe away", "swipe", "The person removes the cards"],
  ["Rotate the token", "rotateUpdateToken", "iOS replaces the update tokens"],
  ["Spend the budget", "spendBudget", "No high-priority push is delivered for an hour"],
];

async function simulated(place, signal) {
  const types = await activityTypes();
  const bySwiftName = new Map([...types.values()].map((type) => [type.attributesType, type]));
  const writable = may("backend");
  const row = h("div", { class: "phones" }), said = h("div", {}), time = h("span", { class: "note" });
  const act = async (work, words) => {
    try { await work(); say(words); fill(said); await look(); } catch (error) { fill(said, problem(error)); }
  };
  const name = h("input", { id: "new-phone", required: true, placeholder: "carol", autocomplete: "off", maxlength: 40 });
  const system = h("select", { id: "new-system" }, ["18.1", "17.2", "16.4"].map((one) => h("option", { value: one }, `iOS ${one}`)));
  const form = h("form", { class: "filters panel" }, h("label", { for: "new-phone" }, "New phone of", name),
    h("label", { for: "new-system" }, "System", system), h("button", { type: "submit" }, "Add"),
    h("span", { class: "spacer" }),
    [["1 minute", 60], ["1 hour", 3600], ["8 hours", 28800]].map(([text, seconds]) => h("button", { type: "button",
      class: "quiet", title: "Sets the phones' clocks forward, not the server's",
      onclick: () => act(() => control("POST", "clock/advance", { seconds }), `${text} passed`) }, `Let ${text} pass`)));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    act(() => control("POST", "phones", { id: name.value, user: name.value, iOS: system.value, appState: "foreground",
      bundleID: visitor.app, activityTypes: [...bySwiftName.keys()] }), "The phone was added").then(() => { name.value = ""; });
  });
  const links = h("div", {});
  add(place, [heading("Phones", badge("simulated", "warn"), time), writable && form, said, row, links]);

  const boxes = new Map();
  function box(id) {
    if (boxes.has(id)) return boxes.get(id);
    const screen = h("div", {}), connection = h("button", { type: "button", class: "quiet" });
    const log = h("ol", { class: "log" });
    const push = (action, text) => act(() => control("POST", path`phones/${id}/actions`, { action }), `${id}: ${text}`);
    connection.addEventListener("click", () => push(connection.dataset.next, connection.textContent));
    const element = h("div", { class: "simulated" }, screen, writable && h("div", { class: "buttons", role: "group",
      "aria-label": `What happens to ${id}'s phone` }, connection, actions.map(([text, action, title]) => h("button", {
      type: "button", class: "quiet", title, onclick: () => push(action, text) }, text))),
    h("details", {}, h("summary", {}, "Device log"), log));
    const made = { element, screen, connection, log, seen: "" };
    boxes.set(id, made);
    row.append(element);
    return made;
  }

  async function look() {
    const [{ phones: list }, clock] = [await control("GET", "phones?limit=24"), await control("GET", "simulator")];
    fill(time, clock.aheadSeconds >= 1 ? `the phones' clocks are ${Math.round(clock.aheadSeconds / 60)} min ahead` : "");
    const at = new Date(clock.now);
    for (const { id } of list) {
      const { lockScreen, log } = await control("GET", path`phones/${id}`);
      const made = box(id);
      const news = JSON.stringify([lockScreen, log.length, Math.floor(at / 15000)]);
      if (news === made.seen) continue;
      made.seen = news;
      const detail = [lockScreen.appState, lockScreen.isOnline ? null : "offline",
        lockScreen.waitingReports ? `${lockScreen.waitingReports} reports are waiting` : null].filter(Boolean).join(", ");
      fill(made.screen, phone({
        name: id, detail, at, off: lockScreen.isOnline ? null : "offline",
        cards: lockScreen.cards.map((one) => ({
          type: bySwiftName.get(one.attributesType), state: one.contentState, attributes: one.attributes, look: one.state,
          note: one.alert && at - new Date(one.alert.at) < 30000 ? one.alert.title : "",
        })), notifications: lockScreen.notifications,
      }));
      made.connection.textContent = lockScreen.isOnline ? "Go offline" : "Go online";
      made.connection.dataset.next = lockScreen.isOnline ? "offline" : "online";
      fill(made.log, log.slice(-12).reverse().map((entry) => h("li", {}, h("time", {}, clockTime(new Date(entry.at))), " ",
        entry.words)));
    }
  }
  await look();
  repeat(1000, signal, look);
  repeat(4000, signal, async () => {
    const rows = (await get("/v1/activities?phase=active&newest=true&limit=8")).activities;
    fill(links, rows.length ? panel("Through time", h("ul", { class: "choices" }, rows.map((one) =>
      h("li", {}, h("a", { href: `#/phones/${encodeURIComponent(one.activity)}` }, one.activity))))) : panel("Through time",
      empty("No activity is running. ", writable && h("a", { href: "#/compose" }, "Compose one."))));
  });
}

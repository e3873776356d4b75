// Webhooks: the endpoints and their state, the events that were given up, and buttons to send them again.

import { add, badge, empty, fill, h, heading, moment, number, panel, problem, say, table } from "./dom.js";
import { call, get, may, repeat } from "./server.js";

const states = { on: ["on", "good"], failing: ["failing", "warn"], off: ["off", "bad"], new: ["not known yet", ""],
  removed: ["not configured", ""] };

const of = (name, rest = "") => `/v1/webhooks/${encodeURIComponent(name)}${rest}`;

/** A button that makes a call, shows its result, and refreshes the page. */
function action(words, named, said, work, look) {
  const button = h("button", { type: "button", "aria-label": named, onclick: async () => {
    button.disabled = true;
    try {
      const done = await work();
      fill(said, h("p", { class: "note", role: "status" }, done));
      say(done);
    } catch (error) {
      fill(said, problem(error));
    }
    button.disabled = false;
    look();
  } }, words);
  return button;
}

function endpoint(row, said, look) {
  const [text, kind] = states[row.state] ?? [row.state];
  return panel(row.name,
    h("div", { class: "line" }, badge(text, kind), row.origin && h("code", {}, row.origin),
      row.since && h("span", { class: "note" }, "since ", moment(row.since)), row.reason && h("span", {}, row.reason)),
    row.fix && h("p", { class: "fix" }, row.fix),
    h("dl", { class: "facts" },
      h("dt", {}, "Receives"), h("dd", {}, row.kinds ? row.kinds.join(", ") : "everything"),
      h("dt", {}, "Behind"), h("dd", {}, number.format(row.behind)),
      h("dt", {}, "Waiting"), h("dd", {}, number.format(row.waiting)),
      h("dt", {}, "Given up"), h("dd", {}, row.dead
        ? h("a", { href: `#/webhooks/${encodeURIComponent(row.name)}` }, number.format(row.dead)) : "0")),
    row.state === "off" && may("backend") && h("p", {}, action("Turn on", `Turn ${row.name} on`, said,
      async () => (await call("POST", of(row.name, "/enable"))).changed
        ? `${row.name} receives events again within 10 seconds.` : `${row.name} was already on.`, look)));
}

async function list(place, signal) {
  const said = h("div", { "aria-live": "polite" }), rows = h("div", {}, panel(null, empty("…")));
  add(place, [heading("Webhooks"), said, rows]);
  let shown;
  const look = async () => {
    const answer = await get("/v1/webhooks", signal);
    // Unchanged content is left as it is, so that a button does not disappear under the pointer.
    const text = JSON.stringify(answer);
    if (text === shown) return;
    shown = text;
    fill(rows, answer.webhooks.length ? answer.webhooks.map((row) => endpoint(row, said, look))
      : panel(null, empty("No webhooks are configured. Add them to ", h("code", {}, "webhooks"), " of the app in ",
        h("code", {}, "islet.yaml"), ", or read ", h("code", {}, "GET /v1/events"), ".")));
  };
  await look();
  repeat(3000, signal, look);
}

async function dead(place, name, signal) {
  const said = h("div", { "aria-live": "polite" }), rows = h("div", {}, empty("…"));
  const may_ = may("backend");
  const replay = (id) => async () => {
    const answer = await call("POST", of(name, "/replay"), id ? { events: [id] } : {});
    return `${number.format(answer.replayed)} ${answer.replayed === 1 ? "event is" : "events are"} delivered again within 10 seconds.`;
  };
  const discard = (id) => async () => {
    if (!id && !confirm(`Discard all events that could not be delivered to ${name}? Afterwards only a replay of everything since an earlier event can deliver them.`)) return "Nothing was discarded.";
    const answer = await call("POST", of(name, "/discard"), id ? { events: [id] } : { all: true });
    return `${number.format(answer.discarded)} ${answer.discarded === 1 ? "event was" : "events were"} discarded.`;
  };
  let after = "";
  const look = async () => {
    const answer = await get(of(name, `/dead?limit=100${after && `&after=${encodeURIComponent(after)}`}`), signal);
    if (!answer.dead.length) { fill(rows, empty(after ? "No more events." : "No event was given up.")); return; }
    fill(rows, may_ && h("p", {}, action("Replay all", `Replay all events that ${name} did not receive`, said, replay(), look), " ",
      action("Discard all", `Discard all events that ${name} did not receive`, said, discard(), look)),
      table(["Event", "What", "Activity", "Happened", "Tries", "Given up", "Last failure", ""], answer.dead.map((row) => [
        row.id, row.event?.type ?? "erased", row.event?.activity
          ? h("a", { href: `#/activities/${encodeURIComponent(row.event.activity)}` }, row.event.activity) : "–",
        moment(row.event?.timestamp), row.tries, moment(row.givenUpAt), row.failure ?? "–",
        may_ && [action("Replay", `Replay event ${row.id}`, said, replay(row.id), look), " ",
          action("Discard", `Discard event ${row.id}`, said, discard(row.id), look)]]), "Events that were given up"),
      answer.next && h("button", { type: "button", onclick: () => { after = answer.next; look(); } }, "Next page"));
  };
  add(place, [heading(`Given up: ${name}`, h("a", { href: "#/webhooks" }, "All webhooks")), said, panel(null, rows)]);
  await look();
}

export async function webhooks(place, { rest, signal }) {
  return rest[0] ? dead(place, rest[0], signal) : list(place, signal);
}

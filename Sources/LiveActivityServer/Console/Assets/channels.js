// Channels: the broadcast channels that the server has, and how many there are in each environment.

import { add, badge, empty, fill, h, heading, moment, number, panel, table } from "./dom.js";
import { get, repeat } from "./server.js";

/** The number of channels on one page. */
const PAGE = 100;

const states = {
  wanted: ["warn", "A card needs a channel, and APNs has none yet"],
  lost: ["warn", "The answer to the creation was lost: the channel is looked for in APNs's list"],
  refused: ["bad", "APNs created no channel: it is tried again"],
  open: ["good", "The channel exists"],
  ending: ["calm", "The run is over: the channel is deleted when no phone can show a card of it any more"],
};

const heads = ["Activity", "Environment", "Run", "Channel", "State", "Stored", "Revision", "Ends", "Last broadcast",
  "Next look", "Under way", "Why"];

const usage = (routes) => h("dl", { class: "facts" }, routes.map((route) => [
  h("dt", {}, route.environment),
  h("dd", {}, `${number.format(route.channels)} of ${number.format(route.limit)}; `,
    h("code", {}, "auto"), ` makes more up to ${number.format(route.automaticLimit)}`,
    route.foreign > 0 && `. APNs also lists ${number.format(route.foreign)} that this server has not made`)]));

function cells(row) {
  return [
    row.activity ? h("a", { href: `#/activities/${encodeURIComponent(row.activity)}` }, row.activity)
      : h("span", {}, row.activityNumber, h("small", {}, "erased")),
    row.environment, row.run, row.channel ? h("code", {}, row.channel) : "–",
    h("span", {}, badge(row.state, ...states[row.state] ?? []),
      row.deletesAt && h("small", {}, "deleted at ", moment(row.deletesAt))),
    row.storage,
    h("span", { class: row.isBehind ? "behind" : "" },
      row.revision === undefined ? row.sentRevision : `${row.sentRevision} of ${row.revision}`,
      row.lastTimestamp && h("small", {}, `timestamp ${row.lastTimestamp}`)),
    row.ends, moment(row.lastAt), moment(row.nextLookAt), row.operation?.kind ?? "–",
    row.reason || row.fix ? h("span", {}, row.reason?.text, row.fix && h("small", { class: "fix" }, row.fix)) : "–",
  ];
}

export async function channels(place, { signal }) {
  const numbers = h("div", {}, empty("…")), rows = h("div", {}, empty("…"));
  add(place, [heading("Channels"), panel("In use", numbers), panel("Broadcast channels", rows)]);
  let shown, after = "";
  const turn = (title, to) => h("button", { type: "button", class: "quiet", onclick: () => {
    after = to;
    look();
  } }, title);
  async function look() {
    const answer = await get(`/v1/channels?limit=${PAGE}${after && `&after=${encodeURIComponent(after)}`}`, signal);
    // Unchanged content is left as it is, because somebody may be reading or selecting it.
    const text = JSON.stringify([after, answer]);
    if (text === shown) return;
    shown = text;
    fill(numbers, answer.routes.length ? usage(answer.routes) : empty("No key of APNs is configured."));
    fill(rows, answer.channels.length ? table(heads, answer.channels.map(cells), "Broadcast channels")
      : empty(after ? "No more channels." : ["No channels. A type with ", h("code", {}, "delivery: channel"), " or ",
        h("code", {}, "auto"), " in its policy gets one for each run of an activity, when the first card needs it."]),
    (after || answer.next) && h("div", { class: "beside" }, after && turn("Newest", ""),
      answer.next && turn("Older", answer.next)));
  }
  await look();
  repeat(3000, signal, look);
}

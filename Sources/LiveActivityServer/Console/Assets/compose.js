// Compose: write a state, see what would follow, and send it.

import { add, badge, fill, h, heading, number, panel, problem, say, table } from "./dom.js";
import { activityTypes, call, get } from "./server.js";
import { form } from "./form.js";
import { phone } from "./phone.js";

const LIMIT = 4096;

/** The approximate size in bytes of the push that the server makes of a state. */
function size(body) {
  const aps = { timestamp: 1800000000, event: "update", "content-state": body.state };
  if (body.alert) aps.alert = { title: body.alert.title, body: body.alert.body ?? "" };
  if (body.staleAfter) aps["stale-date"] = 1800000000;
  return new TextEncoder().encode(JSON.stringify({ aps })).length;
}

const courses = { start: ["starts a card", "good"], update: ["gets an update", "good"], fallback: ["gets a notification", "warn"],
  pending: ["waits", "warn"], none: ["gets nothing", "calm"] };

export async function compose(place, { rest, query, signal }) {
  const types = await activityTypes();
  let before = null;
  if (rest[0]) {
    try { before = await get(`/v1/activities/${encodeURIComponent(rest[0])}?limit=1`, signal); } catch (error) {
      if (error.code !== "unknown_activity") throw error;
    }
  }
  const type = h("select", { id: "type" }, [...types.keys()].map((name) =>
    h("option", { value: name, selected: name === (before?.type ?? query.get("type")) }, name)));
  type.disabled = before !== null;
  const id = h("input", { id: "activity", required: true, autocomplete: "off", spellcheck: "false",
    value: rest[0] ?? "", placeholder: "order-12345" });
  const people = h("input", { id: "people", autocomplete: "off", spellcheck: "false",
    placeholder: before ? "unchanged" : "ada, bob" });
  const title = h("input", { id: "alert-title", autocomplete: "off" });
  const words = h("input", { id: "alert-body", autocomplete: "off" });
  const priority = h("select", { id: "priority" }, ["auto", "low", "high"].map((one) => h("option", { value: one }, one)));
  const stale = h("input", { id: "stale", autocomplete: "off", placeholder: "15m" });
  const field = (label, element, note) => h("div", { class: "field" },
    h("label", { for: element.id }, label, note && h("small", {}, note)), element);

  const parts = h("div", {}), said = h("div", { "aria-live": "polite" }), meter = h("div", {});
  const preview = h("div", {}), verdicts = h("div", {});
  const send = h("button", { type: "submit", class: "main", disabled: true }, before ? "Send the change" : "Send");
  const ending = before?.phase === "active" && h("button", { type: "button", class: "danger" }, "End it with this state");
  const page = h("form", { class: "compose" },
    h("div", { class: "left" },
      h("fieldset", { class: "panel" }, h("legend", {}, "Activity and audience"), h("div", { class: "grid" },
        field("Type", type), field("Activity", id, "an id you choose"), field("People", people, "ids, separated by commas"))),
      parts,
      h("fieldset", { class: "panel" }, h("legend", {}, "Delivery"), h("div", { class: "grid" },
        field("Alert title", title, "optional: alerts the person"), field("Alert body", words, "optional"),
        field("Priority", priority), field("Stale after", stale, "optional: 90s, 5m, 1h")))),
    h("div", { class: "right" }, panel("Preview", preview, meter), panel("What would happen", verdicts), said,
      h("div", { class: "buttons" }, send, ending)));
  add(place, [heading(before ? ["Change ", h("span", { class: "id" }, rest[0])] : "Compose"), page]);

  let state, attributes;
  function build() {
    const chosen = types.get(type.value);
    // The server fills in the attribute that names the activity.
    const named = chosen?.activityIDAttribute?.split("/")[1];
    state = form("State", chosen?.contract?.contentState, "state", before?.state);
    const own = Object.fromEntries(Object.entries(before?.attributes ?? {}).filter(([name]) => name !== "islet"));
    attributes = form("Attributes", chosen?.contract?.attributes, "attributes", own, named ? [named] : []);
    fill(parts, state.element, before ? null : attributes.element);
    look();
  }

  function body() {
    const made = { type: type.value, state: state.value() };
    if (!before) made.attributes = attributes.value();
    const users = people.value.split(",").map((one) => one.trim()).filter(Boolean);
    if (users.length) made.audience = { users };
    if (title.value) made.alert = { title: title.value, ...(words.value && { body: words.value }) };
    if (priority.value !== "auto") made.priority = priority.value;
    if (stale.value) made.staleAfter = stale.value;
    if (before?.phase === "ended") made.reopen = true;
    return made;
  }

  const address = () => `/v1/activities/${encodeURIComponent(id.value)}`;
  // Only the revision that was shown is changed, so that a newer state is not overwritten.
  const unchanged = before ? { "If-Match": `"${before.revision}"` } : {};
  let turn = 0;
  /** Asks what would follow. */
  async function look() {
    const mine = ++turn;
    let made;
    try { made = body(); } catch (error) {
      send.disabled = true;
      return fill(said, problem(error));
    }
    fill(preview, phone({ name: id.value || "a phone", cards: [{ type: types.get(type.value), state: made.state,
      attributes: before?.attributes ?? made.attributes, look: "active", note: made.alert?.title }] }));
    const bytes = size(made);
    fill(meter, h("p", { class: "note" }, `about ${number.format(bytes)} of ${number.format(LIMIT)} bytes`),
      h("div", { class: `bar ${bytes > LIMIT ? "over" : ""}` }, h("i", { wide: `${Math.min(100, 100 * bytes / LIMIT)}%` })));
    if (!id.value) {
      send.disabled = true;
      return fill(said, h("p", { class: "note" }, "Choose an id for the activity, such as an order's number."));
    }
    try {
      const answer = await call("PUT", `${address()}?dryRun=true&limit=100`, made, signal, unchanged);
      if (mine !== turn) return;
      state.errors([]);
      attributes.errors([]);
      send.disabled = false;
      fill(said, answer.changed ? null : h("p", { class: "note" }, "Nothing would change: the activity is already like this."));
      fill(verdicts, h("p", {}, answer.summary ?? ""), answer.devices?.length ? table(["Phone", "Then", "Why"],
        answer.devices.map((device) => [h("span", {}, device.device, h("small", {}, device.user)),
          badge(...courses[device.course] ?? [device.course]), device.reason.text]), "What would happen on each phone")
        : h("p", { class: "note" }, "No phone of these people is known."));
    } catch (error) {
      if (error.name === "AbortError" || mine !== turn) return;
      send.disabled = true;
      fill(verdicts, h("p", { class: "note" }, "Nothing: the server would refuse this state."));
      const list = error.errors ?? (error.pointer ? [error] : []);
      const left = before ? state.errors(list) : attributes.errors(state.errors(list));
      fill(said, left.length || !list.length ? problem(error) : h("p", { class: "note" }, "Correct the marked fields."));
    }
  }

  let timer;
  page.addEventListener("input", (event) => {
    if (event.target === type) return build();
    clearTimeout(timer);
    timer = setTimeout(look, 250);
  });
  const make = async (work, text) => {
    clearTimeout(timer);
    turn++;
    send.disabled = true;
    try {
      const answer = await work();
      say(`${text}: revision ${answer.revision}`);
      location.hash = `#/activities/${encodeURIComponent(id.value)}`;
    } catch (error) {
      send.disabled = false;
      fill(said, problem(error));
    }
  };
  page.addEventListener("submit", (event) => {
    event.preventDefault();
    let made;
    try { made = body(); } catch (error) { return fill(said, problem(error)); }
    make(() => call("PUT", address(), made, undefined, unchanged), "Sent");
  });
  if (ending) ending.addEventListener("click", () => {
    let made;
    try { made = { state: state.value() }; } catch (error) { return fill(said, problem(error)); }
    if (title.value) made.alert = { title: title.value, ...(words.value && { body: words.value }) };
    make(() => call("POST", `${address()}/end`, made, undefined, unchanged), "Ended");
  });
  signal.addEventListener("abort", () => clearTimeout(timer));
  build();
}

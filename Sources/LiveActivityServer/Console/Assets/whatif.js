// Policy trials: the last hours as they would have been under another policy.

import { duration, fill, h, number, problem, say, table } from "./dom.js";
import { call } from "./server.js";

const counts = { sent: "Changes that were sent", together: "Changes that were sent with a later one",
  unsent: "Changes that were not sent" };
const delays = { p50: "Delay, median", p95: "Delay, 95th percentile", longest: "Delay, longest" };
const names = { pushes: "Pushes", starts: "Starts", updates: "Updates", ends: "Ends", fallbacks: "Notifications instead",
  high: "High priority", low: "Low priority", alerts: "Pushes with an alert", endedIdle: "Activities ended because nobody set them",
  refused: "Changes refused" };

/** The figures as rows: name, recorded, present policy, tried policy, difference. Rows of zeros are left out. */
function rows({ sent, now, then }) {
  const all = [];
  const add = (title, pick, words = number.format) => {
    const [was, is, would] = [sent, now, then].map(pick);
    if (!was && !is && !would) return;
    const difference = (would ?? 0) - (is ?? 0);
    const cell = (value) => value === undefined ? "–" : words(value);
    all.push(h("tr", { class: Math.abs(difference) > 1e-9 && "differs" }, h("th", { scope: "row" }, title),
      h("td", {}, cell(was)), h("td", {}, cell(is)), h("td", {}, cell(would)),
      h("td", {}, Math.abs(difference) < 1e-9 ? "same" : `${difference < 0 ? "−" : "+"}${words(Math.abs(difference))}`)));
  };
  for (const name of ["pushes", "starts", "updates", "ends", "fallbacks", "high", "low"]) add(names[name], (one) => one[name]);
  add("Lowered: high priority used a short time ago", (one) => one.lowered?.byInterval);
  add("Lowered: budget used up", (one) => one.lowered?.byBudget);
  add(names.alerts, (one) => one.alerts);
  for (const [name, title] of Object.entries(counts)) add(title, (one) => one.changes[name]);
  for (const [name, title] of Object.entries(delays)) add(title, (one) => one.delay?.[name], duration);
  const held = new Set([...Object.keys(now.held), ...Object.keys(then.held)]);
  for (const code of [...held].sort()) add(`Cards that waited: ${code}`, (one) => one.held && (one.held[code] ?? 0));
  for (const name of ["endedIdle", "refused"]) add(names[name], (one) => one[name]);
  return all;
}

/** Shows the errors of a policy at their places in the text, as far as they have one. */
function mistakes(error, input) {
  const list = error.errors ?? (error.pointer ? [{ pointer: error.pointer, expected: error.detail }] : []);
  const inside = list.filter((one) => one.pointer.startsWith("/policy"));
  if (!inside.length) return problem(error);
  input.setAttribute("aria-invalid", "true");
  const name = inside[0].pointer.split("/")[2];
  const at = name ? input.value.indexOf(JSON.stringify(name)) : -1;
  input.focus();
  if (at >= 0) input.setSelectionRange(at, at + name.length + 2);
  return h("div", { class: "problem", role: "alert" }, h("strong", {}, error.title), h("ul", {}, inside.map((one) =>
    h("li", {}, h("code", {}, one.pointer.slice("/policy".length) || "/"), " ", one.expected))));
}

/** The form below a type's policy. */
export function whatIf(type, signal) {
  const id = `whatif-${type.type}`;
  const words = h("textarea", { id, rows: 4, spellcheck: "false", autocomplete: "off", "aria-describedby": `${id}-said`,
    value: `{"coalescingWindow": "30s"}` });
  const hours = h("select", { id: `${id}-hours` }, [1, 6, 12, 24].map((one) =>
    h("option", { value: one, selected: one === 24 }, `the last ${one === 1 ? "hour" : `${one} hours`}`)));
  const said = h("div", { id: `${id}-said`, class: "said" }), result = h("div", {});
  const send = h("button", { type: "submit", class: "main" }, "Run");
  const form = h("form", { class: "whatif" },
    h("div", { class: "field" }, h("label", { for: id }, "Keys of the policy that would change",
      h("small", {}, "JSON; null removes a key")), words),
    h("div", { class: "field" }, h("label", { for: hours.id }, "Period"), hours), h("div", { class: "buttons" }, send), said,
    result);

  function show(answer) {
    const some = `${number.format(answer.changes)} changes of ${number.format(answer.activities)} activities on `
      + `${number.format(answer.phones)} phones`;
    fill(result, h("p", {}, `Replayed: ${some}${answer.isPart ? ", only the newest" : ""}.`),
      table(["", "Recorded", "Present policy", "Changed policy", "Difference"], rows(answer), `What ${type.type} would have sent`),
      h("details", {}, h("summary", {}, "What is not recorded, and what is assumed instead"), h("ul", {}, answer.unknown.map((one) => h("li", {}, one)))));
    say(`${some}: ${answer.now.pushes} pushes under the present policy, ${answer.then.pushes} under the changed one`);
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    words.removeAttribute("aria-invalid");
    let policy;
    try {
      policy = JSON.parse(words.value);
    } catch (error) {
      words.setAttribute("aria-invalid", "true");
      words.focus();
      return fill(said, h("div", { class: "problem", role: "alert" }, h("strong", {}, "This is not JSON"), " ", error.message));
    }
    send.disabled = true;
    fill(said, h("p", { class: "note", role: "status" }, "Running…"));
    try {
      const answer = await call("POST", `/v1/types/${encodeURIComponent(type.type)}/what-if`,
        { policy, hours: Number(hours.value) }, signal);
      fill(said);
      show(answer);
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(result);
      fill(said, mistakes(error, words));
    } finally {
      send.disabled = false;
    }
  });
  return h("details", { class: "trial" }, h("summary", {}, "Try another policy"), form);
}

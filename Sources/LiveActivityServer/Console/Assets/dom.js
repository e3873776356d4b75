// Elements, without a framework. Text is always text: nothing here turns a string into markup.

const SVG = "http://www.w3.org/2000/svg";

/** Adds attributes, listeners (`on…`) and children to an element. `wide` is its width. */
function dress(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (name === "checked") element.checked = value;
    else if (name === "wide") element.style.width = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

/** Appends children: elements, texts, and lists of them. Absent values are left out. */
export function add(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** Creates an HTML element. */
export const h = (tag, attributes, ...children) => dress(document.createElement(tag), attributes, children);

/** Creates an SVG element. */
export const s = (tag, attributes, ...children) => dress(document.createElementNS(SVG, tag), attributes, children);

/** Replaces the content of an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  return add(element, children);
}

/** Announces a text to people who use a screen reader. */
export function say(text) {
  document.getElementById("said").textContent = text;
}

// Times, in the reader's own zone and language.

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const hours = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
export const number = new Intl.NumberFormat();
/** The reader's time zone. */
export const zone = clock.resolvedOptions().timeZone;

/** A moment as a `time` element: the time, and the date if it is another day. The complete text appears on hover. */
export function moment(text) {
  if (!text) return "–";
  const date = new Date(text);
  const today = date.toDateString() === new Date().toDateString();
  return h("time", { datetime: text, title: whole.format(date) },
    today ? clock.format(date) : `${day.format(date)}, ${clock.format(date)}`);
}

/** Hours and minutes. */
export const minute = (date) => hours.format(date);
export const clockTime = (date) => clock.format(date);

/** The time that has passed, in a word or two. */
export function ago(text) {
  return h("time", { class: "ago", datetime: text, title: whole.format(new Date(text)) }, since(text));
}

/** Updates the texts that `ago` wrote within an element. */
export function goOn(element) {
  for (const time of element.querySelectorAll("time.ago")) time.textContent = since(time.dateTime);
}

/** The current text of `ago`. */
function since(text) {
  const seconds = Math.max(0, Math.round((Date.now() - new Date(text)) / 1000));
  return seconds < 5 ? "now" : `${duration(seconds)} ago`;
}

/** Seconds in the largest unit that fits. */
export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 90) return `${Math.round(seconds * 10) / 10 >= 10 ? Math.round(seconds) : Math.round(seconds * 10) / 10} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

/** A short label with a color: `good`, `warn`, `bad`, `calm` or none. */
export const badge = (text, kind, title) => h("span", { class: `badge ${kind ?? ""}`, title }, text);

/** A heading, with elements beside it. */
export const heading = (title, ...beside) =>
  h("div", { class: "heading" }, h("h1", {}, title), h("div", { class: "beside" }, beside));

/** A section of a page with a small heading. */
export const panel = (title, ...content) =>
  h("section", { class: "panel" }, title && h("h2", {}, title), content);

/** A text for a place where there is nothing to show. */
export const empty = (...text) => h("p", { class: "empty" }, text);

/** A problem as the API reports it. */
export const problem = (error) =>
  h("div", { class: "problem", role: "alert" }, h("strong", {}, error.title ?? "The request failed"), " ",
    error.detail ?? error.message, error.fix && h("span", { class: "fix" }, error.fix));

/** Indented JSON. */
export const json = (value) => h("pre", { class: "json", tabindex: "0" }, JSON.stringify(value, null, 2));

/** A table: column heads, and rows of cells. A wide table scrolls on its own. */
export function table(heads, rows, caption) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, rows.map((row) => row instanceof Node ? row : h("tr", {}, row.map((cell) => h("td", {}, cell)))))));
}

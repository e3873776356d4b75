// A phone's lock screen and Dynamic Island, drawn from a content state and the type's view description.
// It shows what was sent to the phone, not the app's own design.

import { h, s, clockTime } from "./dom.js";

/** The value at a JSON Pointer (RFC 6901) in the state, otherwise in the attributes. */
export function look(pointer, state, attributes) {
  const walk = (value) => pointer.split("/").slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((value, part) => value !== null && typeof value === "object" ? value[part] : undefined, value);
  const found = walk(state ?? {});
  return found === undefined || found === null ? walk(attributes ?? {}) : found;
}

/** Fills the places of a text: `{/pointer|otherwise}`. `{{` is a literal brace. */
export function phrase(text, state, attributes) {
  return text.replace(/\{\{|\}\}|\{(\/[^}|]*)(?:\|([^}]*))?\}/g, (all, pointer, otherwise) => {
    if (all === "{{") return "{";
    if (all === "}}") return "}";
    const value = look(pointer, state, attributes);
    return ["string", "number", "boolean"].includes(typeof value) && `${value}`.trim() ? `${value}`
      : otherwise ?? "";
  });
}

/** A date in a state: text, seconds since 2001 as Swift writes them, or seconds since 1970. */
function date(value) {
  if (typeof value === "string") return new Date(value);
  if (typeof value !== "number") return null;
  return new Date((value < 978307200 ? value + 978307200 : value) * 1000);
}

// Islet's own drawings for the meanings of a few of Apple's symbols.
const symbols = {
  bicycle: ["M5.5 19a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM18.5 19a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z",
    "M5.5 15.5L9 8.5h6.5l3 7M9 8.5l3 7h-6.5M12 15.5l4-5M14.5 6h2.5M7.5 6.5h3"],
  shippingbox: ["M4 8l8-4 8 4v8l-8 4-8-4zM4 8l8 4 8-4M12 12v8"],
  timer: ["M12 20.5a7.5 7.5 0 1 0 0-15 7.5 7.5 0 0 0 0 15zM12 9v4l2.5 1.5M10 2.5h4"],
  star: ["M12 3.5l2.6 5.4 5.9.8-4.3 4.1 1.1 5.9-5.3-2.9-5.3 2.9 1.1-5.9L3.5 9.7l5.9-.8z"],
  bell: ["M6.5 16v-5a5.5 5.5 0 0 1 11 0v5l1.5 2H5zM10.5 20.5h3"],
  shield: ["M12 3l7.5 3v5.5c0 4.5-3 8-7.5 9.5-4.5-1.5-7.5-5-7.5-9.5V6z"],
  car: ["M4 16.5V12l2-5h12l2 5v4.5zM7 18.5v-2M17 18.5v-2M4 12h16"],
  cart: ["M3 5h2.5l2 10h9.5l2-7H6.5M9 19h.1M16 19h.1"],
  checkmark: ["M5 13l4.5 4.5L19 7"],
  flame: ["M12 3c1 4 5 5.5 5 10.5a5 5 0 0 1-10 0c0-2 1-3 1.5-4 1 1.5 1.5 2 2 2 .5-3-.5-6 1.5-8.5z"],
  heart: ["M12 20c-6-4.5-8-7.5-8-10.5a4 4 0 0 1 8-1.5 4 4 0 0 1 8 1.5c0 3-2 6-8 10.5z"],
};

/** A symbol by its name, such as `bicycle` or `bell.fill`. A symbol without a drawing is a dot in a circle. */
function symbol(name) {
  const paths = symbols[name] ?? symbols[name?.split(".")[0]] ?? ["M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM12 12h.1"];
  return s("svg", { viewBox: "0 0 24 24", class: "symbol", "aria-hidden": "true" }, paths.map((d) => s("path", { d })));
}

/** The texts of a card, by the type's view. Without a view its fields are listed. */
export function reading(type, state, attributes) {
  const view = type?.view;
  const told = { title: type?.type ?? "Activity", subtitle: "", progress: null, ends: null, image: null, fields: [] };
  if (!view) {
    told.fields = Object.entries(state ?? {}).slice(0, 6)
      .map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : `${value}`]);
    return told;
  }
  if (view.title) told.title = phrase(view.title, state, attributes) || told.title;
  if (view.subtitle) told.subtitle = phrase(view.subtitle, state, attributes);
  if (view.progress) {
    const value = look(view.progress, state, attributes);
    if (typeof value === "number") told.progress = Math.min(1, Math.max(0, value > 1 ? value / 100 : value));
  }
  if (view.countdown) told.ends = date(look(view.countdown, state, attributes));
  if (view.image) told.image = phrase(view.image, state, attributes);
  return told;
}

function left(ends, now) {
  const seconds = Math.max(0, Math.round((ends - now) / 1000));
  const two = (value) => `${value}`.padStart(2, "0");
  return seconds >= 3600 ? `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
    : `${Math.floor(seconds / 60)}:${two(seconds % 60)}`;
}

/**
 * One card.
 * @param card `{type, state, attributes, look}`; `look` is `active`, `stale`, `ended`, `waiting`.
 */
export function card(card, now = new Date()) {
  const told = reading(card.type, card.state, card.attributes);
  const bar = told.progress !== null && h("div", {
    class: "bar", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100",
    "aria-valuenow": Math.round(told.progress * 100), "aria-label": "Progress",
  }, h("i", { wide: `${Math.round(told.progress * 100)}%` }));
  return h("article", { class: `card ${card.look ?? "active"}` },
    h("div", { class: "row" }, told.image && symbol(told.image),
      h("div", { class: "words" }, h("b", {}, told.title), told.subtitle && h("span", {}, told.subtitle)),
      told.ends && h("span", { class: "countdown" }, left(told.ends, now))),
    bar,
    told.fields.length > 0 && h("dl", { class: "fields" },
      told.fields.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    card.note && h("p", { class: "card-note" }, card.note));
}

function island(first, now) {
  if (!first) return h("div", { class: "island" });
  const told = reading(first.type, first.state, first.attributes);
  return h("div", { class: `island live ${first.look ?? ""}`, role: "img", "aria-label": `Dynamic Island: ${told.title}` },
    told.image ? symbol(told.image) : h("i", { class: "dot" }),
    h("span", {}, told.ends ? left(told.ends, now)
      : told.progress !== null ? `${Math.round(told.progress * 100)} %` : told.title.slice(0, 8)));
}

/**
 * A phone.
 * @param phone `{name, detail, cards, notifications, off, at}`; `off` is the reason why its screen shows nothing.
 */
export function phone({ name, detail, cards, notifications = [], off, at }) {
  const now = at ?? new Date();
  const running = cards.filter((card) => card.look !== "ended" && card.look !== "waiting");
  return h("figure", { class: `phone ${off ? "off" : ""}` },
    h("div", { class: "screen" }, island(running[0], now),
      h("p", { class: "clock" }, clockTime(now).replace(/^(\d+\D\d+).*$/, "$1")),
      off && h("p", { class: "offline" }, off),
      h("div", { class: "stack" },
        cards.length === 0 && notifications.length === 0 && h("p", { class: "bare" }, "No Live Activity"),
        cards.map((one) => card(one, now)),
        notifications.slice(-3).reverse().map((one) => h("article", { class: "card notification" },
          h("b", {}, one.title ?? ""), one.body && h("span", {}, one.body))))),
    h("figcaption", {}, h("b", {}, name), detail && h("span", {}, detail)));
}

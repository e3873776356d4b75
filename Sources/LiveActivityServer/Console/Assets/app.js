// The frame: sign-in, the pages, and the navigation between them.

import { fill, h, say, problem, badge } from "./dom.js";
import * as server from "./server.js";
import { now } from "./now.js";
import { activities } from "./activities.js";
import { phones } from "./phones.js";
import { compose } from "./compose.js";
import { diagnose } from "./diagnose.js";
import { webhooks } from "./webhooks.js";
import { channels } from "./channels.js";
import { nodes } from "./nodes.js";
import { settings } from "./settings.js";

const pages = [
  { name: "now", title: "Now", show: now, scope: "read" },
  { name: "activities", title: "Activities", show: activities, scope: "read" },
  { name: "phones", title: "Phones", show: phones, scope: "read" },
  { name: "compose", title: "Compose", show: compose, scope: "backend" },
  { name: "diagnose", title: "Diagnose", show: diagnose, scope: "read" },
  { name: "webhooks", title: "Webhooks", show: webhooks, scope: "read" },
  { name: "channels", title: "Channels", show: channels, scope: "read" },
  { name: "nodes", title: "Nodes", show: nodes, scope: "read" },
  { name: "settings", title: "Settings", show: settings, scope: null },
];

const main = document.getElementById("main");
let leave = new AbortController();

function frame() {
  const signedIn = server.visitor !== null;
  document.getElementById("top").hidden = !signedIn;
  document.body.classList.toggle("signed-in", signedIn);
  if (!signedIn) return;
  const open = pages.filter((page) => page.scope === null || server.may(page.scope));
  fill(document.getElementById("nav"),
    open.map((page) => h("a", { href: `#/${page.name}`, id: `to-${page.name}` }, page.title)));
  fill(document.getElementById("who"),
    h("div", { class: "app" }, h("span", { title: "The app of your key" }, server.visitor.app),
      badge(server.visitor.scope, "", "What your key may do"),
      server.visitor.simulator && badge("development", "warn", "Pushes go to simulated phones, not to Apple")),
    h("button", { class: "quiet", type: "button", onclick: () => server.signOut().catch(() => {}) }, "Sign out"));
}

/** Shows the page that the address names. */
async function show() {
  leave.abort();
  leave = new AbortController();
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  const open = pages.filter((page) => page.scope === null || server.may(page.scope));
  const page = open.find((page) => page.name === name) ?? open[0];
  document.title = `${page.title} · Islet`;
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.id === `to-${page.name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const place = h("div", { class: "page" });
  fill(main, place);
  window.scrollTo(0, 0);
  try {
    await page.show(place, {
      rest: rest.map(decodeURIComponent), query: new URLSearchParams(query ?? ""), signal: leave.signal,
    });
  } catch (error) {
    if (error.name !== "AbortError") fill(place, problem(error));
  }
}

function askForKey(error) {
  leave.abort();
  frame();
  document.title = "Sign in · Islet";
  const field = h("input", {
    id: "key", type: "password", required: true, autocomplete: "off", spellcheck: "false",
    placeholder: "islet_…", "aria-describedby": "key-note",
  });
  const said = h("div", {}, error && problem(error));
  const form = h("form", { class: "sign-in panel" },
    h("img", { src: "/console/icon.svg", alt: "", height: "44" }),
    h("h1", {}, "Islet"),
    h("label", { for: "key" }, "API key"), field,
    h("p", { id: "key-note", class: "note" }, "The key is exchanged for a session of this browser and is not stored. ",
      h("code", {}, "islet keys create --app APP --scope read"), " creates a key that can only read."),
    said, h("button", { class: "main", type: "submit" }, "Sign in"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await server.signIn(field.value.trim());
      field.value = "";
      begin();
    } catch (error) {
      fill(said, problem(error));
      field.focus();
    }
  });
  fill(main, form);
  field.focus();
}

function begin() {
  frame();
  say("Signed in");
  if (!location.hash.startsWith("#/")) history.replaceState(null, "", "#/now");
  show();
}

server.whenSignedOut(() => askForKey());
window.addEventListener("hashchange", () => {
  if (!server.visitor || !location.hash.startsWith("#/")) return;
  show();
  // People who cannot see the page hear its title, and continue at its beginning.
  main.focus({ preventScroll: true });
  say(document.title);
});
document.querySelector(".skip").addEventListener("click", (event) => {
  // In the address it would be read as the name of a page.
  event.preventDefault();
  main.focus();
});

// A link with a key, as `islet serve --dev` prints it. The part behind `#` is sent nowhere and is removed. A server
// that is not in development refuses it, and an existing session continues.
const goOn = () => server.resume().then((found) => found ? begin() : askForKey());
const given = location.hash.match(/^#key=(.+)$/)?.[1];
if (given) {
  history.replaceState(null, "", location.pathname);
  server.signIn(decodeURIComponent(given), { isFromLink: true }).then(begin, goOn);
} else {
  goOn();
}

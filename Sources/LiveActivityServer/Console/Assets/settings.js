// Settings: the configuration, read-only. It is changed in islet.yaml and with `islet keys`.

import { add, badge, empty, fill, h, heading, json, moment, panel, problem, table, zone } from "./dom.js";
import { activityTypes, get, may, visitor } from "./server.js";
import { card } from "./phone.js";
import { whatIf } from "./whatif.js";

/** The values of a policy as a list. */
function values(object, prefix = "") {
  return Object.entries(object).sort(([a], [b]) => a.localeCompare(b)).flatMap(([name, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value) ? values(value, `${prefix}${name}.`)
      : [[h("dt", {}, prefix + name), h("dd", {}, typeof value === "string" ? value : JSON.stringify(value))]]);
}

/** A sample state for a picture of the view. */
function sample(schema) {
  const defs = (ref) => ref?.split("/").slice(1).reduce((value, name) => value?.[name], schema);
  return Object.fromEntries(Object.entries(schema?.properties ?? {}).map(([name, given]) => {
    const found = given.$ref ? defs(given.$ref) : given;
    const type = [found?.type].flat().find((one) => one !== "null");
    if (found?.enum) return [name, found.enum.find((one) => one !== null)];
    if (type === "integer") return [name, 12];
    if (type === "number") return [name, found.maximum === 1 ? 0.6 : (Date.now() / 1000 - 978307200 + 754)];
    return [name, type === "string" ? name : type === "boolean" ? true : []];
  }));
}

export async function settings(place, { signal }) {
  const keys = h("div", {}, empty("…")), types = h("div", {});
  add(place, [heading("Settings"), panel("This session", h("dl", { class: "facts" },
    h("dt", {}, "App"), h("dd", {}, visitor.app), h("dt", {}, "Key"), h("dd", {}, h("code", {}, `islet_${visitor.key}_…`)),
    h("dt", {}, "Scope"), h("dd", {}, badge(visitor.scope)), h("dt", {}, "Server"), h("dd", {}, visitor.version || "–"),
    h("dt", {}, "Times"), h("dd", {}, zone))), panel("Keys", keys), types]);

  if (may("backend") || may("admin")) {
    try {
      const list = await get("/v1/keys", signal);
      fill(keys, table(["Key", "Scope", "Name", "State", "Created", "Last used", "Expires"], list.keys.map((key) => [
        h("code", {}, `islet_${key.id}_…`), badge(key.scope), key.name ?? "–",
        badge(key.standing, key.standing === "valid" ? "good" : "bad"), moment(key.createdAt), moment(key.usedAt),
        key.expiresAt ? moment(key.expiresAt) : "never"]), "API keys"), h("p", { class: "note" },
      "Create and revoke keys with ", h("code", {}, "islet keys"), ". A key is shown only once, when it is created."));
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(keys, problem(error));
    }
  } else fill(keys, empty("A key of the scope ", h("code", {}, visitor.scope), " cannot list keys."));

  if (!may("read")) return;
  const all = await activityTypes();
  fill(types, [...all.values()].map((type) => panel(type.type, h("div", { class: "type" },
    h("div", {}, h("dl", { class: "facts" }, h("dt", {}, "Swift type"), h("dd", {}, h("code", {}, type.attributesType)),
      h("dt", {}, "Activity id attribute"), h("dd", {}, type.activityIDAttribute ? h("code", {}, type.activityIDAttribute) : "none"),
      h("dt", {}, "States come from"), h("dd", {}, type.isProvided ? "a provider" : "the backend's calls")),
    type.view && h("div", { class: "sample" }, card({ type, state: sample(type.contract?.contentState),
      attributes: sample(type.contract?.attributes), look: "active" })),
    h("details", {}, h("summary", {}, "Contract"), type.contract ? json(type.contract) : empty("None: the server accepts any object."))),
    h("details", { open: all.size === 1 }, h("summary", {}, "Policy"), h("dl", { class: "facts" }, values(type.policy))),
    whatIf(type, signal)))));
}

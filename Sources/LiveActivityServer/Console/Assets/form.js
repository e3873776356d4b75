// A form made from a contract, with one field for each member of an object. It converts its values to JSON.

import { h } from "./dom.js";

/** A schema with its reference resolved, and its nullability. */
function resolve(schema, root) {
  let found = schema ?? {};
  for (let depth = 0; found.$ref && depth < 8; depth++) {
    const part = found.$ref.split("/").slice(1).reduce((value, name) => value?.[name], root);
    found = { ...part, ...Object.fromEntries(Object.entries(found).filter(([name]) => name !== "$ref")) };
  }
  const given = [found.type ?? (found.enum ? typeof found.enum[0] : undefined)].flat();
  const swift = found["x-swift"];
  return {
    ...found, nullable: given.includes("null"), type: given.find((type) => type !== "null"),
    swift: typeof swift === "string" ? swift : swift?.type,
  };
}

const local = (date) => new Date(date - date.getTimezoneOffset() * 60000).toISOString().slice(0, 19);

/** The text of a field for an existing value. */
function textOf(value, schema) {
  if (value === undefined || value === null) return "";
  if (schema.swift === "Date" && typeof value === "number") return local(new Date((value + 978307200) * 1000));
  if (schema.swift === "Date" && typeof value === "string" && !Number.isNaN(Date.parse(value))) return local(new Date(value));
  return typeof value === "object" ? JSON.stringify(value) : `${value}`;
}

function control(id, schema, isRequired, value) {
  const common = { id, required: isRequired || undefined, "aria-describedby": `${id}-error` };
  if (schema.enum) {
    return h("select", common, !isRequired && h("option", { value: "" }, "–"),
      schema.enum.filter((one) => one !== null).map((one) =>
        h("option", { value: JSON.stringify(one), selected: one === value }, `${one}`)));
  }
  if (schema.type === "boolean" && isRequired) {
    return h("input", { ...common, required: undefined, type: "checkbox", checked: value === true });
  }
  if (schema.type === "boolean") {
    return h("select", common, h("option", { value: "" }, "–"), [true, false].map((one) =>
      h("option", { value: `${one}`, selected: one === value }, `${one}`)));
  }
  if (schema.swift === "Date") {
    return h("input", { ...common, type: "datetime-local", step: 1, value: textOf(value, schema) });
  }
  if (schema.type === "number" || schema.type === "integer") {
    return h("input", { ...common, type: "number", step: schema.type === "integer" ? 1 : "any",
      min: schema.minimum, max: schema.maximum, value: textOf(value, schema) });
  }
  if (schema.type === "string") return h("input", { ...common, type: "text", value: textOf(value, schema) });
  return h("textarea", { ...common, rows: 3, spellcheck: "false", placeholder: "JSON", value: textOf(value, schema) });
}

/** The text that a person sees in a field. */
const inField = (field) => field.type === "checkbox" ? `${field.checked}` : field.value;

/** The value of a field. Undefined for an empty field. Throws if the text is not JSON. */
function valueOf(field, schema) {
  if (field.type === "checkbox") return field.checked;
  const text = field.value;
  if (text === "" && !(schema.type === "string" && field.required && !schema.enum)) return undefined;
  if (schema.enum || schema.type === "boolean") return JSON.parse(text);
  // The API accepts numbers and text. Text states the time zone.
  if (schema.swift === "Date") return new Date(text).toISOString();
  if (schema.type === "number" || schema.type === "integer") return Number(text);
  if (schema.type === "string") return text;
  return JSON.parse(text);
}

/**
 * A form for an object.
 * @param schema The object's schema, or undefined for any object.
 * @param part The member of the call's body: `state` or `attributes`.
 * @returns `{element, value(), errors(list)}`; `value` throws if a person must correct a field.
 */
export function form(title, schema, part, given, hidden = []) {
  const root = schema ?? {};
  const names = Object.keys(root.properties ?? {}).filter((name) => !hidden.includes(name));
  const required = new Set(root.required ?? []);
  const fields = names.map((name) => {
    const found = resolve(root.properties[name], root);
    const id = `${part}-${name}`;
    const isRequired = required.has(name) && !found.nullable;
    const first = given?.[name] ?? found.default;
    const element = control(id, found, isRequired, first);
    const error = h("p", { class: "field-error", id: `${id}-error`, role: "alert" });
    const hint = [found.type, found.swift && found.swift !== found.type && found.swift,
      found.minimum !== undefined && `from ${found.minimum}`, found.maximum !== undefined && `to ${found.maximum}`,
      !isRequired && "optional"].filter(Boolean).join(", ");
    return { name, found, element, error, given: first, untouched: inField(element), row: h("div", { class: "field" },
      h("label", { for: id }, name, h("small", {}, hint)), element, error) };
  });
  const raw = h("textarea", { id: `${part}-json`, rows: 8, spellcheck: "false", class: "code",
    "aria-describedby": `${part}-json-error`, value: JSON.stringify(given ?? {}, null, 2) });
  const rawError = h("p", { class: "field-error", id: `${part}-json-error`, role: "alert" });
  const byField = h("div", { class: "grid" }, fields.map((field) => field.row));
  const byText = h("div", {}, h("label", { for: `${part}-json`, class: "unseen" }, `${title} as JSON`), raw, rawError);
  const isText = () => byField.hidden;
  const toggle = h("button", { type: "button", class: "quiet" });

  const fromFields = () => {
    const object = {};
    for (const field of fields) {
      // A field may show less than its value contains, so an untouched field keeps its value.
      if (field.given !== undefined && inField(field.element) === field.untouched) {
        object[field.name] = field.given;
        continue;
      }
      let value;
      try { value = valueOf(field.element, field.found); } catch { throw new Error(`${field.name} is not valid JSON`); }
      if (value !== undefined && !Number.isNaN(value)) object[field.name] = value;
    }
    return object;
  };
  const show = (text) => {
    byField.hidden = text;
    byText.hidden = !text;
    toggle.textContent = text ? "Fields" : "JSON";
    toggle.hidden = names.length === 0;
  };
  toggle.addEventListener("click", () => {
    if (isText()) {
      let object;
      try { object = JSON.parse(raw.value); } catch { rawError.textContent = "This is not valid JSON."; return; }
      for (const field of fields) {
        const value = object[field.name];
        if (field.element.type === "checkbox") field.element.checked = value === true;
        else if (field.found.enum) field.element.value = value === undefined ? "" : JSON.stringify(value);
        else field.element.value = textOf(value, field.found);
        Object.assign(field, { given: value, untouched: inField(field.element) });
      }
      show(false);
    } else {
      try { raw.value = JSON.stringify(fromFields(), null, 2); } catch { /* what is there stays */ }
      show(true);
    }
    element.dispatchEvent(new Event("input", { bubbles: true }));
  });
  const element = h("fieldset", { class: "panel" }, h("legend", {}, title), toggle, byField, byText);
  show(names.length === 0);
  return {
    element,
    value() {
      rawError.textContent = "";
      if (!isText()) return fromFields();
      let value;
      try { value = JSON.parse(raw.value); } catch (error) { rawError.textContent = error.message; throw new Error(`${title} is not valid JSON`); }
      if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error(`${title} must be a JSON object`);
      return value;
    },
    /** Shows the server's errors at their fields. Returns the errors that have no field here. */
    errors(list) {
      for (const field of fields) {
        field.error.textContent = "";
        field.element.removeAttribute("aria-invalid");
      }
      rawError.textContent = "";
      return list.filter(({ pointer = "", expected, given, fix }) => {
        const [, where, name] = pointer.split("/");
        if (where !== part) return true;
        const text = `${isText() ? `${pointer}: ` : ""}${expected} expected${given ? `, ${given} given` : ""}${fix ? `; ${fix}` : ""}`;
        const field = !isText() && fields.find((field) => field.name === name);
        if (!field && !isText()) return true;
        if (field) field.element.setAttribute("aria-invalid", "true");
        (field ? field.error : rawError).textContent += `${(field ? field.error : rawError).textContent ? " " : ""}${text}`;
        return false;
      });
    },
  };
}

// The session and its calls. They are calls of the API, so a page may do what the key may do.

/** An answer that is a problem document (RFC 9457). */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? `HTTP ${status}`);
    Object.assign(this, body, { status });
  }
}

/** The signed-in caller: `app`, `scope`, `token`, `simulator`. Null if nobody is signed in. */
export let visitor = null;

let onSignedOut = () => {};
/** Sets a function to call when the session is over. */
export const whenSignedOut = (callback) => { onSignedOut = callback; };

/** Calls the API. Throws a `Problem` for anything but success. */
export async function call(method, path, body, signal, given = {}) {
  const headers = { ...given };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET" && visitor) headers["Islet-Console-Token"] = visitor.token;
  let response;
  try {
    response = await fetch(path, {
      method, headers, signal, credentials: "same-origin", cache: "no-store", redirect: "error",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { title: "The server does not answer", detail: "The server may be restarting. The page tries again." });
  }
  const text = await response.text();
  let value = {};
  try { value = text ? JSON.parse(text) : {}; } catch { /* not JSON: the status has to say it */ }
  if (response.ok) return value;
  if (response.status === 401 && visitor && !path.startsWith("/console/session")) {
    visitor = null;
    onSignedOut();
  }
  throw new Problem(response.status, value);
}

export const get = (path, signal) => call("GET", path, undefined, signal);

/** Resumes the browser's session. Returns false if there is none. */
export async function resume() {
  // Asks only if there may be a session, so that a page without one makes no call that fails.
  if (!localStorage.getItem("islet-signed-in")) return false;
  try {
    visitor = await get("/console/session");
    return true;
  } catch (error) {
    if (error.status === 401) localStorage.removeItem("islet-signed-in");
    return false;
  }
}

export async function signIn(key, { isFromLink = false } = {}) {
  visitor = await call("POST", "/console/session", isFromLink ? { key, isFromLink } : { key });
  types = undefined;
  // Stores only that there is a session. The session itself is in a cookie that no script can read.
  localStorage.setItem("islet-signed-in", "yes");
}

export async function signOut() {
  try { await call("DELETE", "/console/session"); } finally {
    visitor = null;
    types = undefined;
    localStorage.removeItem("islet-signed-in");
    onSignedOut();
  }
}

/** Returns true if the key may make calls of this scope. */
export const may = (scope) => visitor?.scope === scope
  || (visitor?.scope === "backend" && ["read", "device"].includes(scope));

/** A path with ids in it. */
export const path = (parts, ...ids) => parts.reduce((all, part, index) =>
  all + part + (index < ids.length ? encodeURIComponent(ids[index]) : ""), "");

let types;
/** The app's activity types by name. They are requested once in a session. */
export async function activityTypes() {
  types ??= get("/v1/types").then((answer) => new Map(answer.types.map((type) => [type.type, type])));
  try { return await types; } catch (error) { types = undefined; throw error; }
}

/**
 * All pages of a list, and whether there is more. `most` limits the number of rows that are read. A page may have few
 * rows if most activities do not match.
 */
export async function pages(path, member, most = 2000) {
  const all = [];
  let next, calls = 0;
  do {
    calls += 1;
    const answer = await get(path + (next ? `&after=${encodeURIComponent(next)}` : ""));
    all.push(...answer[member]);
    next = answer.next;
  } while (next && all.length < most && calls < 50);
  return { rows: all, isPart: next !== undefined };
}

/** Sorts activities, the most recently changed first. */
export const byChange = (rows) => rows.sort((a, b) => b.updatedAt.localeCompare(a.updatedAt));

/** The `most` newest running activities, the most recently changed first, and whether there are older ones. */
export async function runningActivities(most) {
  const answer = await get(`/v1/activities?phase=active&newest=true&limit=${most}`);
  return { rows: byChange(answer.activities), isPart: answer.next !== undefined };
}

/**
 * Server-sent events until the signal aborts. A browser does not reopen a stream that the server refused, so it is
 * reopened here after a while.
 * @param hear `{open(), event(data), lost()}`
 */
export function follow(path, name, signal, hear) {
  let source, timer, wait = 1000;
  const open = () => {
    source = new EventSource(path);
    source.addEventListener("open", () => { wait = 1000; });
    source.addEventListener(name, (event) => hear.event(JSON.parse(event.data)));
    source.addEventListener("error", () => {
      hear.lost();
      if (source.readyState !== EventSource.CLOSED || signal.aborted) return;
      timer = setTimeout(open, wait);
      wait = Math.min(wait * 2, 30000);
    });
  };
  signal.addEventListener("abort", () => { clearTimeout(timer); source.close(); });
  open();
}

/**
 * Does something repeatedly until the signal aborts. Pauses while the page is hidden. A mark says while the server does
 * not answer, because the page then shows what it showed before.
 */
export function repeat(milliseconds, signal, work) {
  let timer;
  const step = async () => {
    if (signal.aborted) return;
    if (!document.hidden) {
      try {
        await work();
        mark(false);
      } catch (error) {
        if (error instanceof Problem && !error.status) mark(true);
        else if (error.name !== "AbortError" && !error.status) console.warn(error);
      }
    }
    if (!signal.aborted) timer = setTimeout(step, milliseconds);
  };
  const mark = (isLost) => { document.getElementById("lost").hidden = !isLost || signal.aborted; };
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    mark(false);
  });
  step();
}

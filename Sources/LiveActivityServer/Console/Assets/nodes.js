// Nodes: the servers that share the database, and which of them owns it.

import { add, badge, empty, fill, h, heading, panel, table } from "./dom.js";
import { get, repeat } from "./server.js";

/** A number of seconds, as people say it. */
function span(seconds) {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} d`;
}

const roles = {
  owner: ["good", "Decides, pushes and answers for all nodes"],
  door: ["", "Passes calls on to the owner, and takes over when it has gone"],
  gone: ["bad", "Was not heard of for more than five seconds"],
};

function rows(nodes) {
  const all = nodes.reduce((sum, node) => sum + node.calls, 0);
  return nodes.map((node) => [
    h("code", {}, node.address), badge(node.role, ...roles[node.role]), node.version, span(node.upSeconds),
    `${span(node.silentSeconds)} ago`, node.calls.toLocaleString("en"),
    all ? `${Math.round(100 * node.calls / all)} %` : "–"]);
}

export async function nodes(place, { signal }) {
  const list = h("div", { id: "nodes" }, empty("…"));
  add(place, [heading("Nodes"), panel("Servers on this database", list)]);
  const look = async () => {
    const found = (await get("/v1/nodes", signal)).nodes;
    fill(list, found.length
      ? [table(["Address", "Role", "Version", "Up", "Heard of", "Calls", "Share of calls"], rows(found), "Nodes"),
        h("p", { class: "note" }, "The owner does all the work. Calls are counted where callers make them, since the ",
          "node started.")]
      : empty("One server serves the database, without ", h("code", {}, "nodes"), " in its configuration."));
  };
  await look();
  repeat(2000, signal, look);
}

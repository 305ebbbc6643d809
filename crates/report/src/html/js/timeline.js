// The time line: sessions side by side, a box for each transaction from its beginning to its end.

/** Transactions of one session that overlap stand beside each other. */
function lanesOf(timeline) {
  const spans = new Map();
  timeline.rows.forEach((row, at) => {
    if (row.part < 0 || row.column < 0) return;
    const span = spans.get(row.part) || { part: row.part, column: row.column, from: at, to: at };
    span.to = at;
    spans.set(row.part, span);
  });
  const lanes = timeline.columns.map(() => []);
  for (const span of [...spans.values()].sort((a, b) => a.from - b.from)) {
    const ends = lanes[span.column];
    let lane = ends.findIndex((end) => end < span.from);
    if (lane < 0) lane = ends.length;
    ends[lane] = span.to;
    span.lane = lane;
  }
  let first = 2;
  const starts = lanes.map((ends) => {
    const start = first;
    first += Math.max(1, ends.length);
    return start;
  });
  for (const span of spans.values()) span.at = starts[span.column] + span.lane;
  return { spans, starts, widths: lanes.map((ends) => Math.max(1, ends.length)), total: first - 2 };
}

const ENDS = { committed: "commit", aborted: "abort", unknown: "outcome unknown" };

function rowNode(body, row) {
  const part = body.parts[row.part];
  switch (row.what) {
    case "begin":
      return el("button.name", { type: "button", "data-part": row.part, "aria-pressed": "false" }, part.name);
    case "end":
      return el(`span.end.${part.outcome}`, null, ENDS[part.outcome]);
    case "op":
      return opNode(body, row.part, row.a);
    case "fold": {
      const ops = [];
      for (let at = row.a; at < row.a + row.b; at += 1) ops.push(opNode(body, row.part, at));
      return el("details.fold", null, el("summary", null, `${grouped(row.b)} more operations`),
        el("div.folded", null, ops));
    }
    case "left":
      return el("span.left", null, `${grouped(row.a)} more operations, not kept`);
    default:
      return null;
  }
}

function timelineNode(body) {
  const { timeline } = body;
  const { spans, starts, widths, total } = lanesOf(timeline);
  const grid = el("div.timeline");
  const timed = timeline.rows.some((row) => row.time);
  grid.style.gridTemplateColumns =
    `${timed ? "minmax(3.5rem,max-content)" : "0"} repeat(${total}, minmax(var(--lane), 20rem))`;
  const put = (node, row, column, span) => {
    node.style.gridRow = row;
    node.style.gridColumn = span ? `${column} / span ${span}` : column;
    grid.append(node);
  };
  if (timed) put(el("div.unit", null, timeline.unit), 1, 1);
  timeline.columns.forEach((name, at) => {
    put(el("div.session", { title: `session ${name}` }, name), 1, starts[at], widths[at]);
  });
  for (const span of spans.values()) {
    const { support, outcome } = body.parts[span.part];
    const box = el(`div.box.${outcome}`, { "data-part": span.part, "aria-hidden": "true" });
    if (support) box.classList.add("support");
    put(box, `${span.from + 2} / ${span.to + 3}`, span.at);
  }
  timeline.rows.forEach((row, at) => {
    if (row.time) put(el("div.time", null, row.time), at + 2, 1);
    if (row.what === "event") {
      put(el("div.event", null, calm(text(row.a))), at + 2, 2, total);
      return;
    }
    const node = rowNode(body, row);
    if (!node) return;
    put(el(`div.cell.${row.what}`, null, node), at + 2, spans.get(row.part).at);
  });
  return el("div.scroll", { tabindex: "0", role: "region", "aria-label": "Time line" }, grid);
}

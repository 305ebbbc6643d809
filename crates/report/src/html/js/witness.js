// One witness in full.

const KINDS = {
  so: "session order",
  rt: "real time",
  wr: "read what was written",
  ww: "overwrote what was written",
  rw: "overwrote what was read",
};
const STATES = ["holds", "violated", "unknown", "no-violation"];

const escapeXml = (label) => label
  // Characters that XML does not allow would spoil the file.
  .replace(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g, "\uFFFD")
  .replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** The picture as SVG: the template with its names. */
function pictureText({ template, labels }) {
  const at = (all, number) => (Number(number) < labels.length ? escapeXml(labels[Number(number)]) : all);
  return raw.pictures[template].replace(/\{(\d+)\}/g, at);
}

/** The picture as a file of its own, with its colours. */
function pictureFile(picture) {
  const rules = find("picture-colours").textContent + find("picture-rules").textContent;
  const within = `<style>${rules}</style><rect class="paper" width="100%" height="100%"/>`;
  const svg = pictureText(picture).replace(/^<svg([^>]*)>/, (all, rest) =>
    `<svg xmlns="http://www.w3.org/2000/svg"${rest}>${within}`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${svg}\n`;
}

/** Whether the picture is one of dependencies, and not of times. */
const hasArrows = (body) => body.facts.length === 0 || raw.pictures[body.picture.template].includes('class="graph"');

function pictureNode(body) {
  const label = hasArrows(body) ? "Dependencies" : "What happened when";
  const holder = el("div.picture.scroll", { tabindex: "0", role: "group", "aria-label": label });
  holder.innerHTML = pictureText(body.picture);
  // What an edge says is its title; the button is told by it.
  const once = new Set();
  for (const node of holder.querySelectorAll("[data-link],[data-part]")) {
    const { kind, id } = subjectOf(node);
    if (once.has(kind + id) || !node.querySelector("title")) continue;
    once.add(kind + id);
    node.setAttribute("tabindex", "0");
    node.setAttribute("role", "button");
    node.setAttribute("aria-pressed", "false");
  }
  return holder;
}

function legend(body) {
  const used = [...new Set(body.links.map((link) => link.kind))];
  const item = (kind) => el("li", null, kindNode(kind), KINDS[kind] || kind);
  return el("ul.legend", { "aria-label": "Kinds of dependency" }, used.map(item));
}

const kindNode = (kind) => el(`span.kind.k-${kind}`, { title: KINDS[kind] || kind }, kind);

function edgeNode(link, at) {
  const row = el("button.edge", { type: "button", "data-link": at, "aria-pressed": "false" },
    kindNode(link.kind), el("span", null, link.sentence));
  if (link.inferred) row.append(el("span.tag", null, "inferred"));
  const why = link.because.length > 0 && el("details.because", null,
    el("summary", null, "Why this must be"),
    el("p", null, link.because[0]),
    link.because.length > 1 && el("ol", null, link.because.slice(1).map((step) => el("li", null, step))));
  return el("li", null, row, why);
}

function edgesNode(body) {
  const of = (role) => body.links.map((link, at) => [link, at]).filter(([link]) => link.role === role);
  const list = (tag, links) => el(tag, null, links.map(([link, at]) => edgeNode(link, at)));
  const [cycle, reasons, context] = ["cycle", "reason", "context"].map(of);
  const cited = body.stuck && stuckNode(body);
  if (!cited && cycle.length + reasons.length + context.length === 0) return null;
  const title = cycle.length ? "The cycle, step by step" : body.stuck ? "The longest order" : "What binds them";
  return el("section.edges", null,
    el("h3", null, title),
    cited,
    cycle.length > 0 && list("ol.steps", cycle),
    reasons.length > 0 && el("h4", null, "What shows that"),
    reasons.length > 0 && list("ul.steps", reasons),
    context.length > 0 && el("h4", null, "Where the values came from"),
    context.length > 0 && list("ul.steps", context));
}

function stuckNode(body) {
  const chip = (part) => {
    const { name, ops } = body.parts[part];
    const op = ops.find((one) => one.cited) || ops[0];
    return el("button.chip", { type: "button", "data-part": part, "aria-pressed": "false" },
      el("b", null, name), op ? ` ${op.text}` : "");
  };
  const { order, next, why } = body.stuck;
  const cannot = el("li.cannot", null, chip(next), el("span", null, "cannot come next"));
  return el("div.stuck", null,
    el("ol.order", null, order.map((part) => el("li", null, chip(part))), cannot),
    el("p.why", null, why));
}

/** A transaction as the notation writes it, its operations marked where they stand. */
function lineNode(body, part) {
  const code = el("code.line");
  let plain = "";
  const flush = () => {
    code.append(plain);
    plain = "";
  };
  const characters = [...body.parts[part].line];
  for (let i = 0; i < characters.length; i += 1) {
    const number = characters[i].codePointAt(0);
    if (number === 0xF8FF) {
      i += 1;
      plain += characters[i] || "";
    } else if (number >= 0xE000 && number < 0xF8FF) {
      flush();
      code.append(opNode(body, part, number - 0xE000) || "");
    } else {
      plain += characters[i];
    }
  }
  flush();
  return code;
}

function rawNode(body) {
  const cycle = body.links.some((link) => link.role === "cycle");
  const one = (part, at) => el("li", { "data-part": at },
    el("div.who", null, el("b", null, part.name),
      el("span.muted", null, `session `, el("bdi", null, part.session)),
      el(`span.outcome.${part.outcome}`, null, part.outcome),
      part.support && el("span.tag", null, cycle ? "not in the cycle" : "also involved")),
    lineNode(body, at),
    part.leftOut && el("p.muted", null, part.leftOut));
  return el("section.raw", null,
    el("h3", null, "The transactions in full"),
    el("ul", null, body.parts.map(one)),
    body.leftOut && el("p.muted", null, body.leftOut));
}

function actionsNode(witness, body) {
  const { explain } = raw.cases[witness.history];
  const name = idOf(witness);
  const saveSvg = () => download(`${name}.svg`, "image/svg+xml", pictureFile(body.picture));
  return el("section.actions", null,
    el("h3", null, "Take it with you"),
    explain && command(`${explain} ${commandId(witness)}`, "Copy the command that explains this witness"),
    el("div.buttons", null,
      el("button.small", { type: "button", click: saveSvg }, "Save picture (.svg)"),
      body.excerpt && el("button.small", {
        type: "button",
        click: () => download(`${name}.txt`, "text/plain;charset=utf-8", body.excerpt),
      }, "Save excerpt (.txt)"),
      body.excerpt && copyButton(body.excerpt, "Copy excerpt", "Copy the excerpt as a history of its own")));
}

function promiseNode(witness, body) {
  const { level, promise } = levelOf(witness);
  const { harm } = body.anomaly;
  const named = ([name, words]) => [name[0].toUpperCase() + name.slice(1), words];
  const rows = [...body.facts.map(named), [`${level} promises that`, promise], ["Broken here, because", body.breach],
    ["What it can do", harm]];
  const shown = rows.filter(([, words]) => words);
  return shown.length > 0 && el("dl.promise", null,
    shown.map(([name, words]) => [el("dt", null, name), el("dd", null, words)]));
}

function witnessNode(witness) {
  const body = bodyOf(witness.body);
  const { meaning } = body;
  const { adya } = body.anomaly;
  const plain = (words) => words.toLowerCase().replace(/\.$/, "");
  const where = `visible after ${grouped(body.position)} transactions`;
  const root = el("div.shown", null,
    el("header", null,
      el("p.crumbs", null, el("span.state.violated", null, levelOf(witness).level), " ",
        el("code", null, idOf(witness)), adya && el("span", null, `Adya: ${adya}`), el("span", null, where)),
      el("h2", null, body.title),
      plain(meaning) !== plain(body.story) && el("p.meaning", null, meaning)),
    el("p.story", null, body.story),
    promiseNode(witness, body),
    el("figure", null, pictureNode(body), hasArrows(body) && el("figcaption", null, legend(body))),
    el("section.when", null,
      el("h3", null, "Time line"), el("p.muted", null, body.timeline.basis), timelineNode(body)),
    edgesNode(body),
    rawNode(body),
    actionsNode(witness, body));
  linkUp(root, body);
  return root;
}

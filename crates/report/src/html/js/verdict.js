// The verdicts of a history, what is known of it, and how they were found.

const MARKS = ["✓", "✕", "?", "○"];

const stateNode = (state) => el(`span.state.${STATES[state]}`, null,
  el("span", { "aria-hidden": "true" }, MARKS[state]), ` ${STATES[state].replace("-", " ")}`);

function levelRow(verdict, at, choose) {
  const found = verdict.found.map(([count, name]) => el("span.found", null, el("b", null, count), ` ${name}`));
  const name = verdict.state === 1 && found.length > 0
    ? el("button.link", { type: "button", "data-verdict": at, "aria-pressed": "false", "aria-label": verdict.level,
      click: () => choose(at) }, verdict.name)
    : el("span", null, verdict.name);
  return el("li", null, stateNode(verdict.state),
    el("span.level-name", null, name, verdict.asked && el("span.muted", null, ` ${verdict.asked}`)),
    el("span.what", null, found, verdict.reason && el("span", null, verdict.reason),
      verdict.aside && el("span.muted", null, verdict.aside)));
}

/** What was asked by the server's timestamps and snapshots and the clients' intervals, before what was asked by values. */
function levelsNode(history, choose) {
  const list = (by, title) => {
    const rows = history.verdicts.map((verdict, at) => verdict.by === by && levelRow(verdict, at, choose));
    return rows.some(Boolean) && [title && el("h3.by", null, title), el("ul.levels", null, rows)];
  };
  if (history.verdicts.every((verdict) => verdict.by === "values")) return list("values");
  return [list("timestamps", "By the server's timestamps"), list("snapshots", "By the server's snapshots"),
    list("intervals", "By the clients' intervals"),
    history.compared && el("p.compared", null, history.compared), list("values", "By values")].flat();
}

function rowsNode(name, rows) {
  return rows.length > 0 && el(name, null,
    rows.map(([term, words]) => el("div", null, el("dt", null, term), el("dd", null, words))));
}

function historiesNode(chooseHistory) {
  if (raw.cases.length < 2) return null;
  const one = (history, at) => el("li", null,
    el("button.history", { type: "button", "aria-pressed": String(at === wanted.history), click: () => chooseHistory(at) },
      stateNode(history.state), el("span", null, history.name)));
  return el("nav.histories", { "aria-label": "Histories" }, el("ul", null, raw.cases.map(one)));
}

function againNode(history) {
  return history.again.length > 0 && el("section.again", null, el("h2", null, "How to reproduce"),
    history.again.map(([what, line]) => el("div", null, el("p", null, what), command(line, `Copy the command: ${what}`))));
}

function aboutNode(history) {
  const rows = [["Name", history.name], ["Format", history.format], ...history.about];
  return el("section.about", null, el("h2", null, "About this history"),
    rowsNode("dl.rows", rows),
    el("ul.figures", null, history.figures.map(([name, n]) => el("li", null, el("b", null, n), ` ${name}`))),
    el("p.muted", null, `Read and checked in ${history.seconds}.`));
}

/** The plainest witness in its own words, first of all. */
function leadNode(history) {
  if (history.plainest === null) return null;
  const first = knownOf(wanted.history).all.find((witness) => witness.verdict === history.plainest);
  return first && el("p.lead", null, bodyOf(first.body).story, " ",
    el("a", { href: `#${idOf(first)}` }, `See ${commandId(first)}`));
}

function showVerdict(choose, chooseHistory) {
  const history = raw.cases[wanted.history];
  replace(find("verdict"),
    historiesNode(chooseHistory),
    el("div.hero", null,
      el("div.said", null,
        el(`p.headline.${STATES[history.state]}`, null, el("span.sign", { "aria-hidden": "true" }, MARKS[history.state]),
          el("span", null, history.headline)),
        leadNode(history),
        history.strongest && el("p.strongest", null, history.strongest),
        history.warnings.length > 0 && el("details.warnings", { open: history.warnings.length < 4 },
          el("summary", null, `Warnings (${history.warningCount})`),
          el("ul", null, history.warnings.map((words) => el("li", null, words)))),
        el("h2.hidden", null, "Levels"),
        levelsNode(history, choose)),
      el("div.known", null, aboutNode(history), againNode(history))));
  showCourse(history);
  showMethod(history);
}

function methodNode(verdict, open) {
  return el("details.level-method", { open },
    el("summary", null, `${verdict.level} `, stateNode(verdict.state)),
    rowsNode("dl.rows", verdict.procedure.concat(verdict.notes.map((note) => ["Note", note]))),
    el("ul.figures", null, verdict.figures.map(([name, n]) => el("li", null, el("b", null, n), ` ${name}`))));
}

/** Folded where there is something worse to look at; the level that says most comes first. */
function showMethod(history) {
  const { verdicts, decisive } = history;
  replace(find("method"), verdicts.length > 0 && el("details.method", { open: history.state !== 1 },
    el("summary", null, el("h2", null, "How this was decided")),
    el("div.methods", null, methodNode(verdicts[decisive], true),
      verdicts.filter((_, at) => at !== decisive).map((verdict) => methodNode(verdict, false)))));
}

function markLevel() {
  for (const node of find("verdict").querySelectorAll("[data-verdict]")) {
    node.setAttribute("aria-pressed", String(Number(node.getAttribute("data-verdict")) === wanted.verdict));
  }
}

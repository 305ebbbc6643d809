// Which witnesses are listed.

const MOST_OFFERED = 300;

const wanted = { history: 0, verdict: -1, anomaly: -1, key: "", session: "", text: "", range: null };

/** The numbers of texts that are, or else contain, what was typed; null if nothing was. */
function matching(typed, numbers) {
  const needle = typed.trim();
  if (!needle) return null;
  const exact = numbers.filter((number) => text(number) === needle);
  const lower = needle.toLowerCase();
  const found = exact.length ? exact : numbers.filter((number) => text(number).toLowerCase().includes(lower));
  return new Set(found);
}

const keysOf = (witness) => raw.bodies[witness.body][11];
const sessionsOf = (witness) => raw.bodies[witness.body][5].map(([txn]) => raw.txns[txn][1]);

/** How often each number occurs. */
function tally(list, numbersOf) {
  const counts = new Map();
  for (const witness of list) {
    for (const number of new Set(numbersOf(witness))) counts.set(number, (counts.get(number) || 0) + 1);
  }
  return counts;
}

/** The witnesses of each history, and their keys and sessions. */
const known = new Map();
function knownOf(history) {
  if (!known.has(history)) {
    const all = witnesses.filter((witness) => witness.history === history);
    const [keys, sessions] = [keysOf, sessionsOf].map((numbersOf) => [...tally(all, numbersOf).keys()]);
    known.set(history, { all, keys, sessions });
  }
  return known.get(history);
}

/** The witnesses that the filters leave. */
function filtered() {
  const { all, keys: allKeys, sessions: allSessions } = knownOf(wanted.history);
  const keys = matching(wanted.key, allKeys);
  const sessions = matching(wanted.session, allSessions);
  const words = wanted.text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const { verdict, anomaly, range } = wanted;
  return all.filter((witness) => {
    const body = raw.bodies[witness.body];
    return (verdict < 0 || witness.verdict === verdict)
      && (anomaly < 0 || body[0] === anomaly)
      && (!range || (body[4] >= range.from && body[4] <= range.to))
      && (!keys || keysOf(witness).some((key) => keys.has(key)))
      && (!sessions || sessionsOf(witness).some((session) => sessions.has(session)))
      && words.every((word) => searchText(witness.body).includes(word));
  });
}

function option(value, label, count, chosen) {
  return el("option", { value, selected: chosen }, `${label} (${grouped(count)})`);
}

function levelOptions() {
  const list = knownOf(wanted.history).all;
  const counts = tally(list, (witness) => [witness.verdict]);
  const { verdicts } = raw.cases[wanted.history];
  return [option(-1, "All levels", list.length, wanted.verdict < 0)].concat(
    [...counts].map(([at, count]) => option(at, verdicts[at].level, count, wanted.verdict === at)));
}

function inLevel() {
  const { all } = knownOf(wanted.history);
  return wanted.verdict < 0 ? all : all.filter((witness) => witness.verdict === wanted.verdict);
}

function anomalyOptions() {
  const list = inLevel();
  const counts = tally(list, (witness) => [raw.bodies[witness.body][0]]);
  if (!counts.has(wanted.anomaly)) wanted.anomaly = -1;
  return [option(-1, "All anomalies", list.length, wanted.anomaly < 0)].concat(
    [...counts].map(([at, count]) => option(at, raw.anomalies[at].name, count, wanted.anomaly === at)));
}

/** What can be typed: the most frequent first. */
function offered(numbersOf) {
  const counts = [...tally(inLevel(), numbersOf)].sort((a, b) => b[1] - a[1]).slice(0, MOST_OFFERED);
  return counts.map(([number, count]) => el("option", { value: text(number), label: `${grouped(count)} witnesses` }));
}

/** The controls; `changed` is called when one changes. */
function filtersNode(changed) {
  const field = (name, control) => el("label.field", null, el("span", null, name), control);
  const select = (id, options, name) => el("select", {
    id,
    change: (event) => {
      wanted[name] = Number(event.target.value);
      changed(name);
    },
  }, options);
  const typed = (id, name, list, placeholder) => el("input", {
    id, type: name === "text" ? "search" : "text", list, placeholder, autocomplete: "off", spellcheck: "false",
    value: wanted[name],
    input: (event) => {
      wanted[name] = event.target.value;
      changed(name);
    },
  });
  return el("form.filters", { role: "search", "aria-label": "Filter witnesses", submit: (event) => event.preventDefault() },
    field("Search", typed("filter-text", "text", null, "any words")),
    field("Level", select("filter-level", levelOptions(), "verdict")),
    field("Anomaly", select("filter-anomaly", anomalyOptions(), "anomaly")),
    field("Key", typed("filter-key", "key", "keys", "any")),
    field("Session", typed("filter-session", "session", "sessions", "any")),
    el("datalist", { id: "keys" }, offered(keysOf)),
    el("datalist", { id: "sessions" }, offered(sessionsOf)));
}

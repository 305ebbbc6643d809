// Putting it together: what is wanted, what is selected, and the address that says so.

function pickRange(range) {
  wanted.range = range;
  showList();
  selectFirst();
  say(countWords());
}

/** Shows a witness. */
function select(witness, options) {
  const { scroll = true, hash = true } = options || {};
  listed.selected = witness;
  replace(find("witness"), witness && witnessNode(witness));
  const address = witness ? `#${idOf(witness)}` : "";
  if (hash && location.hash !== address) history.replaceState(null, "", address || location.href.split("#")[0]);
  markSelected(scroll);
}

/** Scrolls to the beginning of the witness that was asked for, if it is not in sight. */
function reveal() {
  const { top } = find("witness").getBoundingClientRect();
  if (top < 0 || top > window.innerHeight * 0.7) find("witness").scrollIntoView({ block: "start" });
}

function selectFirst() {
  if (!listed.all.includes(listed.selected)) select(listed.all[0] || null);
  else markSelected(false);
}

function move(step, focus) {
  const at = listed.all.indexOf(listed.selected);
  const next = listed.all[Math.max(0, Math.min(listed.all.length - 1, at + step))];
  if (!next || next === listed.selected) return;
  select(next);
  reveal();
  say(`${listed.all.indexOf(next) + 1} of ${listed.all.length}: ${bodyOf(next.body).title}`);
  const item = find("list").querySelector("[aria-current]");
  if (focus && item) item.focus({ preventScroll: true });
}

/** The chart is that of the level in view, or of the plainest. */
function refreshChart() {
  const { verdicts, plainest } = raw.cases[wanted.history];
  const at = wanted.verdict >= 0 ? wanted.verdict : plainest;
  if (at === null) find("chart").hidden = true;
  else showChart(verdicts[at], pickRange);
}

function changed(name) {
  if (name === "verdict") {
    wanted.range = null;
    refreshChart();
    replace(find("filter-anomaly"), anomalyOptions());
    replace(find("keys"), offered(keysOf));
    replace(find("sessions"), offered(sessionsOf));
    markLevel();
  }
  showList();
  selectFirst();
}

function chooseLevel(at) {
  wanted.verdict = wanted.verdict === at ? -1 : at;
  find("filter-level").value = String(wanted.verdict);
  changed("verdict");
}

/** Shows another history, at the level that says most in the fewest words. */
function chooseHistory(at) {
  const { plainest } = raw.cases[at];
  Object.assign(wanted, { history: at, verdict: plainest === null ? -1 : plainest,
    anomaly: -1, key: "", session: "", text: "", range: null });
  showVerdict(chooseLevel, chooseHistory);
  const some = witnesses.some((witness) => witness.history === at);
  find("board").hidden = !some;
  replace(find("side"), some && sideNode(changed));
  // Where there is one thing to see, there is nothing to search.
  find("side").classList.toggle("few", new Set(knownOf(at).all.map(({ body }) => body)).size < 2);
  refreshChart();
  markLevel();
  if (!some) {
    listed.all = [];
    select(null);
    return;
  }
  showList();
  selectFirst();
}

/** The witness that the address names, with the filters opened so that it is listed. */
function fromHash() {
  let id = "";
  try {
    id = decodeURIComponent(location.hash.slice(1));
  } catch {
    return false;
  }
  const witness = witnesses.find((one) => idOf(one) === id);
  if (!witness) return false;
  if (witness === listed.selected) {
    reveal();
    return true;
  }
  if (witness.history !== wanted.history) chooseHistory(witness.history);
  if (!listed.all.includes(witness)) {
    Object.assign(wanted, { verdict: witness.verdict, anomaly: -1, key: "", session: "", text: "", range: null });
    replace(find("side"), sideNode(changed));
    changed("verdict");
  }
  select(witness);
  reveal();
  return true;
}

function start() {
  replace(find("tools"), toolsNode());
  document.body.append(helpNode());
  replace(find("foot"), el("p", null, `Made by Isolde ${raw.version}. Nothing in this file is loaded from anywhere.`),
    raw.leftOut && el("p", null, raw.leftOut));
  if (raw.cases.length === 0) return;
  find("app").hidden = false;
  const asked = location.hash;
  chooseHistory(0);
  if (asked) {
    history.replaceState(null, "", asked);
    if (!fromHash()) selectFirst();
  }
  window.addEventListener("hashchange", fromHash);
  // A link to what the address says already changes nothing that anybody is told of.
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.getAttribute("href") === location.hash) fromHash();
  });
  window.addEventListener("beforeprint", beforePrint);
  window.addEventListener("afterprint", afterPrint);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    find(find("board").hidden ? "title" : "witness").focus();
  });
  listenToKeys(move);
  setTimeout(prepareSearch, 300, 0);
}

start();

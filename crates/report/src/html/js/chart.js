// Violations over the run: a bar for each stretch of the history, which filters the list.

const SHADES = 8;

function binLabel(chart, at) {
  const from = at * chart.size + 1;
  const to = Math.min((at + 1) * chart.size, chart.txns);
  return from >= to ? `transaction ${grouped(from)}` : `transactions ${grouped(from)} to ${grouped(to)}`;
}

function barNode(chart, at, highest) {
  const counts = chart.series.map(([name, bins], shade) => ({ name, count: bins[at], shade }));
  const present = counts.filter(({ count }) => count > 0);
  const total = present.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return el("span.bar.none");
  const words = present.map(({ name, count }) => `${grouped(count)} ${name}`).join(", ");
  const label = `${binLabel(chart, at)}: ${words}`;
  const bar = el("button.bar", {
    type: "button", title: label, "aria-label": label, "aria-pressed": "false", tabindex: "-1", "data-bin": at,
  });
  const stack = el("span.stack");
  stack.style.height = `${Math.max(3, (100 * total) / highest)}%`;
  for (const { count, shade } of present) {
    const piece = el(`span.piece.s${shade % SHADES}`);
    piece.style.flexGrow = count;
    stack.append(piece);
  }
  bar.append(stack);
  return bar;
}

function chartTable(chart) {
  const names = chart.series.map(([name]) => name);
  const bins = chart.series[0][1].map((_, at) => at).filter((at) => chart.series.some(([, all]) => all[at] > 0));
  return el("details.table", null, el("summary", null, "The same as a table"),
    el("div.scroll", { tabindex: "0", role: "region", "aria-label": "Violations over the run, as a table" },
      el("table", null,
        el("thead", null, el("tr", null, el("th", { scope: "col" }, "Place"),
          names.map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", null, bins.map((at) => el("tr", null, el("th", { scope: "row" }, binLabel(chart, at)),
          chart.series.map(([, all]) => el("td", null, grouped(all[at])))))))));
}

/** One bar is in the order of the Tab key; arrows move on. */
function rove(bars) {
  const nodes = [...bars.querySelectorAll("button")];
  if (nodes.length) nodes[0].tabIndex = 0;
  bars.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step && nodes[nodes.indexOf(document.activeElement) + step];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    nodes.forEach((node) => { node.tabIndex = -1; });
    next.tabIndex = 0;
    next.focus();
  });
}

/** The chart of a verdict. `pick` is called with the first and last transaction of a bar. */
function showChart(verdict, pick) {
  const section = find("chart");
  const { chart } = verdict;
  section.hidden = !chart;
  if (!chart) return;
  const bins = chart.series[0][1].map((_, at) => at);
  const sum = (at) => chart.series.reduce((all, [, counts]) => all + counts[at], 0);
  const highest = Math.max(...bins.map(sum));
  const bars = el("div.bars", { role: "group", "aria-label": "Violations over the run; Enter filters the list" },
    bins.map((at) => barNode(chart, at, highest)));
  bars.classList.toggle("tall", chart.series.length > 3);
  bars.style.gridTemplateColumns = `repeat(${bins.length}, minmax(0, 1fr))`;
  bars.addEventListener("click", (event) => {
    const bar = event.target.closest("button");
    if (!bar) return;
    const at = Number(bar.getAttribute("data-bin"));
    pick(bar.getAttribute("aria-pressed") === "true" ? null
      : { from: at * chart.size + 1, to: (at + 1) * chart.size, at, words: binLabel(chart, at) });
  });
  rove(bars);
  const key = ([name], shade) => el("li", null, el(`span.swatch.s${shade % SHADES}`), name);
  replace(section,
    el("div.chart-head", null, el("h2", { id: "chart-title" }, "Violations over the run"),
      el("ul.legend", { "aria-label": "Anomalies" }, chart.series.map(key))),
    el("div.plot", null, el("span.most", { "aria-hidden": "true" }, grouped(highest)), bars),
    el("div.axis", { "aria-hidden": "true" }, el("span", null, "1"),
      el("span", null, "transactions"), el("span", null, grouped(chart.txns))),
    el("p.muted", null, chart.note), chartTable(chart));
}

function markBar(range) {
  for (const bar of find("chart").querySelectorAll("button.bar")) {
    const on = range !== null && range.at === Number(bar.getAttribute("data-bin"));
    bar.setAttribute("aria-pressed", String(on));
  }
}

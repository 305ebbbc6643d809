// The list of witnesses, a page of them at a time.

const PAGE_SIZE = 100;
const listed = { all: [], shown: 0, selected: null };

function itemNode(witness) {
  const body = bodyOf(witness.body);
  const level = wanted.verdict < 0 && el("span.level", null, levelOf(witness).level);
  return el("li", null,
    el("a.item", { href: `#${idOf(witness)}`, "aria-current": witness === listed.selected ? "true" : null },
      el("span.head", null, el("b", null, body.title), el("span.muted", { title: `visible after ${grouped(body.position)} transactions` }, `at ${grouped(body.position)}`)),
      el("span.words", null, body.story), level));
}

function showMore(count) {
  const list = find("list");
  const until = Math.min(listed.all.length, listed.shown + count);
  for (const witness of listed.all.slice(listed.shown, until)) list.append(itemNode(witness));
  listed.shown = until;
  const left = listed.all.length - until;
  find("more").hidden = left === 0;
  find("more").textContent = `Show ${grouped(Math.min(left, PAGE_SIZE))} more of ${grouped(left)}`;
}

function countWords() {
  const all = inLevel().length;
  const found = listed.all.length;
  const some = found === all ? grouped(all) : `${grouped(found)} of ${grouped(all)}`;
  return `${some} ${all === 1 ? "witness" : "witnesses"}`;
}

function showList() {
  listed.all = filtered();
  listed.shown = 0;
  find("list").textContent = "";
  showMore(PAGE_SIZE);
  find("count").textContent = countWords();
  find("kept").textContent = wanted.verdict < 0 ? "" : raw.cases[wanted.history].verdicts[wanted.verdict].kept;
  find("none").hidden = listed.all.length > 0;
  replace(find("range"), wanted.range && el("button.chip", {
    type: "button", "aria-label": `No longer only ${wanted.range.words}`, click: () => pickRange(null),
  }, `${wanted.range.words} ×`));
  markBar(wanted.range);
}

/** Marks the selected one, and scrolls the list so that it is seen. */
function markSelected(scroll) {
  if (!find("list")) return;
  const at = listed.all.indexOf(listed.selected);
  if (at >= listed.shown) showMore(at + PAGE_SIZE - listed.shown);
  for (const old of find("list").querySelectorAll("[aria-current]")) old.removeAttribute("aria-current");
  const item = at >= 0 && find("list").children[at];
  if (!item) return;
  item.firstChild.setAttribute("aria-current", "true");
  if (!scroll) return;
  const box = find("scroller");
  const [top, height] = [item.offsetTop - box.offsetTop, item.offsetHeight];
  if (top < box.scrollTop) box.scrollTop = top - 8;
  else if (top + height > box.scrollTop + box.clientHeight) box.scrollTop = top + height + 8 - box.clientHeight;
}

function sideNode(changed) {
  return [
    el("div.side-head", null, el("h2", { id: "list-title" }, "Witnesses"),
      el("span.muted", { id: "count", "aria-live": "polite" })),
    el("p.muted", { id: "kept" }),
    filtersNode(changed),
    el("div", { id: "range" }),
    el("div.scroller", { id: "scroller" },
      el("ol.list", { id: "list" }),
      el("p.muted", { id: "none", hidden: true }, "No witness is left by these filters."),
      el("button.small", { id: "more", type: "button", click: () => showMore(PAGE_SIZE) })),
  ];
}

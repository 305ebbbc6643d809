// The keyboard, and the colours.

const KEYS = [
  ["j, →", "next witness"],
  ["k, ←", "previous witness"],
  ["↑, ↓", "the same, in the list"],
  ["/", "search"],
  ["Enter", "pin what has the focus"],
  ["Escape", "let go of what is pinned"],
  ["?", "these keys"],
];

function helpNode() {
  const dialog = el("dialog.help", { id: "help", "aria-labelledby": "help-title" },
    el("h2", { id: "help-title" }, "Keys"),
    el("dl.rows", null, KEYS.map(([key, what]) => el("div", null, el("dt", null, el("kbd", null, key)), el("dd", null, what)))),
    el("button.small", { type: "button", click: () => dialog.close() }, "Close"));
  return dialog;
}

const typing = (target) => target.closest("input,select,textarea,[contenteditable]") !== null;

function stepFor(event) {
  if (event.key === "j" || event.key === "k") return event.key === "j" ? 1 : -1;
  const scrolls = event.target.closest(".scroll,.bars");
  if (!scrolls && event.key === "ArrowRight") return 1;
  if (!scrolls && event.key === "ArrowLeft") return -1;
  const inList = event.target.closest("#list");
  if (inList && event.key === "ArrowDown") return 1;
  if (inList && event.key === "ArrowUp") return -1;
  return 0;
}

function listenToKeys(move) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || find("help").open) return;
    if (event.key === "Escape") {
      const shown = find("witness").firstChild;
      if (typing(event.target)) event.target.blur();
      else if (shown && shown.unpin) shown.unpin();
      return;
    }
    if (typing(event.target)) return;
    if (event.key === "?") {
      find("help").showModal();
    } else if (event.key === "/" && find("filter-text")) {
      event.preventDefault();
      find("filter-text").focus();
      find("filter-text").select();
    } else {
      const step = stepFor(event);
      if (!step) return;
      event.preventDefault();
      move(step, Boolean(event.target.closest("#list")));
    }
  });
}

const THEMES = ["auto", "light", "dark"];

function remembered() {
  try {
    return localStorage.getItem("isolde-theme");
  } catch {
    return null;
  }
}

function setTheme(theme) {
  if (theme === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
  try {
    localStorage.setItem("isolde-theme", theme);
  } catch {
    // A file may have no storage; the page then forgets.
  }
}

function toolsNode() {
  const now = THEMES.includes(remembered()) ? remembered() : "auto";
  setTheme(now);
  const select = el("select", { "aria-label": "Colours", change: (event) => setTheme(event.target.value) },
    THEMES.map((theme) => el("option", { value: theme, selected: theme === now }, theme)));
  return [
    select,
    el("button.small", { type: "button", click: () => window.print() }, "Print"),
    el("button.small", { type: "button", "aria-label": "Keys", click: () => find("help").showModal() }, "?"),
  ];
}

// What belongs together lights up together: an edge, its sentence and its operations; a
// transaction, its box and its edges.

/** The edge, operation or transaction that an element stands for. */
function subjectOf(target) {
  const node = target && target.closest && target.closest("[data-link],[data-op],[data-part]");
  if (!node) return null;
  for (const kind of ["link", "op", "part"]) {
    if (node.hasAttribute(`data-${kind}`)) return { kind, id: node.getAttribute(`data-${kind}`) };
  }
  return null;
}

/** Everything that a subject lights up. */
function relatedTo(body, { kind, id }) {
  const lit = { link: new Set(), op: new Set(), part: new Set() };
  lit[kind].add(id);
  body.links.forEach((link, at) => {
    const ends = [String(link.from), String(link.to)];
    const mine = kind === "link" ? id === String(at)
      : kind === "op" ? link.ops.includes(id)
        : ends.includes(id);
    if (!mine) return;
    lit.link.add(String(at));
    if (kind === "part") return;
    link.ops.forEach((op) => op && lit.op.add(op));
    ends.forEach((end) => lit.part.add(end));
  });
  if (kind === "op") lit.part.add(id.split(".")[0]);
  return lit;
}

/** Makes the parts of a shown witness light each other up. */
function linkUp(root, body) {
  let pinned = null;
  const show = (subject) => {
    const lit = subject && relatedTo(body, subject);
    root.classList.toggle("has-lit", Boolean(subject));
    for (const node of root.querySelectorAll("[data-link],[data-op],[data-part]")) {
      const has = (kind) => node.hasAttribute(`data-${kind}`);
      const kind = has("link") ? "link" : has("op") ? "op" : "part";
      node.classList.toggle("lit", Boolean(lit) && lit[kind].has(node.getAttribute(`data-${kind}`)));
      if (node.hasAttribute("aria-pressed")) {
        const own = pinned && pinned.kind === kind && pinned.id === node.getAttribute(`data-${kind}`);
        node.setAttribute("aria-pressed", String(Boolean(own)));
      }
    }
  };
  const pin = (subject) => {
    const again = pinned && subject && pinned.kind === subject.kind && pinned.id === subject.id;
    pinned = again ? null : subject;
    root.classList.toggle("pinned", Boolean(pinned));
    show(pinned);
  };
  /** Where nothing is pointed at: what has the focus of the keyboard, or is pinned. */
  const atRest = () => {
    const focused = document.activeElement;
    const keyboard = focused && root.contains(focused) && focused.matches(":focus-visible");
    return (keyboard && subjectOf(focused)) || pinned;
  };
  const point = (event) => show(subjectOf(event.target) || atRest());
  root.addEventListener("mouseover", point);
  root.addEventListener("mouseleave", () => show(atRest()));
  root.addEventListener("focusin", point);
  root.addEventListener("focusout", () => show(pinned));
  root.addEventListener("click", (event) => {
    if (event.target.closest("summary,a,.command,.actions")) return;
    const subject = subjectOf(event.target);
    if (subject || pinned) pin(subject);
  });
  root.addEventListener("keydown", (event) => {
    const key = event.key === "Enter" || event.key === " ";
    if (key && event.target.closest("svg")) {
      event.preventDefault();
      pin(subjectOf(event.target));
    }
  });
  root.unpin = () => {
    const was = Boolean(pinned);
    pinned = null;
    root.classList.remove("pinned");
    show(null);
    return was;
  };
}

/** An operation that can be looked at; those that show nothing are only text. */
function opNode(body, part, at) {
  const op = body.parts[part].ops[at];
  if (!op) return null;
  const id = `${part}.${at}`;
  return op.cited
    ? el("button.op.cited", { type: "button", "data-op": id, "aria-pressed": "false" }, op.text)
    : el("span.op", { "data-op": id }, op.text);
}

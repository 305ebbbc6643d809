// Making elements. Whatever comes from a history becomes a text node, never markup.

const find = (id) => document.getElementById(id);
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

/** `el("p.note", {title: "x"}, "text", node)` */
function el(name, attributes, ...children) {
  const [tag, ...classes] = name.split(".");
  const node = document.createElement(tag);
  if (classes.length) node.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(key, value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  fillWith(node, children);
  return node;
}

function fillWith(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    node.append(child);
  }
  return node;
}

function replace(node, ...children) {
  node.textContent = "";
  return fillWith(node, children);
}

/** Tells those who do not see the page what has changed. */
function say(text) {
  find("live").textContent = text;
}

/** Copies a text, also where the browser offers no clipboard to files. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { class: "hidden", readonly: true, "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    const focused = document.activeElement;
    area.select();
    let done = false;
    try {
      done = document.execCommand("copy");
    } catch {
      done = false;
    }
    area.remove();
    if (focused && focused.focus) focused.focus();
    return done;
  }
}

function copyButton(text, words, title) {
  const button = el("button.small.copy", { type: "button", title }, words);
  button.addEventListener("click", async () => {
    const done = await copy(text);
    button.textContent = done ? "Copied" : "Select and copy";
    say(done ? "Copied." : "This browser does not let the page copy.");
    setTimeout(() => { button.textContent = words; }, 2000);
  });
  return button;
}

/** A command with a button that copies it. */
function command(text, label) {
  return el("div.command", null, el("code", null, text), copyButton(text, "Copy", label));
}

function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// Reading the data back. The lists of numbers are those that body.rs and data.rs write.

const raw = JSON.parse(find("data").textContent);
const excerpts = new Map(raw.excerpts);
const bodies = new Map();

/** Puts names where their marks are; see labels.rs. */
function fill(text, names) {
  return text.replace(/\uF8FF([\s\S])|[\uE000-\uF8FE]/gu, (mark, literal) =>
    literal !== undefined ? literal : apart(names[mark.charCodeAt(0) - 0xE000] ?? ""));
}

const TURNING = /[\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;
const RIGHT_TO_LEFT = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC]|\uD802|\uD803|\uD83A|\uD83B/;

/** A name that is written from right to left stays apart from the sentence around it. */
const apart = (name) => (RIGHT_TO_LEFT.test(name) ? `\u2068${name}\u2069` : name);

/** A text without what would turn around the text beside it. */
const calm = (words) => words.replace(TURNING, "\uFFFD");

const text = (number) => (number < 0 ? "" : raw.texts[number]);

function txnOf([number, support, cited]) {
  const [name, session, outcome, leftOut, line, ops, keys] = raw.txns[number];
  return {
    name: calm(text(name)),
    session: calm(text(session)),
    outcome: ["committed", "aborted", "unknown"][outcome],
    leftOut: text(leftOut),
    line: calm(text(line)),
    support: support === 1,
    ops: ops.map((op, at) => ({ text: calm(text(op)), key: keys[at], cited: cited.includes(at) })),
  };
}

/** What the sentences of a witness speak of, in the order of body.rs. */
function namesOf(parts) {
  const names = [];
  for (const part of parts) {
    names.push(part.name, part.session);
    for (const op of part.ops) {
      if (!op.cited) continue;
      names.push(op.text);
      if (op.key >= 0) names.push(calm(text(op.key)));
      const inner = op.text.endsWith(")") ? op.text.slice(0, -1) : op.text;
      names.push(inner.slice(inner.lastIndexOf(",") + 1));
    }
  }
  return names;
}

function linkOf(link, told) {
  const [from, to, kind, fromOp, toOp, role, inferred, sentence, because] = link;
  return {
    from,
    to,
    kind: text(kind),
    ops: [fromOp < 0 ? null : `${from}.${fromOp}`, toOp < 0 ? null : `${to}.${toOp}`],
    role: ["cycle", "reason", "context"][role],
    inferred: inferred === 1,
    sentence: told(sentence),
    because: because.map(told),
  };
}

/** The rows of a time line; the times of those that have one follow each other. */
function rowsOf(shape, times) {
  const left = [...times];
  return shape.map(([code, column, part, a, b, timed]) => {
    const what = ["begin", "op", "fold", "end", "event", "left"][code];
    return { what, column, part, a, b, time: timed ? text(left.shift()) : "" };
  });
}

/** All that is shown of a witness, whichever level it breaks. */
function bodyOf(number) {
  const known = bodies.get(number);
  if (known) return known;
  const body = raw.bodies[number];
  const parts = body[5].map(txnOf);
  const names = namesOf(parts);
  const told = (at) => fill(calm(text(at)), names);
  const [basis, unit, columns, rows, times] = body[7];
  const [template, labels] = body[10];
  const decoded = {
    number,
    anomaly: raw.anomalies[body[0]],
    title: text(body[1]),
    story: told(body[2]),
    breach: told(body[3]),
    position: body[4],
    parts,
    links: raw.shapes[body[6]].map((link) => linkOf(link, told)),
    timeline: {
      basis: text(basis),
      unit: text(unit),
      columns: columns.map((name) => calm(text(name))),
      rows: rowsOf(raw.shapes[rows], times),
    },
    stuck: body[8] ? { order: body[8][0], next: body[8][1], why: told(body[8][2]) } : null,
    leftOut: text(body[9]),
    picture: { template, labels: raw.shapes[labels].map(told) },
    keys: body[11].map(text),
    meaning: text(body[12]),
    facts: body[13].map(([name, words]) => [name, told(words)]),
    excerpt: excerpts.get(number),
    names,
  };
  // Only so many are kept: there may be ten thousand.
  if (bodies.size > 500) bodies.clear();
  bodies.set(number, decoded);
  return decoded;
}

const witnesses = raw.witnesses.map(([history, verdict, number, body]) => ({ history, verdict, number, body }));

const levelOf = (witness) => raw.cases[witness.history].verdicts[witness.verdict];

/** What a witness is called on the command line; later histories add their number. */
const commandId = (witness) => `${levelOf(witness).word}-${witness.number}`;
const idOf = (witness) => commandId(witness) + (witness.history ? `@${witness.history + 1}` : "");

/** The texts in which the free text filter searches; made before they are needed, a few at a time. */
const searched = [];
function searchText(body) {
  if (searched[body] === undefined) {
    const [, title, story, , , members, , , , , , keys] = raw.bodies[body];
    const names = namesOf(members.map(txnOf));
    searched[body] = [text(title), fill(text(story), names), ...names, ...keys.map(text)].join("\n").toLowerCase();
  }
  return searched[body];
}

function prepareSearch(from) {
  const until = Math.min(from + 250, raw.bodies.length);
  for (let body = from; body < until; body += 1) searchText(body);
  if (until < raw.bodies.length) setTimeout(prepareSearch, 20, until);
}

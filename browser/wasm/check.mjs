// Asks the checker, compiled for a browser, about the project's own histories: node check.mjs FILE.wasm
// What it has to answer is in histories/verdicts.tsv. If ISOLDE names the command, that is asked as well, about every
// level, and the two have to say the same, witnesses and all.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const histories = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../histories");
const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), {});
const isolde = instance.exports;

/** Copies bytes into the memory of the checker. */
function put(bytes) {
    const at = isolde.alloc(bytes.length);
    new Uint8Array(isolde.memory.buffer, at, bytes.length).set(bytes);
    return { at, length: bytes.length };
}

function check(files, level) {
    const length = (bytes) => {
        const four = Buffer.alloc(4);
        four.writeUInt32LE(bytes.length);
        return four;
    };
    const packed = files.flatMap(({ name, bytes }) => {
        const text = Buffer.from(name);
        return [length(text), text, length(bytes), bytes];
    });
    const [history, named] = [put(Buffer.concat(packed)), put(Buffer.from(level))];
    const answer = isolde.check(history.at, history.length, named.at, named.length);
    const size = new DataView(isolde.memory.buffer).getUint32(answer, true);
    const text = Buffer.from(isolde.memory.buffer, answer + 4, size).toString();
    isolde.free(answer, size + 4);
    for (const { at, length } of [history, named]) isolde.free(at, length);
    return text.startsWith("error: ") ? { error: text } : JSON.parse(text);
}

/** A file, or the files of a folder in the order of their numbers. */
function load(name) {
    const full = path.join(histories, name);
    if (!statSync(full).isDirectory()) return [{ name, bytes: readFileSync(full) }];
    const files = readdirSync(full).sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    return files.map((file) => ({ name: file, bytes: readFileSync(path.join(full, file)) }));
}

const table = readFileSync(path.join(histories, "verdicts.tsv"), "utf8").trim().split("\n").slice(1);
const rows = table.map((row) => row.split("\t"));
const told = new Map();
const counts = { holds: 0, violated: 0, unknown: 0, refused: 0 };
for (const [name, level, expected] of rows) {
    const said = check(load(name), level);
    if (said.error?.includes("compress")) {
        // zstd is C, and not in here.
        counts.refused += 1;
        continue;
    }
    assert.equal(said.answer, expected, `${name} at ${level}: ${JSON.stringify(said)}`);
    counts[expected] += 1;
    told.set(`${name}\t${level}`, said);
}
// Real time is not known: nobody can tell.
const untimed = Buffer.from("initial 0\na: w(x,1)\nb: r(x,0)\n");
const said = check([{ name: "untimed.txt", bytes: untimed }], "strict-serializable");
assert.equal(said.answer, "unknown", JSON.stringify(said));
counts.unknown += 1;
// What is wrong is said, and nothing is left behind that would harm the next call.
assert.match(check([{ name: "x", bytes: Buffer.from("?") }], "ser").error, /error: /);
assert.match(check([{ name: "x", bytes: untimed }], "acid").error, /no level 'acid'/);

let compared = 0;
if (process.env.ISOLDE) {
    for (const name of new Set(rows.map(([name]) => name))) {
        const levels = rows.filter((row) => row[0] === name && told.has(`${name}\t${row[1]}`)).map((row) => row[1]);
        for (const level of levels) {
            const args = ["check", "--json", "--evidence", "values", "--level", level, path.join(histories, name)];
            const native = JSON.parse(asked(args));
            assert.deepEqual(plain(told.get(`${name}\t${level}`)), plain(verdicts(native)[0]), `${name} at ${level}`);
            compared += 1;
        }
    }
}

/** What the command prints, whatever its exit code is. */
function asked(args) {
    try {
        return execFileSync(process.env.ISOLDE, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
    } catch (failed) {
        assert.ok([1, 3].includes(failed.status), String(failed));
        return failed.stdout;
    }
}

function verdicts(native) {
    return native.levels ?? native.verdicts ?? [native];
}

/** A verdict without what depends on the machine and on other levels that were asked. */
function plain({ seconds, holds_without_session_order, ...rest }) {
    return rest;
}

assert.ok(counts.holds > 200 && counts.violated > 100 && counts.refused < 20, JSON.stringify(counts));
console.log(`wasm: ${counts.holds} hold, ${counts.violated} violated, ${counts.unknown} unknown, as expected;`,
    `${counts.refused} refused for their compression; ${compared} compared with the command`);

"use strict";
const D = JSON.parse(document.getElementById("data").textContent);
const $ = (name, attributes = {}, ...children) => {
  const svg = ["svg", "g", "rect", "path", "text", "title", "defs", "marker"].includes(name);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) e.setAttribute(key, value);
  }
  e.append(...children);
  return e;
};
const HEIGHT = 18;
const KINDS = {
  compiled: ["--compiled", "is native code, with what stands beside it in one loop where that can be"],
  rolled: ["--rolled", "is a loop of native code"],
  unrolled: ["--unrolled", "is written out, once for each turn"],
  peeled: ["--unrolled", "has first turns of its own in front of the loop"],
  duplicated: ["--unrolled", "is compiled more than once"],
  branch: ["--branch", "is chosen while the program runs"],
  copied: ["--copied", "copies a whole array"],
  host: ["--host", "calls NumPy or SciPy from inside the program"],
  effect: ["--effect", "prints, stores or draws, in order"],
  eager: ["--eager", "makes the function run as plain Python"],
};
const color = kind => `var(${(KINDS[kind] || ["--quiet"])[0]})`;

const state = { pinned: -1, hovered: -1, query: "", hits: [], hit: -1, panes: [], last: null, drawings: [] };

/* A pane shows rows of text, of which only those in sight are in the document. */
class Pane {
  constructor(rows, draw) {
    this.draw = draw;
    this.fill = $("div", { class: "fill" });
    this.text = $("div", { class: "text", tabindex: 0, role: "list" }, this.fill);
    this.text.addEventListener("scroll", () => this.show());
    this.text.addEventListener("focusin", () => { state.last = this; });
    this.shown = new Map();
    this.set(rows);
    state.panes.push(this);
    new ResizeObserver(() => this.show()).observe(this.text);
  }
  set(rows) {
    this.rows = rows;
    this.of = new Map();
    rows.forEach((row, k) => { if (row.at >= 0) { if (!this.of.has(row.at)) this.of.set(row.at, []); this.of.get(row.at).push(k); } });
    this.fill.style.height = `${rows.length * HEIGHT + 6}px`;
    const widest = rows.reduce((n, row) => Math.max(n, row.text.length), 0);
    this.fill.style.width = `max(100%, ${widest + 14}ch)`;
    this.again();
  }
  again() { for (const e of this.shown.values()) e.remove(); this.shown.clear(); this.show(); }
  show() {
    const first = Math.max(0, Math.floor(this.text.scrollTop / HEIGHT) - 20);
    const last = Math.min(this.rows.length, first + Math.ceil(this.text.clientHeight / HEIGHT) + 40);
    for (const [k, e] of this.shown) if (k < first || k >= last) { e.remove(); this.shown.delete(k); }
    for (let k = first; k < last; k++) {
      if (this.shown.has(k)) continue;
      const row = this.rows[k], e = this.draw(row, k);
      e.classList.add("row");
      e.style.top = `${k * HEIGHT}px`;
      e.setAttribute("role", "listitem");
      e.addEventListener("mouseenter", () => hover(row.at));
      e.addEventListener("mouseleave", () => hover(-1));
      e.addEventListener("click", () => { state.last = this; pin(row.at, this); });
      this.mark(e, row);
      this.shown.set(k, e);
      this.fill.append(e);
    }
  }
  mark(e, row) {
    e.classList.toggle("same", row.at >= 0 && row.at === state.hovered);
    e.classList.toggle("pin", row.at >= 0 && row.at === state.pinned);
    e.classList.toggle("hit", state.query !== "" && row.text.toLowerCase().includes(state.query));
  }
  marks() { for (const [k, e] of this.shown) this.mark(e, this.rows[k]); }
  reveal(at) {
    const found = this.of.get(at);
    if (!found) return;
    const top = this.text.scrollTop / HEIGHT, rows = this.text.clientHeight / HEIGHT;
    if (found.some(k => k >= top + 1 && k < top + rows - 2)) return;
    this.text.scrollTop = Math.max(0, (found[0] - Math.min(6, rows / 3)) * HEIGHT);
    this.show();
  }
}
const repaint = () => { state.panes.forEach(p => p.marks()); state.drawings.forEach(d => d.marks()); };
function hover(at) { if (at !== state.hovered) { state.hovered = at; repaint(); } }
function pin(at, from) {
  state.pinned = at;
  state.panes.forEach(p => { if (p !== from) p.reveal(at); });
  if (from) state.drawings.forEach(d => d.reveal(at));
  repaint();
  detail();
}

/* Source. */
const marksOf = new Map();
for (const m of D.marks || []) {
  const key = `${m.file}:${m.line}`;
  if (!marksOf.has(key)) marksOf.set(key, []);
  marksOf.get(key).push(m);
}
const placeOf = new Map((D.places || []).map(([file, line], k) => [`${file}:${line}`, k]));
function sourceRows() {
  const rows = [];
  D.files.forEach((file, f) => {
    rows.push({ text: file.name, at: -1, file: true });
    file.lines.forEach((text, k) => {
      const line = file.first + k, key = `${f}:${line}`;
      rows.push({ text, line, marks: marksOf.get(key) || [], at: placeOf.has(key) ? placeOf.get(key) : -1, cost: (D.costs || {})[key] });
    });
  });
  return rows;
}
const WORST = ["eager", "host", "copied", "unrolled", "duplicated", "peeled", "rolled", "effect", "branch", "compiled"];
const worst = marks => WORST.find(kind => marks.some(m => m.kind === kind)) || (marks[0] && marks[0].kind);
function drawSource(row) {
  if (row.file) return $("div", { class: "file" }, row.text);
  const kind = worst(row.marks);
  const e = $("div", { title: row.marks.map(m => m.kind + (m.why ? ": " + m.why : "")).join("\n") });
  if (kind) e.classList.add(kind);
  if (kind) e.append($("i", { class: "heat", style: `background:${color(kind)}` }));
  if (row.cost) e.append($("i", { class: "costbar", style: `width:${(40 * row.cost.share).toFixed(1)}%` }));
  e.append($("span", { class: "no" }, String(row.line)), row.text);
  if (row.cost) e.append($("span", { class: "cost" }, row.cost.text));
  return e;
}
let box = null;
function detail() {
  if (!box) return;
  const place = D.places[state.pinned];
  if (!place) { box.hidden = true; return; }
  box.hidden = false;
  const marks = marksOf.get(`${place[0]}:${place[1]}`) || [];
  const counts = D.stages.filter(s => ["fuse", "kernel", "optimized", "asm"].includes(s.name))
    .map(s => `${s.at.filter(at => at === state.pinned).length} lines of ${s.name}`);
  box.replaceChildren($("h3", {}, `${D.files[place[0]].name}:${place[1]}`), $("div", {}, counts.join(", ")));
  for (const m of marks) {
    box.append($("p", { style: "margin:4px 0" }, $("b", { style: `color:${color(m.kind)}` }, m.kind), " ",
      (KINDS[m.kind] || ["", ""])[1] + (m.why ? ": " + m.why : "")));
    if (m.explain) box.append($("pre", {}, m.explain));
  }
}
function legend() {
  const used = new Set((D.marks || []).map(m => m.kind));
  return $("div", { class: "legend" }, ...Object.entries(KINDS).filter(([k]) => used.has(k))
    .map(([k, [, say]]) => $("span", { title: say }, $("i", { style: `background:${color(k)}` }), k)));
}

/* Stages. */
function stageRows(stage, before) {
  const notes = new Map(), inside = new Set();
  for (const loop of stage.loops || []) {
    notes.set(loop.first, loop.text);
    for (let k = loop.first; k <= loop.last; k++) inside.add(k);
  }
  const row = (text, k) => ({ text, at: stage.at[k], no: k + 1, note: notes.get(k), loop: inside.has(k) });
  if (!before) return stage.text.map(row);
  const rows = [];
  let k = 0;
  for (const [kind, text] of difference(before.text, stage.text)) {
    if (kind === "-") rows.push({ text, at: -1, gone: true });
    else { const r = row(text, k++); r.added = kind === "+"; rows.push(r); }
  }
  return rows;
}
/* What two texts share, by the longest runs of equal lines at both ends and greedily between. */
function difference(a, b) {
  const out = [], where = new Map();
  b.forEach((line, k) => { if (!where.has(line)) where.set(line, []); where.get(line).push(k); });
  let j = 0;
  for (const line of a) {
    const found = (where.get(line) || []).find(k => k >= j);
    if (found === undefined || found - j > 60) { out.push(["-", line]); continue; }
    while (j < found) out.push(["+", b[j++]]);
    out.push(["=", line]); j++;
  }
  while (j < b.length) out.push(["+", b[j++]]);
  return out;
}
function drawStage(row) {
  const e = $("div", {});
  if (row.loop) e.classList.add("loop");
  if (row.added) e.classList.add("added");
  if (row.gone) e.classList.add("gone");
  if (row.other) e.classList.add("other");
  e.append($("span", { class: "no" }, row.no ? String(row.no) : ""));
  const cut = row.text.search(/\s{2,}# [^#]*:\d+$/);
  if (cut > 0) e.append(row.text.slice(0, cut), $("span", { class: "place" }, row.text.slice(cut)));
  else e.append(row.text);
  if (row.note) e.append($("span", { class: "note" }, "loop: " + row.note));
  return e;
}
function stagePane(stages, name) {
  const select = $("select", { "aria-label": "stage" }, ...stages.map((s, k) =>
    $("option", { value: k }, s.changed ? s.name : `${s.name} (no change)`)));
  const what = $("span", { class: "what" });
  const button = $("button", { "aria-pressed": "false", title: "what this stage changed (d)" }, "changes");
  const pane = new Pane([], drawStage);
  let differences = false;
  const show = () => {
    const k = Number(select.value), stage = stages[k];
    what.textContent = stage.say + (stage.seconds ? ` ${(stage.seconds * 1e3).toFixed(1)} ms` : "");
    what.title = what.textContent;
    const before = k && stage.graph && stages[k - 1].graph ? stages[k - 1] : null;
    button.hidden = !before;
    pane.set(stageRows(stage, differences && before));
    if (state.pinned >= 0) pane.reveal(state.pinned);
  };
  pane.step = by => {
    let k = Number(select.value);
    do k += by; while (stages[k] && !stages[k].changed);
    if (stages[k]) { select.value = k; show(); }
  };
  pane.difference = () => { differences = !differences; button.setAttribute("aria-pressed", differences); show(); };
  pane.choose = chosen => { const k = stages.findIndex(s => s.name === chosen); if (k >= 0) { select.value = k; show(); } };
  button.addEventListener("click", pane.difference);
  select.addEventListener("change", () => { state.last = pane; show(); });
  pane.choose(stages.some(s => s.name === name) ? name : stages[stages.length - 1].name);
  pane.element = $("section", { class: "pane" }, $("div", { class: "bar" }, select, button, what), pane.text);
  return pane;
}

/* Views. */
const VIEWS = [];
function view(name, title, make) { VIEWS.push({ name, title, make }); }
function open(name) {
  const main = document.getElementById("view"), found = VIEWS.find(v => v.name === name) || VIEWS[0];
  state.panes = []; state.drawings = []; state.last = null; box = null;
  main.className = "";
  main.replaceChildren(found.make(main));
  state.panes.forEach(p => p.show());
  document.querySelectorAll("nav button").forEach(b => b.setAttribute("aria-selected", b.dataset.view === found.name));
  if (state.pinned >= 0) { state.panes.forEach(p => p.reveal(state.pinned)); state.drawings.forEach(d => d.reveal(state.pinned)); detail(); }
  repaint();
}
function code() {
  box = $("div", { class: "detail", hidden: "", "aria-live": "polite" });
  const source = new Pane(sourceRows(), drawSource);
  source.source = true;
  const left = $("section", { class: "pane" },
    $("div", { class: "bar" }, $("b", {}, "source"), $("span", { class: "what" }, "what became of each line; point at one, or click to keep it")),
    source.text, box, legend());
  if (!D.stages.length) return $("div", { class: "panes", style: "grid-template-columns:1fr 1fr" }, left, reasons());
  const names = D.stages.map(s => s.name);
  const a = stagePane(D.stages, "fuse"), b = stagePane(D.stages, names.includes("asm") ? "asm" : names[names.length - 1]);
  return $("div", { class: "panes" }, left, a.element, b.element);
}
function reasons() {
  const marks = D.marks.filter(m => m.kind === "eager");
  const place = m => D.places.findIndex(([file, line]) => file === m.file && line === m.line);
  return $("section", { class: "pane" }, $("div", { class: "bar" }, $("b", {}, "why it runs eagerly"),
    $("span", { class: "what" }, "click a line number to see the line")),
    $("div", { class: "page" }, table([["line", "n"], ["reason", ""], ["what to do", ""]], marks.map(m => [
      $("button", { onclick: () => pin(place(m)) }, String(m.line)), m.why,
      (m.explain || "").replace(/^[^]*What to do: /, "")]))));
}
function table(heads, rows) {
  return $("table", {}, $("thead", {}, $("tr", {}, ...heads.map(h => $("th", { class: h[1] }, h[0])))),
    $("tbody", {}, ...rows.map(r => $("tr", {}, ...r.map((c, k) => $("td", { class: heads[k][1] }, c instanceof Node ? c : String(c)))))));
}
function memory(main) {
  main.className = "page";
  const m = D.memory, last = Math.max(1, m.steps);
  const bar = b => $("div", { class: "track", title: `${b.from} to ${b.to}`, style: "width:320px" },
    $("i", { style: `left:${100 * b.begin / last}%;width:${Math.max(1, 100 * (b.end - b.begin + 1) / (last + 1))}%;${b.kind === "slot" ? "" : "background:var(--soft)"}` }));
  return $("div", {}, $("h2", {}, "Where arrays lie"),
    $("p", { class: "say" }, "Each line is a piece of memory; the bar tells during which of the program's steps it holds something. Values that are never needed at once share one."),
    table([["memory", ""], ["bytes", "n"], ["holds", ""], ["from first to last step", ""]],
      m.buffers.map(b => [b.name, b.bytes, b.holds, bar(b)])),
    $("h2", {}, "In words"), $("pre", { class: "report" }, m.text.join("\n") || "no memory of its own"));
}
function compiles(main) {
  main.className = "page";
  const longest = Math.max(1e-9, ...D.seconds.map(s => s[1]));
  return $("div", {}, $("h2", {}, "Compiles"), $("p", { class: "say" }, "What was compiled for which arguments, and what made it necessary."),
    table([["arguments", ""], ["because", ""], ["ms", "n"]], D.compiles.map(c => [c.signature, c.reason, (c.seconds * 1e3).toFixed(1)])),
    $("h2", {}, "Time by stage"), $("p", { class: "say" }, "Of the compile that this page shows."),
    table([["stage", ""], ["ms", "n"], ["", ""]], D.seconds.map(([name, s]) => [name, (s * 1e3).toFixed(2),
      $("div", { class: "track", style: "width:320px;border:0" }, $("i", { style: `left:0;width:${100 * s / longest}%` }))])),
    $("h2", {}, "Report"), $("pre", { class: "report" }, D.report));
}
function drawing(picture) {
  const outer = $("div", { class: "drawing" });
  const world = $("g", {}), marker = $("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    $("path", { d: "M0 0 L8 4 L0 8 z", class: "arrow" }));
  const svg = $("svg", { tabindex: 0, role: "img", "aria-label": picture.say }, $("defs", {}, marker), world);
  for (const c of picture.clusters) world.append($("rect", { class: "cluster", x: c.x, y: c.y, width: c.w, height: c.h, rx: 6 }), $("text", { x: c.x + 6, y: c.y + 13 }, c.label));
  for (const e of picture.edges) {
    const path = $("path", { class: e.back ? "edge back" : "edge", d: "M" + e.points.map(p => p.join(" ")).join(" L"), "marker-end": "url(#tip)" }, $("title", {}, e.title || ""));
    world.append(path);
  }
  const boxes = picture.nodes.map(n => {
    const g = $("g", { class: `node ${n.kind || ""}`, "data-node": n.id }, $("rect", { x: n.x, y: n.y, width: n.w, height: n.h, rx: 4 }),
      $("text", { x: n.x + 6, y: n.y + 15 }, n.label), $("title", {}, n.title || n.label));
    g.addEventListener("mouseenter", () => hover(n.at)); g.addEventListener("mouseleave", () => hover(-1));
    g.addEventListener("click", () => pin(n.at));
    world.append(g);
    return [g, n];
  });
  const all = [...picture.nodes, ...picture.clusters];
  const left = Math.min(0, ...all.map(n => n.x)) - 10, top = Math.min(0, ...all.map(n => n.y)) - 10;
  const width = Math.max(1, ...all.map(n => n.x + n.w)) + 10 - left, height = Math.max(1, ...all.map(n => n.y + n.h)) + 10 - top;
  let frame = [left, top, Math.max(Math.min(width, 1100), 500), Math.min(height, 700)];
  const place = () => svg.setAttribute("viewBox", frame.join(" "));
  const whole = () => { frame = [left, top, Math.max(width, 500), height]; place(); };
  const scale = by => { frame = [frame[0] + frame[2] * (1 - by) / 2, frame[1] + frame[3] * (1 - by) / 2, frame[2] * by, frame[3] * by]; place(); };
  const centre = n => {
    const w = Math.min(frame[2], 1100), h = Math.min(frame[3], 700);
    frame = [n.x + n.w / 2 - w / 2, n.y + n.h / 2 - h / 2, w, h]; place();
  };
  svg.addEventListener("wheel", e => {
    e.preventDefault();
    const by = e.deltaY > 0 ? 1.15 : 1 / 1.15, r = svg.getBoundingClientRect();
    const x = frame[0] + (e.clientX - r.left) / r.width * frame[2], y = frame[1] + (e.clientY - r.top) / r.height * frame[3];
    frame = [x + (frame[0] - x) * by, y + (frame[1] - y) * by, frame[2] * by, frame[3] * by]; place();
  }, { passive: false });
  let drag = null;
  svg.addEventListener("pointerdown", e => { drag = [e.clientX, e.clientY, ...frame]; });
  window.addEventListener("pointerup", () => { drag = null; });
  svg.addEventListener("pointermove", e => {
    if (!drag) return;
    const r = svg.getBoundingClientRect(), scale = Math.max(frame[2] / r.width, frame[3] / r.height);
    frame[0] = drag[2] - (e.clientX - drag[0]) * scale; frame[1] = drag[3] - (e.clientY - drag[1]) * scale; place();
  });
  svg.addEventListener("keydown", e => {
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    if (move) { frame[0] += move[0] * frame[2] / 10; frame[1] += move[1] * frame[3] / 10; }
    else if (e.key === "+" || e.key === "-") scale(e.key === "-" ? 1.25 : 0.8);
    else if (e.key === "f") whole();
    else return;
    e.preventDefault(); e.stopPropagation(); place();
  });
  place();
  const found = n => state.query !== "" && (n.label + (n.title || "")).toLowerCase().includes(state.query);
  const marks = () => boxes.forEach(([g, n]) => {
    g.classList.toggle("same", n.at >= 0 && n.at === state.hovered);
    g.classList.toggle("pin", n.at >= 0 && n.at === state.pinned);
    g.classList.toggle("hit", found(n));
  });
  let hit = -1;
  state.drawings.push({
    marks,
    reveal: at => { const n = picture.nodes.find(n => n.at === at); if (n) centre(n); },
    look: step => {
      const hits = picture.nodes.filter(found);
      if (hits.length) centre(hits[hit = (hit + step + hits.length) % hits.length]);
    },
  });
  const button = (text, say, act) => $("button", { title: say, "aria-label": say, onclick: act }, text);
  outer.append($("div", { class: "bar" }, button("whole", "all of it (f)", whole), button("+", "nearer (+)", () => scale(0.8)), button("−", "further (-)", () => scale(1.25)),
    $("span", { class: "what" }, picture.say + " Wheel: zoom; drag: move; with the focus: arrows, +, - and f. Point at a box for its values.")), svg);
  return outer;
}
function graph(picture) {
  return () => {
    const source = new Pane(sourceRows(), drawSource);
    source.source = true;
    box = $("div", { class: "detail", hidden: "" });
    return $("div", { class: "panes", style: "grid-template-columns:minmax(280px, 1fr) 2.4fr" },
      $("section", { class: "pane" }, $("div", { class: "bar" }, $("b", {}, "source")), source.text, box), drawing(picture));
  };
}
function kernels(main) {
  main.className = "page";
  return $("div", {}, $("h2", {}, "Kernels"),
    $("p", { class: "say" }, "A kernel is one loop nest over memory: what it reads, what it writes, and why it is not one with the next."),
    table([["kernel", ""], ["lines", ""], ["computes", ""], ["reads, bytes", "n"], ["writes, bytes", "n"], ["why it ends here", ""]],
      D.kernels.map(k => [k.name, k.lines, k.ops, k.read, k.written, k.why])));
}
function compare() {
  const names = D.compare.stages.map(s => s.name);
  const select = $("select", { "aria-label": "stage" }, ...names.map((n, k) => $("option", { value: k }, n)));
  const panes = [0, 1].map(() => new Pane([], drawStage));
  const show = () => {
    const s = D.compare.stages[Number(select.value)];
    panes.forEach((pane, side) => pane.set(s.rows.map(([a, b, same], row) => {
      const k = side ? b : a;
      // A row is its own place: both halves of it light up.
      return { text: k < 0 ? "" : s.text[side][k], at: row, no: k < 0 ? 0 : k + 1, other: k < 0, added: !same && k >= 0 };
    })));
  };
  panes.forEach((pane, side) => pane.text.addEventListener("scroll", () => { panes[1 - side].text.scrollTop = pane.text.scrollTop; panes[1 - side].text.scrollLeft = pane.text.scrollLeft; }));
  const step = by => { if (names[Number(select.value) + by]) { select.value = Number(select.value) + by; show(); } };
  panes.forEach(pane => { pane.step = step; });
  select.addEventListener("change", show);
  select.value = Math.max(0, names.indexOf("source"));
  show();
  return $("div", { class: "pane both" }, $("div", { class: "bar" }, select, $("span", { class: "what" }, D.compare.say)),
    $("div", { class: "sides" }, ...panes.map((p, k) => $("section", { class: "pane" }, $("div", { class: "bar" }, $("b", {}, D.compare.names[k])), p.text))));
}

if (D.compare) view("compare", "side by side", compare);
if (D.stages) view("code", "code", code);
if (D.kernels && D.kernels.length) view("kernels", "kernels", kernels);
for (const picture of D.drawings || []) view(picture.name, picture.name, graph(picture));
if (D.memory) view("memory", "memory", memory);
if (D.compiles) view("compiles", "compiles", compiles);

document.getElementById("title").textContent = D.title;
document.getElementById("summary").textContent = D.summary;
document.getElementById("tabs").append(...VIEWS.map((v, k) =>
  $("button", { role: "tab", "data-view": v.name, title: `key ${k + 1}`, onclick: () => open(v.name) }, v.title)));

/* Search, keys, light and dark. */
const search = document.getElementById("search");
function look(step) {
  state.drawings.forEach(d => d.look(step));
  const pane = state.last && state.last.rows.some(r => r.text.toLowerCase().includes(state.query)) ? state.last
    : state.panes.find(p => p.rows.some(r => r.text.toLowerCase().includes(state.query)));
  if (!pane || !state.query) return;
  const hits = pane.rows.flatMap((r, k) => r.text.toLowerCase().includes(state.query) ? [k] : []);
  pane.hit = ((pane.hit === undefined ? -step : pane.hit) + step + hits.length) % hits.length;
  pane.text.scrollTop = Math.max(0, hits[pane.hit] * HEIGHT - pane.text.clientHeight / 3);
  pane.show();
}
search.addEventListener("input", () => {
  state.query = search.value.trim().toLowerCase();
  state.panes.forEach(p => { p.hit = undefined; });
  repaint(); look(1);
});
search.addEventListener("keydown", e => { if (e.key === "Enter") { look(e.shiftKey ? -1 : 1); e.preventDefault(); } });
function theme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}
document.getElementById("theme").addEventListener("click", theme);
document.getElementById("help").addEventListener("click", () => document.getElementById("keys").showModal());
function next(step) {
  const pane = state.panes.find(p => p.source);
  if (!pane) return;
  const known = pane.rows.map((r, k) => [r.at, k]).filter(([at]) => at >= 0);
  const now = state.hovered >= 0 ? state.hovered : state.pinned, k = known.findIndex(([at]) => at === now);
  const found = known[Math.min(known.length - 1, Math.max(0, k < 0 ? 0 : k + step))];
  if (!found) return;
  state.hovered = found[0];
  state.panes.forEach(p => p.reveal(found[0]));
  repaint();
}
document.addEventListener("keydown", e => {
  if (["INPUT", "SELECT"].includes(e.target.tagName)) { if (e.key === "Escape") e.target.blur(); return; }
  if (e.ctrlKey || e.metaKey || e.altKey || document.getElementById("keys").open) return;
  const pane = state.last || state.panes.find(p => p.step);
  const keys = {
    j: () => next(1), ArrowDown: () => next(1), k: () => next(-1), ArrowUp: () => next(-1),
    Enter: () => { if (state.hovered >= 0) pin(state.hovered); }, Escape: () => { state.hovered = -1; pin(-1); },
    "[": () => pane && pane.step && pane.step(-1), "]": () => pane && pane.step && pane.step(1),
    d: () => pane && pane.difference && pane.difference(),
    "/": () => search.focus(), n: () => look(1), N: () => look(-1), t: theme,
    "?": () => document.getElementById("keys").showModal(),
  };
  const tab = VIEWS[Number(e.key) - 1], act = tab ? () => open(tab.name) : keys[e.key];
  if (!act || e.key === "Enter" && e.target.tagName === "BUTTON") return;
  e.preventDefault();
  act();
});
open(VIEWS[0].name);
document.documentElement.dataset.ready = "true";

"use strict";
// The page: it shows what Python computed, and computes nothing of the model itself.
// All text goes through textContent, so that no name can be anything but text.

const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const graph = at("graph"), view = at("view"), panel = at("panel"), search = at("search");
const node = (number) => at(`node-${number}`);
const nodes = Object.keys(data.nodes).map(Number);

/** An element with attributes and children, which are elements or texts. */
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "rect", "title"].includes(tag);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag)
                   : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Bytes of base64. */
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** What is told of a layer, which is stored compressed. */
async function blocksOf(number) {
  const stored = new Blob([bytes(at(`layer-${number}`).textContent)]).stream();
  return new Response(stored.pipeThrough(new DecompressionStream("deflate"))).json();
}

const say = (text) => { at("said").textContent = text; };

// --- colours -----------------------------------------------------------------------

let measure = data.measures[0];

function colourBy(key) {
  measure = data.measures.find((one) => one.key === key);
  for (const number of nodes) {
    if (!data.nodes[number].layer) continue; // inputs and outputs keep their text
    const [colour, text, bar] = measure.nodes[number] ?? ["", "", 0];
    const drawn = node(number), { said } = data.nodes[number];
    const label = text ? `${said}, ${text}` : said;
    drawn.dataset.colour = colour;
    drawn.setAttribute("aria-label", label);
    drawn.querySelector("title").textContent = label;
    drawn.querySelector(".value").textContent = text;
    drawn.querySelector(".bar").setAttribute("width", bar);
  }
  at("legend").replaceChildren(...measure.legend.map((text, colour) => {
    const bar = make("i", { "aria-hidden": true });
    bar.style.width = `${100 * colour / (measure.legend.length - 1)}%`;
    return make("span", { "data-colour": colour }, text, bar);
  }));
  at("measure-about").textContent = measure.about;
}

at("measures").addEventListener("change", (event) => colourBy(event.target.value));

// --- the view: what part of the graph is seen ----------------------------------------

const [, , fullWidth, fullHeight] = graph.getAttribute("viewBox").split(" ").map(Number);
let [left, above, scale] = [0, 0, 1]; // the upper left corner, and pixels for a unit

const size = () => [Math.max(view.clientWidth, 1), Math.max(view.clientHeight, 1)];

function look() {
  const [width, height] = size();
  graph.setAttribute("viewBox", `${left} ${above} ${width / scale} ${height / scale}`);
}

/** Zoom around a point of the view, in pixels: its middle if none is given. */
function zoom(factor, x = size()[0] / 2, y = size()[1] / 2) {
  const next = Math.min(Math.max(scale * factor, 0.02), 4);
  left += x / scale - x / next;
  above += y / scale - y / next;
  scale = next;
  look();
}

function showWhole() {
  const [width, height] = size();
  scale = Math.min(width / fullWidth, height / fullHeight, 1);
  left = (fullWidth - width / scale) / 2;
  above = (fullHeight - height / scale) / 2;
  look();
}

/** Where a node's box is: left, above, width and height. */
function boxOf(number) {
  const { e: x, f: y } = node(number).transform.baseVal.consolidate().matrix;
  const { width, height } = node(number).querySelector(".box");
  return [x, y, width.baseVal.value, height.baseVal.value];
}

/** Move the view so that a node is in its middle, if it isn't inside already, large
    enough to be read if `legible`. */
function bringIntoView(number, legible = false) {
  if (legible && scale < 0.6) scale = 1;
  const [width, height] = size().map((pixels) => pixels / scale);
  const [x, y, boxWidth, boxHeight] = boxOf(number);
  const inside = x > left && x + boxWidth < left + width
    && y > above && y + boxHeight < above + height;
  if (inside) return;
  left = x + boxWidth / 2 - width / 2;
  above = y + boxHeight / 2 - height / 2;
  look();
}

/** The whole graph if its colours and bars can be made out, or its beginning. */
function lookFirst() {
  showWhole();
  if (scale > 0.3) return;
  const [x, , boxWidth] = boxOf(nodes[0]);
  [left, above, scale] = [x + boxWidth / 2 - size()[0] / 2, 0, 1];
  look();
}

at("closer").addEventListener("click", () => zoom(1.4));
at("farther").addEventListener("click", () => zoom(1 / 1.4));
at("whole").addEventListener("click", showWhole);
new ResizeObserver(look).observe(view);

graph.addEventListener("wheel", (event) => {
  event.preventDefault();
  const corner = view.getBoundingClientRect();
  zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, event.clientX - corner.x, event.clientY - corner.y);
}, { passive: false });

let dragged = null; // where the pointer was last, and how far it went
graph.addEventListener("pointerdown", (event) => {
  dragged = { x: event.clientX, y: event.clientY, far: 0 };
});
addEventListener("pointermove", (event) => {
  if (dragged === null) return;
  const [x, y] = [event.clientX - dragged.x, event.clientY - dragged.y];
  left -= x / scale;
  above -= y / scale;
  dragged = { x: event.clientX, y: event.clientY, far: dragged.far + Math.hypot(x, y) };
  look();
});
addEventListener("pointerup", (event) => {
  const clicked = dragged !== null && dragged.far < 5 && event.target.closest?.(".node");
  dragged = null;
  if (clicked) open(numberOf(clicked));
});

// --- nodes ---------------------------------------------------------------------------

const numberOf = (drawn) => Number(drawn.id.slice("node-".length));
let current = nodes[0];
let opened = null;

/** Make a node the one that Tab comes to, and go there. */
function focusNode(number) {
  node(current).setAttribute("tabindex", -1);
  current = number;
  node(number).setAttribute("tabindex", 0);
  bringIntoView(number);
  node(number).focus({ preventScroll: true });
}

const ARROWS = ["ArrowUp", "ArrowRight", "ArrowDown", "ArrowLeft"];

graph.addEventListener("keydown", (event) => {
  const arrow = ARROWS.indexOf(event.key);
  if (arrow >= 0 && event.shiftKey) {
    left += [0, 80, 0, -80][arrow] / scale;
    above += [-80, 0, 80, 0][arrow] / scale;
    look();
  } else if (arrow >= 0) {
    const next = data.nodes[current].next[arrow];
    if (next >= 0) focusNode(next);
  } else if (event.key === "Home" || event.key === "End") {
    focusNode(nodes.at(event.key === "Home" ? 0 : -1));
  } else if (event.key === "Enter" || event.key === " ") {
    open(current);
  } else {
    return;
  }
  event.preventDefault();
});

async function open(number) {
  focusNode(number);
  bringIntoView(number, true);
  if (!data.nodes[number].layer) return;
  if (opened !== null) node(opened).setAttribute("aria-selected", false);
  opened = number;
  node(number).setAttribute("aria-selected", true);
  markRow();
  const blocks = await blocksOf(number);
  if (opened !== number) return;
  at("panel-title").textContent = data.nodes[number].said;
  at("blocks").replaceChildren(...drawBlocks(blocks));
  panel.hidden = false;
  panel.scrollTop = 0;
  document.querySelector("main").classList.add("open");
  look();
  bringIntoView(number, true);
  at("panel-title").focus();
}

function close() {
  if (opened === null) return;
  node(opened).setAttribute("aria-selected", false);
  panel.hidden = true;
  document.querySelector("main").classList.remove("open");
  const last = opened;
  opened = null;
  markRow();
  focusNode(last);
}

at("close").addEventListener("click", close);
/** Keys that do the same wherever the focus is, but where it takes text. */
const KEYS = {
  "/": () => { at("controls").open = true; search.focus(); search.select(); },
  "+": () => zoom(1.4),
  "=": () => zoom(1.4),
  "-": () => zoom(1 / 1.4),
  "0": showWhole,
  Escape: close,
};

addEventListener("keydown", (event) => {
  const takesText = document.activeElement.matches("select, [type=text]");
  const plain = !(event.ctrlKey || event.altKey || event.metaKey);
  if (!plain || !Object.hasOwn(KEYS, event.key)) return;
  if (takesText && (event.key !== "Escape" || document.activeElement === search)) return;
  KEYS[event.key]();
  event.preventDefault();
});

// --- the table of layers -------------------------------------------------------------

let sortedBy = { column: 0, descending: false };

/** Numbers of layers in the order of a column: number, name and kind, then measures. */
function sorted({ column, descending }) {
  const layers = nodes.filter((number) => data.nodes[number].layer);
  const by = data.measures[column - 3];
  if (by) return by.order.filter((number) => layers.includes(number));
  const key = ["", "name", "kind"][column];
  if (key) layers.sort((a, b) => data.nodes[a][key].localeCompare(data.nodes[b][key]));
  return descending ? layers.reverse() : layers;
}

function drawList() {
  const titles = ["#", "layer", "op", ...data.measures.map(({ title }) => title)];
  const head = titles.map((title, column) => {
    const button = make("button", { type: "button" }, title);
    button.addEventListener("click", () => {
      const again = sortedBy.column === column && !sortedBy.descending;
      sortedBy = { column, descending: column > 2 || again };
      drawList();
      at("list").querySelectorAll("th button")[column].focus();
    });
    const order = sortedBy.descending ? "descending" : "ascending";
    return make("th", { scope: "col", "aria-sort": sortedBy.column === column ? order : "none",
      ...(column > 2 || !column ? { class: "right" } : {}) }, button);
  });
  const rows = sorted(sortedBy).map((number) => {
    const { name, kind } = data.nodes[number];
    const link = make("button", { type: "button", title: name }, name);
    const row = make("tr", { id: `row-${number}` }, make("td", { class: "right" }, number),
      make("td", {}, link), make("td", {}, kind), ...data.measures.map((one) => {
        const [colour, text, , share] = one.nodes[number] ?? ["", "", 0, ""];
        const cell = make("span", { "data-colour": colour, title: text }, share);
        return make("td", { class: "right" }, cell);
      }));
    row.addEventListener("click", () => open(number));
    return row;
  });
  at("list").replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...rows)));
  markRow();
}

function markRow() {
  at("list").querySelector("[aria-current]")?.removeAttribute("aria-current");
  if (opened !== null) at(`row-${opened}`)?.setAttribute("aria-current", true);
}

function showList(shown) {
  at("list").hidden = !shown;
  at("listed").setAttribute("aria-expanded", shown);
  look();
}

at("listed").addEventListener("click", () => showList(at("list").hidden));

// --- search --------------------------------------------------------------------------

const MOST_MATCHES = 40;
let found = [], chosen = -1;

function find() {
  const words = search.value.toLowerCase().split(" ").filter(Boolean);
  const fits = (number) => words.every((word) => data.nodes[number].text.includes(word));
  found = measure.order.filter(fits).slice(0, MOST_MATCHES);
  chosen = found.length ? 0 : -1;
  const items = found.map((number, place) => make(
    "li", { role: "option", id: `match-${place}` }, node(number).getAttribute("aria-label")));
  items.forEach((item, place) => item.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    take(place);
  }));
  at("matches").replaceChildren(...items);
  showMatches(true);
  say(`found: ${found.length || "none"}`);
}

function showMatches(shown) {
  at("matches").hidden = !shown || !found.length;
  search.setAttribute("aria-expanded", shown && found.length > 0);
  search.setAttribute("aria-activedescendant", shown && chosen >= 0 ? `match-${chosen}` : "");
  [...at("matches").children].forEach((item, place) => {
    item.setAttribute("aria-selected", place === chosen);
    if (place === chosen) item.scrollIntoView({ block: "nearest" });
  });
}

function take(place) {
  showMatches(false);
  open(found[place]);
}

search.addEventListener("input", find);
search.addEventListener("focus", find);
search.addEventListener("blur", () => showMatches(false));
search.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && found.length) {
    chosen = (chosen + step + found.length) % found.length;
    showMatches(true);
  } else if (event.key === "Enter" && chosen >= 0) {
    take(chosen);
  } else if (event.key === "Escape") {
    search.value = "";
    focusNode(current);
  } else {
    return;
  }
  event.preventDefault();
});
at("tools").addEventListener("submit", (event) => event.preventDefault());

// --- what a layer shows: a function for each kind of block ---------------------------

function drawBlocks(blocks, level = "h3") {
  const shared = { elements: [], choose: () => {}, mark: () => {} };
  const withElements = blocks.find((block) => block.kind === "elements");
  if (withElements) shared.elements = withElements.items;
  return blocks.flatMap((block) => [
    ...(block.title && block.kind !== "code" ? [make(level, {}, block.title)] : []),
    DRAWN[block.kind](block, shared),
  ]);
}

const note = (text) => make("p", { class: "note" }, text);

const DRAWN = {
  facts: ({ rows }) => make("dl", {}, ...rows.flatMap(([name, text]) =>
    [make("dt", {}, name), make("dd", {}, text)])),

  table({ columns, rows, notes }) {
    const side = (column) => (columns[column][1] ? { class: "right" } : {});
    const head = columns.map(([title], place) =>
      make("th", { scope: "col", ...side(place) }, title));
    const body = rows.map((cells) => make("tr", cells[0] === ">" ? { class: "parting" } : {},
      ...cells.map((cell, place) => make("td", side(place), cell))));
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...head)),
      make("tbody", {}, ...body));
    return make("div", {}, make("div", { class: "scroll", tabindex: 0, role: "group",
      "aria-label": "table" }, table), ...notes.map(note));
  },

  histogram({ bars, about }) {
    const drawn = bars.map(([label, count, height], place) =>
      make("rect", { x: place + 0.05, y: 100 - height, width: 0.9, height },
        make("title", {}, `${label}: ${count}`)));
    const picture = make("svg", { class: "histogram", viewBox: `0 0 ${bars.length} 100`,
      preserveAspectRatio: "none", role: "img", "aria-label": about }, ...drawn);
    const table = DRAWN.table({ columns: [["values", true], ["elements", true]],
      rows: bars.map(([label, count]) => [label, count]), notes: [] });
    return make("div", {}, picture, note(about),
      make("details", {}, make("summary", {}, "as a table"), table));
  },

  strip({ title, marks, about }) {
    const drawn = marks.map(([place, text]) =>
      make("rect", { x: place, y: 3, width: 3, height: 16 }, make("title", {}, text)));
    const picture = make("svg", { class: "strip", viewBox: "-10 0 1023 22",
      preserveAspectRatio: "none", role: "img", "aria-label": `${title}: ${about}` }, ...drawn);
    const list = make("pre", { tabindex: 0 }, marks.map(([, text]) => text).join("\n"));
    return make("div", {}, picture, note(about),
      make("details", {}, make("summary", {}, "as a list"), list));
  },

  code: ({ title, text, about }) => make("details", {}, make("summary", {}, title),
    make("pre", { tabindex: 0 }, text), ...(about ? [note(about)] : [])),

  elements({ about, items }, shared) {
    const list = make("select", { class: "element-list", "aria-label": "element" },
      ...items.map(({ at: place, value, why }, number) =>
        make("option", { value: number }, `${place}  ${value}  (${why})`)));
    const shown = make("div", { "aria-live": "polite" });
    function show() {
      const { lines, blocks } = items[list.value];
      shown.replaceChildren(...lines.map(note), ...drawBlocks(blocks, "h4"));
      shared.mark(Number(list.value));
    }
    list.addEventListener("change", show);
    shared.choose = (number) => { list.value = number; show(); };
    show();
    return make("div", {}, list, shown, note(about));
  },

  maps({ items }, shared) {
    const which = make("select", { "aria-label": "picture" },
      ...items.map(({ title }, number) => make("option", { value: number }, title)));
    const choices = make("div", { class: "choices" }), shown = make("div");
    const show = () => {
      const [channels, ...rest] = drawMap(items[which.value], shared);
      choices.replaceChildren(which, channels);
      shown.replaceChildren(...rest);
    };
    which.addEventListener("change", show);
    show();
    return make("div", {}, choices, shown);
  },
};

// --- pictures of tensors -------------------------------------------------------------

/** Fill a canvas with cells in the colours of a palette. */
function paint(canvas, cells, palette) {
  const colours = bytes(data.palettes[palette]);
  const pixels = new ImageData(canvas.width, canvas.height);
  cells.forEach((cell, place) => {
    pixels.data.set(colours.subarray(3 * cell, 3 * cell + 3), 4 * place);
    pixels.data[4 * place + 3] = 255;
  });
  canvas.getContext("2d").putImageData(pixels, 0, 0);
}

/** Pixels that a picture in the panel may have. */
const panelWidth = () => Math.max(Math.min(innerWidth, 900) - 40, 200);

function drawMap(map, shared) {
  const { rows, columns } = map, all = bytes(map.cells);
  const [widest, tallest] = [Math.min(560, panelWidth()), 320];
  const cellSize = Math.min(widest / columns, tallest / rows, 40);
  const canvas = make("canvas", { width: columns, height: rows });
  const over = make("svg", { viewBox: `0 0 ${columns} ${rows}`, tabindex: 0, role: "img",
    preserveAspectRatio: "none", "aria-label": `${map.title}: arrow keys go from cell to cell` });
  const picture = make("div", { class: "picture" }, canvas, over);
  picture.style.width = `${Math.max(columns * cellSize, 40)}px`;
  picture.style.height = `${Math.max(rows * cellSize, 16)}px`;
  const told = make("p", { class: "note", role: "status" });
  const plane = make("select", { "aria-label": "channel" },
    ...map.planes.map((title, number) => make("option", { value: number }, title)));
  const cursor = make("rect", { class: "cursor", width: 1, height: 1 });
  let [row, column] = [0, 0];

  const elementAt = (r, c) => shared.elements.findIndex(({ cell }) =>
    (cell[0] + map.first === Number(plane.value) || Number(plane.value) < map.first)
    && cell[1] === r && cell[2] === c);

  function tell() {
    cursor.setAttribute("x", column);
    cursor.setAttribute("y", row);
    const value = map.labels[all[(Number(plane.value) * rows + row) * columns + column]];
    const place = map.wrapped ? `element ${(row * columns + column) * map.steps[2]}`
      : `row ${row * map.steps[1]}, column ${column * map.steps[2]}`;
    const known = elementAt(row, column) >= 0 ? "; Enter shows how it came about" : "";
    told.textContent = `${place}: ${value}${known}`;
  }

  function draw() {
    const start = Number(plane.value) * rows * columns;
    paint(canvas, all.subarray(start, start + rows * columns), map.palette);
    const marks = shared.elements.flatMap(({ cell, at: place }) =>
      (elementAt(cell[1], cell[2]) < 0 ? [] : [make("rect",
        { class: "mark", x: cell[2], y: cell[1], width: 1, height: 1 },
        make("title", {}, place))]));
    over.replaceChildren(...marks, cursor);
    tell();
  }

  function choose() {
    const number = elementAt(row, column);
    if (number >= 0) shared.choose(number);
  }

  over.addEventListener("click", (event) => {
    const box = over.getBoundingClientRect();
    column = Math.min(Math.floor((event.clientX - box.x) / box.width * columns), columns - 1);
    row = Math.min(Math.floor((event.clientY - box.y) / box.height * rows), rows - 1);
    tell();
    choose();
  });
  over.addEventListener("keydown", (event) => {
    const arrow = ARROWS.indexOf(event.key);
    if (arrow >= 0) {
      row = Math.min(Math.max(row + [-1, 0, 1, 0][arrow], 0), rows - 1);
      column = Math.min(Math.max(column + [0, 1, 0, -1][arrow], 0), columns - 1);
      tell();
    } else if (event.key === "Enter") {
      choose();
    } else {
      return;
    }
    event.preventDefault();
  });
  plane.addEventListener("change", draw);
  shared.mark = (number) => {
    const { cell } = shared.elements[number];
    [row, column] = [cell[1], cell[2]];
    draw();
  };
  draw();

  const ramp = make("canvas", { width: 256, height: 1, "aria-hidden": true });
  paint(ramp, Uint8Array.from({ length: 256 }, (_, cell) => cell), map.palette);
  const scale = make("div", { class: "scale" }, map.ends[0], ramp, map.ends[1]);
  plane.hidden = map.planes.length < 2;
  const keys = shared.elements.length ? [make("p", { class: "note" },
    make("span", { class: "key" }), " an element whose steps are shown below  ",
    make("span", { class: "key dashed" }), " the chosen cell")] : [];
  return [plane, picture, told, scale, ...keys,
    ...(map.about ? [note(map.about)] : [])];
}

// --- beginning -----------------------------------------------------------------------

const narrow = matchMedia("(max-width: 700px)").matches;
at("controls").open = !narrow;
colourBy(measure.key);
drawList();
showList(innerWidth >= 1000 && sorted(sortedBy).length > 20);
lookFirst();

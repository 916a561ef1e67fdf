"use strict";
/* The table of rules: sorted, searched, copied. */

const RATIO = { logit: "odds ×", log: "mean ×" };

function columnsOf(data) {
  const ratio = RATIO[data.link];
  return [
    { key: "text", label: "rule", kind: "text" },
    { key: "coef", label: "coefficient", kind: "number" },
    ...(ratio ? [{ key: "ratio", label: ratio, kind: "number" }] : []),
    { key: "support", label: "rows", kind: "number" },
    { key: "importance", label: "importance", kind: "number" },
  ];
}

/* What the table shows of each term of a model. */
function linesOf(data, model, output) {
  const importances = importancesOf(data, model, output);
  return model.terms.map((k, i) => {
    const term = data.terms[k];
    const coef = model.coefs[i][output];
    const ratio = term.line ? null : Math.exp(coef);
    return {
      i,
      term,
      text: term.text,
      coef,
      ratio,
      support: term.mean,
      importance: importances[i],
    };
  });
}

function sortLines(lines, { key, down }) {
  const way = down ? -1 : 1;
  const compare = (a, b) =>
    key === "text" ? a.text.localeCompare(b.text) : (a[key] ?? -Infinity) - (b[key] ?? -Infinity);
  return [...lines].sort((a, b) => way * compare(a, b) || a.i - b.i);
}

function matchesSearch(line, search) {
  const text = line.text.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/* Rows shown at first, so that a long model does not push all else down the page. */
const MOST_ROWS = 20;

function drawRules(data, state, answer, sortBy, showAll) {
  const model = data.models[state.model];
  const lines = sortLines(linesOf(data, model, state.output), state.sort);
  const shown = lines.filter((line) => matchesSearch(line, state.search));
  const scale = {
    coef: Math.max(...lines.map((line) => Math.abs(line.coef)), 1e-300),
    importance: Math.max(...lines.map((line) => line.importance), 1e-300),
    decimals: decimalsFor(lines.map((line) => line.coef)),
    places: decimalsFor(lines.map((line) => line.importance)),
  };
  const columns = columnsOf(data);
  const heads = columns.map((column) => drawHead(column, state.sort, sortBy));
  const rows = shown.map((line, place) => {
    const row = drawLine(line, columns, scale, answer.values[line.i]);
    row.classList.toggle("late", place >= MOST_ROWS);
    return row;
  });
  const none = make(
    "tr",
    {},
    make("td", { colspan: columns.length, class: "quiet" }, emptyText(lines)),
  );
  const foot = drawIntercept(model.intercept[state.output], columns, scale);
  const table = make(
    "table",
    {},
    make("thead", {}, make("tr", {}, ...heads)),
    make("tbody", {}, ...(rows.length ? rows : [none])),
    make("tfoot", {}, foot),
  );
  const box = byId("rules-table");
  const late = rows.length - MOST_ROWS;
  box.classList.toggle("short", !state.allRows);
  const more = make(
    "button",
    { type: "button", class: "more-rows", onclick: showAll },
    `Show ${count(late, "more rule")}`,
  );
  box.replaceChildren(table, ...(late > 0 && !state.allRows ? [more] : []));
}

function emptyText(lines) {
  return lines.length ? "No rule has these words." : "No rules: the model is its intercept.";
}

function drawHead(column, sort, sortBy) {
  const mine = sort.key === column.key;
  const arrow = make("span", { class: "arrow" }, mine ? (sort.down ? "▾" : "▴") : "");
  const button = make(
    "button",
    { type: "button", onclick: () => sortBy(column) },
    column.label,
    arrow,
  );
  const order = mine ? (sort.down ? "descending" : "ascending") : "none";
  return make("th", { class: column.kind, "aria-sort": order, scope: "col" }, button);
}

function drawLine(line, columns, scale, value) {
  const fires = line.term.line ? true : value === 1;
  const cells = columns.map((column) =>
    make(
      "td",
      { class: `${column.kind} c-${column.key}`, "data-label": column.label },
      ...drawCell(column.key, line, scale, fires),
    ),
  );
  return make("tr", { class: fires ? "fires" : "" }, ...cells);
}

function drawCell(key, line, scale, fires) {
  switch (key) {
    case "text":
      return [
        make("span", { class: "lamp", title: fires ? "at work in “What if”" : "not at work" }),
        ruleText(line.term),
      ];
    case "coef":
      return [
        make(
          "span",
          { class: "figure", title: String(line.coef) },
          line.term.line ? slope(line.coef) : signed(line.coef, scale.decimals),
          line.term.line ? make("small", {}, " per unit") : null,
        ),
        line.term.line ? null : bar(0, line.coef, -scale.coef, scale.coef, kindOf(line.coef)),
      ].filter(Boolean);
    case "ratio":
      return [
        line.ratio === null
          ? NONE
          : line.ratio < 1000
            ? line.ratio.toFixed(2)
            : show(line.ratio, 3),
      ];
    case "support":
      return [line.term.line ? NONE : percent(line.support, 1)];
    default:
      return [
        make("span", { class: "figure" }, line.importance.toFixed(scale.places)),
        bar(0, line.importance, 0, scale.importance, "plain"),
      ];
  }
}

function slope(coef) {
  return (coef < 0 ? MINUS : "+") + show(Math.abs(coef), 3);
}

function drawIntercept(intercept, columns, scale) {
  const cells = columns.map(({ key, kind }) => {
    const text = { text: "intercept", coef: signed(intercept, scale.decimals) }[key] ?? "";
    return make("td", { class: `${kind} c-${key}` }, text);
  });
  return make("tr", {}, ...cells);
}

/* The model as plain text, in the order of the table. */
function modelText(data, state) {
  const model = data.models[state.model];
  const lines = sortLines(linesOf(data, model, state.output), state.sort);
  const name = data.outputs > 1 ? `, class ${data.classes[state.output]}` : "";
  const numbers = [model.intercept[state.output], ...lines.map((line) => line.coef)];
  const texts = numbers.map((x) => (x < 0 ? "" : "+") + String(Number(x.toPrecision(6))));
  const width = Math.max(...texts.map((text) => text.length));
  const terms = ["(intercept)", ...lines.map((line) => line.text)];
  const body = terms.map((term, i) => `${texts[i].padStart(width)}  ${term}`);
  return [`${data.title}: ${data.family} model with ${data.link} link${name}`, ...body, ""].join(
    "\n",
  );
}

"use strict";
/* State of the page, and what happens when it changes. */

const data = prepare(JSON.parse(byId("data").textContent));
const state = {
  model: data.chosen,
  output: 0,
  metric: 0,
  row: startRow(data),
  sort: { key: "importance", down: true },
  search: "",
  allRows: false,
};
let redrawShape = new Map();

function answerNow() {
  return evaluate(data, data.models[state.model], state.row);
}

function drawTable() {
  drawRules(data, state, answerNow(), sortBy, showAll);
}

function drawAnswer() {
  const answer = answerNow();
  drawResult(data, state, answer);
  drawSum(data, state, answer);
  drawRules(data, state, answer, sortBy, showAll);
}

function drawCurvePath() {
  if (data.models.length > 1) drawTradeoff(byId("tradeoff-chart"), data, state, pickModel);
}

function drawModel() {
  const model = data.models[state.model];
  byId("pick").value = state.model;
  byId("pick").setAttribute("aria-valuetext", `complexity ${show(model.complexity)}`);
  byId("simpler").disabled = state.model === 0;
  byId("richer").disabled = state.model === data.models.length - 1;
  drawBarText(model);
  drawFacts(data, state);
  drawInputs(data, state, changeValue);
  byId("copy-sql").hidden = !model.sql;
  redrawShape = drawShapes(data, state);
  drawImportance(data, state);
  drawScores(data, state);
  drawAbout(data, state);
  drawCurvePath();
  drawAnswer();
}

function drawBarText(model) {
  const size = model.lines
    ? `${count(model.rules, "rule")}, ${count(model.lines, "line")}`
    : count(model.rules, "rule");
  const metric = data.metrics[state.metric];
  const score =
    metric && model.scores[metric.key] != null
      ? ` · ${metric.label} ${show(model.scores[metric.key])}`
      : "";
  const chosen =
    data.models.length > 1 && state.model === data.chosen
      ? make("span", { class: "tag" }, "chosen")
      : null;
  const place =
    data.models.length > 1 ? `Model ${state.model + 1} of ${data.models.length}` : "Model";
  byId("bar-text").replaceChildren(
    ...[
      make("strong", {}, place),
      ` ${size}`,
      make("span", { class: "long" }, ` · complexity ${show(model.complexity)}${score}`),
      chosen,
    ].filter(Boolean),
  );
}

function pickModel(index) {
  const next = Math.max(0, Math.min(data.models.length - 1, index));
  if (next === state.model) return;
  state.model = next;
  drawModel();
}

function changeValue(feature, value) {
  state.row[feature] = value;
  redrawShape.get(feature)?.();
  drawAnswer();
}

function sortBy(column) {
  const same = state.sort.key === column.key;
  state.sort = { key: column.key, down: same ? !state.sort.down : column.kind === "number" };
  drawTable();
}

function showAll() {
  state.allRows = true;
  drawTable();
}

function isDark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  byId("theme").textContent = isDark() ? "Light" : "Dark";
}

function fillSelect(id, names, key) {
  byId(id).replaceChildren(...names.map((name, k) => make("option", { value: k }, name)));
  byId(id).addEventListener("change", (event) => {
    state[key] = Number(event.target.value);
    drawModel();
  });
}

function redrawCharts() {
  drawCurvePath();
  for (const redraw of redrawShape.values()) redraw();
  drawScores(data, state);
}

function watchWidth() {
  for (const [event, paper] of [
    ["beforeprint", true],
    ["afterprint", false],
  ]) {
    addEventListener(event, () => {
      onPaper = paper;
      redrawCharts();
    });
  }
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) redrawCharts();
    width = innerWidth;
  });
}

function start() {
  byId("title").textContent = data.title;
  byId("subtitle").textContent = subtitleOf(data);
  byId("rules-hint").textContent =
    `${data.link === "identity" ? "The prediction" : "The linear predictor"} is the intercept plus the coefficients of the rules that hold; a lamp marks those that hold in “What if”.`;
  const many = data.models.length > 1;
  byId("bar").hidden = !many && data.outputs === 1;
  byId("picker").hidden = byId("tradeoff").hidden = !many;
  byId("tradeoff").hidden = !many;
  byId("pick").max = data.models.length - 1;
  byId("pick").addEventListener("input", (event) => pickModel(Number(event.target.value)));
  addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const elsewhere = event.target === document.body || event.target.tagName === "BUTTON";
    if (step && elsewhere && !event.altKey && !event.ctrlKey && !event.metaKey)
      pickModel(state.model + step);
  });
  byId("simpler").addEventListener("click", () => pickModel(state.model - 1));
  byId("richer").addEventListener("click", () => pickModel(state.model + 1));
  fillSelect(
    "metric",
    data.metrics.map((metric) => metric.label),
    "metric",
  );
  fillSelect("class", data.classes, "output");
  byId("class-picker").hidden = data.outputs === 1;
  byId("search").addEventListener("input", (event) => {
    state.search = event.target.value;
    drawTable();
  });
  byId("copy-text").addEventListener("click", () => copy(modelText(data, state), "Rules"));
  byId("copy-sql").addEventListener("click", () => copy(data.models[state.model].sql, "SQL"));
  byId("reset").addEventListener("click", () => {
    state.row = startRow(data);
    drawModel();
  });
  byId("theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  byId("print").addEventListener("click", () => print());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme());
  setTheme();
  watchWidth();
  drawModel();
}

start();

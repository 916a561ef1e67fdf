"use strict";
/* Figures of a model, shapes, importances, scores and what the page is about. */

function drawFacts(data, state) {
  const model = data.models[state.model];
  const facts = [
    [
      count(model.rules, "rule"),
      model.lines
        ? `and ${count(model.lines, "line")}`
        : `of ${count(model.conditions, "condition")}`,
    ],
    [show(model.complexity), "complexity"],
    ...data.metrics
      .filter((metric) => metric.key !== "train_loss" && model.scores[metric.key] != null)
      .slice(0, 4)
      .map((metric) => [scoreText(model, metric), metric.label]),
  ];
  byId("facts").replaceChildren(
    ...facts.map(([figure, label]) => {
      const [main, error] = figure.split(" ± ");
      const strong = make("strong", {}, main, error ? make("small", {}, ` ± ${error}`) : null);
      return make("div", { class: "fact" }, strong, make("span", {}, label));
    }),
  );
}

function scoreText(model, metric) {
  const score = model.scores[metric.key];
  const error = metric.error ? model.scores[metric.error] : null;
  if (!error || score == null) return show(score);
  const decimals = Math.max(0, 1 - Math.floor(Math.log10(error)));
  if (decimals > 6) return `${show(score)} ± ${show(error)}`;
  return `${score.toFixed(decimals).replace("-", MINUS)} ± ${error.toFixed(decimals)}`;
}

function drawShapes(data, state) {
  const model = data.models[state.model];
  const used = usedFeatures(data, model);
  const shapes = used
    .map((f) => ({ f, shape: shapeOf(data, model, f, state.output) }))
    .filter(({ shape }) => shape.terms.length);
  byId("shapes").hidden = shapes.length === 0;
  const several = model.terms.filter((k) => featuresOf(data.terms[k]).length > 1).length;
  byId("shapes-hint").textContent =
    "What the rules and lines of one feature add to the linear predictor, and where “What if” stands." +
    (several
      ? ` ${count(several, "rule")} of several features ${several === 1 ? "comes" : "come"} on top.`
      : "");
  const cards = shapes.map(({ f, shape }) => {
    const box = make("div", { class: "chart" });
    return {
      f,
      shape,
      box,
      card: make("figure", {}, make("figcaption", {}, data.features[f].name), box),
    };
  });
  byId("shapes-grid").replaceChildren(...cards.map(({ card }) => card));
  const width = cards.length ? widthOf(cards[0].box) : 0; // read once: each reading lays out the page
  for (const { f, shape, box } of cards)
    drawShape(box, width, data.features[f], shape, state.row[f]);
  return new Map(
    cards.map(({ f, shape, box }) => [
      f,
      () => drawShape(box, widthOf(box), data.features[f], shape, state.row[f]),
    ]),
  );
}

const MOST_FEATURES = 15;
const MOST_PAIRS = 6;

function drawImportance(data, state) {
  const model = data.models[state.model];
  const single = featureImportances(data, model, state.output);
  const name = (f) => data.features[f].name;
  const none = make("p", { class: "quiet" }, "The model reads no feature.");
  const singles = single.map(([f, x]) => [make("span", { class: "name" }, name(f)), x]);
  const total = single.reduce((sum, [, x]) => sum + x, 0) || 1;
  byId("importance-list").replaceChildren(
    singles.length ? drawBars(singles, total, MOST_FEATURES) : none,
  );
  const pairs = pairImportances(data, model, state.output).map(([[f, g], x]) => [
    make("span", { class: "name" }, name(f), make("span", { class: "and" }, " × "), name(g)),
    x,
  ]);
  byId("pairs").hidden = pairs.length === 0;
  byId("pairs-list").replaceChildren(drawBars(pairs, total, MOST_PAIRS));
}

/* Bars of shares of a total, the first few. */
function drawBars(lines, total, most) {
  const top = Math.max(...lines.map(([, x]) => x), 1e-300);
  const items = lines
    .slice(0, most)
    .map(([label, x]) =>
      make(
        "li",
        {},
        label,
        make("span", { class: "figure" }, percent(x / total)),
        bar(0, x, 0, top, "plain"),
      ),
    );
  if (lines.length > most)
    items.push(make("li", { class: "quiet" }, `and ${lines.length - most} more`));
  return make("ol", { class: "bars" }, ...items);
}

function drawScores(data, state) {
  const model = data.models[state.model];
  const lines = data.metrics.map((metric) => [metric.label, scoreText(model, metric)]);
  byId("scores-list").replaceChildren(definitions(lines));
  byId("certificate").hidden = !model.certificate;
  byId("certificate-text").textContent =
    `${model.certificate.charAt(0).toUpperCase()}${model.certificate.slice(1)}.`;
  const groups = model.calibration[state.output] ?? [];
  byId("calibration").hidden = groups.length === 0;
  if (!groups.length) return;
  const share = data.link === "logit" || data.link === "softmax";
  const what = data.classes.length
    ? `probability of ${data.classes[data.outputs > 1 ? state.output : 1]}`
    : "prediction";
  byId("calibration-hint").textContent =
    `Test rows in groups by their ${what}: on the dashed line, what is predicted is what is observed. Bars are two standard errors.`;
  drawCalibration(byId("calibration-chart"), groups, share);
}

function definitions(lines) {
  return make(
    "dl",
    {},
    ...lines.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]),
  );
}

function drawAbout(data, state) {
  const model = data.models[state.model];
  const target = data.classes.length
    ? `${data.target || "classes"}: ${data.classes.join(", ")}`
    : data.target || "(without a name)";
  const lines = [
    ["target", target],
    ["training rows", `${data.rows.toLocaleString("en-GB")} with ${count(data.columns, "column")}`],
    ...(data.testRows ? [["test rows", data.testRows.toLocaleString("en-GB")]] : []),
    ...(data.folds ? [["cross-validation", count(data.folds, "fold")]] : []),
    ["family", `${data.family} with ${data.link} link`],
    ["made by", make("code", {}, data.estimator)],
    ...(model.place >= 0 ? [["this model", make("code", {}, `at(${model.place})`)]] : []),
    ["complexity", "1 for each rule or line, and 0.2 for each condition of a rule"],
    [
      "missing values",
      "satisfy no comparison; a level not seen in training equals nothing and differs from everything",
    ],
  ];
  byId("about-list").replaceWith(Object.assign(definitions(lines), { id: "about-list" }));
}

function subtitleOf(data) {
  const parts = [
    `${data.family} model`,
    `${data.rows.toLocaleString("en-GB")} rows, ${count(data.columns, "column")}`,
    ...(data.folds ? [`${data.folds}-fold cross-validation`] : []),
    ...(data.testRows ? [`${data.testRows.toLocaleString("en-GB")} test rows`] : []),
    ...(data.date ? [data.date] : []),
  ];
  return parts.join(" · ");
}

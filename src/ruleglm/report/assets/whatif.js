"use strict";
/* The "What if" panel: one input for each feature of the model, and how the prediction adds up. */

function startRow(data) {
  return data.features.map((feature) => feature.start);
}

/* The features that a model reads, the most important first. */
function usedFeatures(data, model) {
  const sums = new Map();
  for (let output = 0; output < data.outputs; output += 1) {
    for (const [f, x] of featureImportances(data, model, output))
      sums.set(f, (sums.get(f) ?? 0) + x);
  }
  return [...sums].sort((a, b) => b[1] - a[1]).map(([f]) => f);
}

function drawInputs(data, state, change) {
  const used = usedFeatures(data, data.models[state.model]);
  const inputs = used.map((f) => {
    const draw = data.features[f].kind === "number" ? drawNumber : drawSelect;
    return draw(data.features[f], f, state.row[f], change);
  });
  const none = make("p", { class: "quiet" }, "The model reads no feature.");
  byId("inputs").replaceChildren(...(inputs.length ? inputs : [none]));
}

function drawSelect(feature, f, value, change) {
  const options = [
    ...feature.levels.map((level, k) => [k, level === "" ? "(empty text)" : level]),
    [OTHER, "other (unseen)"],
    ["", "missing"],
  ];
  const select = make(
    "select",
    {
      id: `input-${f}`,
      onchange: () => change(f, select.value === "" ? null : Number(select.value)),
    },
    ...options.map(([k, text]) =>
      make("option", { value: k, selected: k === (value ?? "") }, text),
    ),
  );
  return make("div", { class: "input" }, make("label", { for: select.id }, feature.name), select);
}

function drawNumber(feature, f, value, change) {
  const step = niceStep(feature.high - feature.low);
  const id = `input-${f}`;
  const box = make("input", {
    id,
    type: "number",
    step: "any",
    inputmode: "decimal",
    value,
    placeholder: "missing",
  });
  const slide = make("input", {
    type: "range",
    min: feature.low,
    max: feature.high,
    step: "any",
    tabindex: "-1",
    "aria-hidden": "true",
  });
  slide.value = value ?? feature.start;
  const blank = make("input", { type: "checkbox", id: `missing-${f}` });
  blank.checked = value === null;
  const say = (number) => {
    blank.checked = number === null;
    slide.classList.toggle("idle", number === null);
    change(f, number);
  };
  box.addEventListener("input", () => {
    if (box.validity.badInput) return;
    const number = Number.isNaN(box.valueAsNumber) ? null : box.valueAsNumber;
    if (number !== null) slide.value = number;
    say(number);
  });
  slide.addEventListener("input", () => {
    box.value = String(Number((Math.round(Number(slide.value) / step) * step).toPrecision(12)));
    say(box.valueAsNumber);
  });
  blank.addEventListener("change", () => {
    box.value = blank.checked ? "" : slide.value;
    say(blank.checked ? null : box.valueAsNumber);
  });
  slide.classList.toggle("idle", value === null);
  const missing = make("label", { class: "missing", for: blank.id }, blank, "missing");
  return make(
    "div",
    { class: "input" },
    make("label", { for: id }, feature.name),
    missing,
    slide,
    box,
  );
}

/* About a two-hundredth of a range, with one digit. */
function niceStep(range) {
  return 10 ** Math.floor(Math.log10(range / 100 || 1));
}

function meanName(data) {
  if (data.classes.length === 2) return `Probability of ${data.classes[1]}`;
  if (data.link === "logit") return "Mean";
  return data.target ? `Predicted ${data.target}` : "Prediction";
}

function showMean(data, x) {
  return data.link === "logit" ? `${show(100 * x)}\u202f%` : show(x, 5);
}

function drawResult(data, state, answer) {
  if (data.outputs > 1) return drawClasses(data, state, answer);
  const big = make(
    "output",
    { class: "big", id: "mean", "data-value": answer.mean[0] },
    showMean(data, answer.mean[0]),
  );
  const box = byId("result");
  const meter = data.link === "logit" ? bar(0, answer.mean[0], 0, 1, "plain") : null;
  box.replaceChildren(
    make("div", { class: "quiet" }, meanName(data)),
    big,
    ...(meter ? [meter] : []),
  );
}

function drawClasses(data, state, answer) {
  const lines = data.classes.map((name, k) =>
    make(
      "div",
      { class: k === state.output ? "class-line now" : "class-line" },
      make("span", { class: "name" }, name),
      make(
        "output",
        { class: "figure", "data-value": answer.mean[k] },
        `${show(100 * answer.mean[k], 3)}\u202f%`,
      ),
      bar(0, answer.mean[k], 0, 1, "plain"),
    ),
  );
  byId("result").replaceChildren(make("div", { class: "quiet" }, "Probabilities"), ...lines);
}

/* Intercept, contributions, sum, mean: a waterfall from top to bottom. */
function drawSum(data, state, answer) {
  const model = data.models[state.model];
  const k = state.output;
  const parts = model.terms
    .map((t, i) => ({ term: data.terms[t], amount: model.coefs[i][k] * answer.values[i], i }))
    .filter((part) => part.term.line || answer.values[part.i] === 1)
    .sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount) || a.i - b.i);
  const steps = [];
  let level = model.intercept[k];
  for (const part of parts) steps.push({ ...part, from: level, to: (level += part.amount) });
  const reach = [0, model.intercept[k], answer.eta[k], ...steps.map((s) => s.to)];
  const [low, high] = [Math.min(...reach), Math.max(...reach)];
  const decimals = decimalsFor([...parts.map((p) => p.amount), answer.eta[k]]);
  const line = (text, amount, from, to, kind, extra = {}) =>
    make(
      "li",
      { class: extra.class ?? "" },
      text,
      make("span", { class: "figure", "data-value": amount }, signed(amount, decimals)),
      bar(from, to, low, high, kind),
    );
  const rest = model.terms.length - parts.length;
  const items = [
    line("intercept", model.intercept[k], 0, model.intercept[k], "plain"),
    ...steps.map((s) => line(ruleText(s.term), s.amount, s.from, s.to, kindOf(s.amount))),
    line(sumName(data, k), answer.eta[k], 0, answer.eta[k], "plain", { class: "total" }),
  ];
  const tail =
    data.link === "identity" ? null : make("p", { class: "quiet" }, linkText(data, k, answer));
  const others = rest
    ? make(
        "p",
        { class: "quiet" },
        `${count(rest, "rule")} of the model ${rest === 1 ? "does" : "do"} not hold.`,
      )
    : null;
  byId("sum").replaceChildren(
    ...[make("ol", { class: "sum" }, ...items), tail, others].filter(Boolean),
  );
}

function sumName(data, k) {
  if (data.link === "identity") return "prediction";
  return data.outputs > 1 ? `sum for ${data.classes[k]}` : "linear predictor";
}

function linkText(data, k, answer) {
  if (data.link === "log")
    return `The prediction is exp(${show(answer.eta[k])}) = ${show(answer.mean[k], 5)}.`;
  if (data.link === "logit")
    return `The probability is 1 / (1 + exp(${show(-answer.eta[k])})) = ${showMean(data, answer.mean[k])}.`;
  return `The probability is exp of this sum, divided by the total of all ${data.outputs} classes.`;
}

"use strict";
/* The arithmetic of the models. A row is a list with one value for each feature: a number, the
   number of a level, OTHER for a level without a number, or null for a missing value. */

const OTHER = -1;

function holds(condition, value) {
  if ("missing" in condition) return (value === null) === condition.missing;
  if (value === null) return false;
  if ("among" in condition) return condition.among.includes(value) !== condition.not;
  const above = condition.low === null || value > condition.low;
  return above && (condition.high === null || value <= condition.high);
}

/* 1 or 0 for a rule, the clipped and filled value for a line. */
function termValue(term, row) {
  if (!term.line) return term.conditions.every((c) => holds(c, row[c.feature])) ? 1 : 0;
  const { feature, low, high, fill } = term.line;
  return row[feature] === null ? fill : Math.min(Math.max(row[feature], low), high);
}

/* The positions of the features that a term reads. */
function featuresOf(term) {
  return term.line ? [term.line.feature] : term.conditions.map((c) => c.feature);
}

/* Intercept, coefficients and linear predictors become lists with an entry for each output. */
function prepare(data) {
  for (const model of data.models) {
    model.intercept = [model.intercept].flat();
    model.coefs = model.coefs.map((coef) => [coef].flat());
  }
  data.outputs = data.models[0].intercept.length;
  return data;
}

function evaluate(data, model, row) {
  const values = model.terms.map((k) => termValue(data.terms[k], row));
  const eta = model.intercept.slice();
  values.forEach((value, i) => model.coefs[i].forEach((coef, k) => (eta[k] += coef * value)));
  return { values, eta, mean: meanOf(data.link, eta) };
}

function meanOf(link, eta) {
  if (link === "identity") return eta.slice();
  if (link === "log") return eta.map(Math.exp);
  if (link === "logit") return eta.map(expit);
  const top = Math.max(...eta);
  const parts = eta.map((x) => Math.exp(x - top));
  const total = parts.reduce((a, b) => a + b, 0);
  return parts.map((part) => part / total);
}

function expit(x) {
  return x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x));
}

/* The sum of all terms that read this feature and no other, as a function of its value. */
function shapeOf(data, model, feature, output) {
  const mine = model.terms.flatMap((k, i) => {
    const read = featuresOf(data.terms[k]);
    const only = read.length === 1 && read[0] === feature;
    return only ? [{ term: data.terms[k], coef: model.coefs[i][output] }] : [];
  });
  const row = [];
  const at = (value) => {
    row[feature] = value;
    return mine.reduce((sum, { term, coef }) => sum + coef * termValue(term, row), 0);
  };
  return { terms: mine.map(({ term }) => term), at };
}

/* Where a shape jumps, bends or has a value of its own. */
function breaksOf(shape) {
  const breaks = new Set();
  for (const term of shape.terms) {
    if (term.line) breaks.add(term.line.low).add(term.line.high);
    for (const c of term.conditions ?? []) {
      for (const x of [c.low, c.high, ...(c.among ?? [])]) if (x != null) breaks.add(x);
    }
  }
  return [...breaks].sort((a, b) => a - b);
}

/* Corners of a shape from low to high: pieces of [x, y] pairs, each open on its left. */
function piecesOf(shape, low, high) {
  const ends = [low, ...breaksOf(shape).filter((x) => x > low && x < high), high];
  return ends.slice(1).map((end, i) => {
    const start = ends[i];
    const middle = (start + end) / 2;
    const left = (start + middle) / 2;
    const slope = (shape.at(middle) - shape.at(left)) / (middle - left || 1);
    const y = shape.at(middle);
    return [
      [start, y + slope * (start - middle)],
      [end, y + slope * (end - middle)],
    ];
  });
}

/* Importance of each term of a model, for one output. */
function importancesOf(data, model, output) {
  return model.terms.map((k, i) => Math.abs(model.coefs[i][output]) * data.terms[k].sd);
}

/* Importance of the features that a model reads, largest first. */
function featureImportances(data, model, output) {
  const totals = new Map();
  importancesOf(data, model, output).forEach((importance, i) => {
    const read = featuresOf(data.terms[model.terms[i]]);
    for (const f of read) totals.set(f, (totals.get(f) ?? 0) + importance / read.length);
  });
  return [...totals].sort((a, b) => b[1] - a[1]);
}

/* Importance of the rules that name two features, for each pair, largest first. */
function pairImportances(data, model, output) {
  const totals = new Map();
  importancesOf(data, model, output).forEach((importance, i) => {
    const read = featuresOf(data.terms[model.terms[i]]);
    read.forEach((f, k) => {
      for (const g of read.slice(k + 1)) {
        const pair = f < g ? `${f} ${g}` : `${g} ${f}`;
        totals.set(pair, (totals.get(pair) ?? 0) + importance);
      }
    });
  });
  return [...totals]
    .map(([pair, x]) => [pair.split(" ").map(Number), x])
    .sort((a, b) => b[1] - a[1]);
}

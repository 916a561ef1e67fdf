"use strict";
/* Charts by Observable Plot; colours are those of the style sheet, so that both themes fit. */

const INK = { fontSize: "12px", fontFamily: "inherit", background: "none", overflow: "visible" };
const MORE = "var(--more)";
const LESS = "var(--less)";
const QUIET = "var(--line-strong)";
const MARK = "var(--mark)";

/* Short texts for axes: 120k, 3M. */
const thousands = d3.format("~s");

function tickText(x) {
  return Math.abs(x) >= 1e4 && Math.abs(x) < 1e16 ? thousands(x) : show(x);
}

const PAPER = 660;
let onPaper = false;

/* On paper charts are drawn for its width, so that their text keeps its size. */
function widthOf(box) {
  const width = Math.max(220, Math.floor(box.clientWidth || 640));
  return onPaper ? Math.min(width, PAPER) : width;
}

/* Losses that span so large a factor are drawn on a logarithmic scale. */
const LONG = 4;

/* Draws the path; a click or a drag picks the nearest model. */
function drawTradeoff(box, data, state, pick) {
  const metric = data.metrics[state.metric];
  const dots = data.models
    .map((model, index) => ({
      index,
      x: model.complexity,
      y: model.scores[metric.key],
      e: metric.error ? (model.scores[metric.error] ?? 0) : 0,
      model,
    }))
    .filter((dot) => dot.y != null);
  const front = frontOf(dots, metric.greater);
  const now = dots.filter((dot) => dot.index === state.model);
  const chosen = dots.filter((dot) => dot.index === data.chosen);
  const width = widthOf(box);
  const [least, most] = d3.extent(dots, (dot) => dot.y);
  const bent = !metric.greater && least > 0 && most > LONG * least;
  const chart = Plot.plot({
    width,
    height: Math.min(300, 160 + width * 0.16),
    marginLeft: 52,
    marginBottom: 40,
    marginTop: 24,
    marginRight: 24,
    style: INK,
    x: { label: "complexity", labelAnchor: "center", labelArrow: "none", ticks: width / 90 },
    y: {
      label: `${metric.label} (${metric.greater ? "more" : "less"} is better${bent ? ", log scale" : ""})`,
      type: bent ? "log" : "linear",
      tickFormat: bent ? (y) => show(y) : undefined,
      labelArrow: "none",
      grid: true,
      ticks: bent ? 3 : 5,
      nice: !bent,
    },
    marks: [
      metric.error
        ? Plot.areaY(front, {
            x: "x",
            y1: (d) => Math.max(d.y - d.e, bent ? least / 2 : -Infinity),
            y2: (d) => d.y + d.e,
            fill: MORE,
            fillOpacity: 0.12,
          })
        : null,
      Plot.dot(dots, { x: "x", y: "y", r: 2.5, fill: QUIET }),
      Plot.line(front, { x: "x", y: "y", stroke: MORE, strokeWidth: 1.5, strokeOpacity: 0.7 }),
      Plot.dot(front, { x: "x", y: "y", r: 3.5, fill: MORE }),
      Plot.dot(chosen, { x: "x", y: "y", r: 8, stroke: MORE, strokeWidth: 1.5 }),
      Plot.text(chosen, {
        x: "x",
        y: "y",
        text: () => "chosen",
        dy: -17,
        fill: MORE,
        stroke: "var(--card)",
        strokeWidth: 4,
        fontWeight: 600,
      }),
      Plot.ruleX(now, { x: "x", stroke: MARK, strokeDasharray: "3 3" }),
      Plot.dot(now, { x: "x", y: "y", r: 6, fill: MARK, stroke: "var(--card)", strokeWidth: 1.5 }),
    ],
  });
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", `${metric.label} against complexity of ${dots.length} models`);
  const [x, y] = [chart.scale("x"), chart.scale("y")];
  const choose = (event) => {
    const shape = chart.getBoundingClientRect();
    const scale = width / shape.width;
    const [px, py] = [(event.clientX - shape.left) * scale, (event.clientY - shape.top) * scale];
    const far = (d) => Math.hypot(x.apply(d.x) - px, (y.apply(d.y) - py) * 0.5);
    pick(dots.reduce((best, dot) => (far(dot) < far(best) ? dot : best)).index);
  };
  box.onpointerdown = (event) => {
    if (event.isPrimary && event.button === 0 && dots.length) choose(event);
  };
  box.onpointermove = (event) => {
    if (event.buttons === 1 && event.pointerType === "mouse" && dots.length) choose(event);
  };
  box.replaceChildren(chart);
}

/* Models better than all that are at most as complex. */
function frontOf(dots, greater) {
  let best = greater ? -Infinity : Infinity;
  return [...dots]
    .sort((a, b) => a.x - b.x || (greater ? b.y - a.y : a.y - b.y))
    .filter((dot) => {
      const better = greater ? dot.y > best : dot.y < best;
      if (better) best = dot.y;
      return better;
    });
}

/* Draws what one feature by itself adds, with the value entered under "What if". */
function drawShape(box, width, feature, shape, value) {
  const draw = feature.kind === "number" ? drawCurve : drawLevels;
  const chart = draw(width, feature, shape, value);
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", `What ${feature.name} adds to the linear predictor`);
  box.replaceChildren(chart);
}

/* Where a curve is drawn: the usual range of the feature, or the part of it where the curve moves. */
function windowOf(feature, breaks, value) {
  let [low, high] = feature.usual;
  const [first, last] = [breaks[0], breaks[breaks.length - 1]];
  const moving = last - first;
  if (breaks.length > 1 && moving < 0.15 * (high - low)) {
    const around = Math.max(2 * moving, 0.1 * (high - low));
    [low, high] = [Math.max(low, first - around), Math.min(high, last + around)];
  }
  const margin = 0.05 * (high - low) || 1;
  const reach = [...breaks.flatMap((x) => [x - margin, x + margin]), value ?? first];
  return [Math.min(low, ...reach), Math.max(high, ...reach)];
}

function drawCurve(width, feature, shape, value) {
  const breaks = breaksOf(shape);
  const [low, high] = windowOf(feature, breaks, value);
  const pieces = piecesOf(shape, low, high);
  const corners = pieces.flatMap(([a, b], k) => [
    { x: a[0], y: a[1], k },
    { x: b[0], y: b[1], k },
  ]);
  const risers = pieces.slice(1).map(([a], i) => ({ x: a[0], y1: pieces[i][1][1], y2: a[1] }));
  const alone = breaks
    .filter(
      (x) => x > low && x < high && shape.terms.some((t) => t.conditions?.some((c) => c.among)),
    )
    .map((x) => ({ x, y: shape.at(x) }));
  const gap = 0.09 * (high - low);
  const far = high + gap;
  const absent = feature.missing || shape.at(null) !== 0 ? [{ x: far, y: shape.at(null) }] : [];
  const now = value === null ? absent : [{ x: value, y: shape.at(value) }];
  return Plot.plot({
    width,
    height: 150,
    marginLeft: 44,
    marginRight: 16,
    marginBottom: 26,
    marginTop: 12,
    style: INK,
    x: { domain: [low, absent.length ? far + gap / 2 : high], label: null, ticks: [] },
    y: { label: null, grid: true, ticks: 4, nice: true },
    marks: [
      Plot.axisX(
        d3.ticks(low, high, 4).filter((x) => !absent.length || x < high - gap),
        { label: null, tickFormat: tickText },
      ),
      Plot.ruleY([0], { stroke: QUIET }),
      Plot.line(corners, { x: "x", y: "y", z: "k", stroke: MORE, strokeWidth: 2.5 }),
      Plot.ruleX(risers, {
        x: "x",
        y1: "y1",
        y2: "y2",
        stroke: MORE,
        strokeWidth: 1,
        strokeOpacity: 0.5,
      }),
      Plot.dot(alone, { x: "x", y: "y", r: 2.5, fill: MORE }),
      Plot.dot(absent, { x: "x", y: "y", r: 4, stroke: MORE, fill: "var(--card)", strokeWidth: 2 }),
      Plot.text(absent, { x: "x", frameAnchor: "bottom", text: () => "missing", dy: 17 }),
      Plot.ruleX(now, { x: "x", stroke: MARK, strokeDasharray: "3 3" }),
      Plot.dot(now, {
        x: "x",
        y: "y",
        r: 4.5,
        fill: MARK,
        stroke: "var(--card)",
        strokeWidth: 1.5,
      }),
    ],
  });
}

const MOST_BARS = 12;

function drawLevels(width, feature, shape, value) {
  const name = (v) => (v === null ? "(missing)" : v === OTHER ? "(other)" : feature.levels[v]);
  const values = [...feature.levels.keys(), OTHER, null];
  let bars = values.map((v) => ({ v, name: name(v), y: shape.at(v) }));
  if (bars.length > MOST_BARS) {
    bars = bars.filter((b) => b.y !== 0 || b.v === value);
    bars.sort((a, b) => Math.abs(b.y) - Math.abs(a.y));
    bars = bars.filter((b, i) => i < MOST_BARS || b.v === value).sort((a, b) => a.v - b.v);
  }
  const longest = Math.max(...bars.map((b) => Math.min(16, b.name.length)));
  return Plot.plot({
    width,
    height: 34 + 20 * bars.length,
    marginLeft: 14 + 6.6 * longest,
    marginRight: 16,
    marginBottom: 26,
    marginTop: 4,
    style: INK,
    x: { label: null, grid: true, ticks: Math.max(2, (width - 7 * longest) / 70), nice: true },
    y: {
      domain: bars.map((b) => b.v ?? "missing"),
      label: null,
      tickSize: 0,
      tickFormat: (v) => shorten(name(v === "missing" ? null : v)),
    },
    marks: [
      Plot.barX(bars, {
        x: "y",
        y: (b) => b.v ?? "missing",
        fill: (b) => (b.y < 0 ? LESS : MORE),
        insetTop: 3,
        insetBottom: 3,
      }),
      Plot.ruleX([0], { stroke: QUIET }),
      Plot.dot(
        bars.filter((b) => b.v === value),
        {
          x: "y",
          y: (b) => b.v ?? "missing",
          r: 4.5,
          fill: MARK,
          stroke: "var(--card)",
          strokeWidth: 1.5,
        },
      ),
    ],
  });
}

function shorten(text) {
  return text.length > 16 ? `${text.slice(0, 15)}…` : text;
}

/* Draws observed against predicted means of groups of test rows. */
function drawCalibration(box, groups, isShare) {
  const dots = groups.map(([x, y, e]) => ({ x, y, low: y - 2 * e, high: y + 2 * e }));
  const all = dots.flatMap((d) => [d.x, d.low, d.high]);
  const ends = isShare ? [0, 1] : d3.extent(all);
  const width = Math.min(widthOf(box), 420);
  const clip = (y) => (isShare ? Math.min(1, Math.max(0, y)) : y);
  const format = isShare ? (x) => `${Math.round(100 * x)}%` : tickText;
  const axis = { domain: ends, labelArrow: "none", tickFormat: format, ticks: 5 };
  const chart = Plot.plot({
    width,
    height: Math.min(320, width * 0.8),
    marginLeft: 52,
    marginBottom: 40,
    marginRight: 20,
    style: INK,
    x: { ...axis, label: "predicted", labelAnchor: "center" },
    y: { ...axis, label: "observed", grid: true },
    marks: [
      Plot.line(
        [ends, ends].map((e, i) => [e[i], e[i]]),
        { stroke: QUIET, strokeDasharray: "4 4" },
      ),
      Plot.ruleX(dots, {
        x: "x",
        y1: (d) => clip(d.low),
        y2: (d) => clip(d.high),
        stroke: MORE,
        strokeOpacity: 0.5,
        strokeWidth: 1.5,
      }),
      Plot.dot(dots, { x: "x", y: "y", r: 4, fill: MORE }),
    ],
  });
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", "Observed against predicted means of test rows");
  box.replaceChildren(chart);
}

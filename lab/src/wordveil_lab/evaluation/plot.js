// Attack success against utility, one panel for each promise, drawn from the JSON in the page. Nothing is fetched.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const holder = document.getElementById("plot");
  const W = 520, H = 360, L = 56, R = 16, T = 14, B = 48;
  const attacks = data.axes.filter((a) => a.kind !== "utility");
  const utilities = data.axes.filter((a) => a.kind === "utility");
  sortable();
  if (!attacks.length || !utilities.length) return;
  const first = (axes, id) => (axes.find((a) => a.id === id) || axes[0]).id;
  const [x, y] = [first(attacks, "inversion-reviews/best"), first(utilities, "centroid-classification/accuracy")];
  const state = { x, y, epsilon: {} };
  const groups = Object.keys(data.groups).filter((group) => data.points.some((p) => p.group === group));

  const svgElement = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const element = (name, parent, text, className) => {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    if (className) made.className = className;
    parent.append(made);
    return made;
  };
  const choice = (parent, title, options, chosen, change) => {
    const label = element("label", parent, title + " ");
    const select = element("select", label);
    for (const [value, text] of options) select.add(new Option(text, value, false, value === chosen));
    select.addEventListener("change", () => { change(select.value); draw(); });
  };
  const axisOf = (id) => data.axes.find((a) => a.id === id);
  const number = (v) => Number(v.toPrecision(3)).toString();

  const controls = element("div", holder, "", "controls");
  choice(controls, "Upwards: utility", utilities.map((a) => [a.id, a.id]), state.y, (v) => { state.y = v; });
  choice(controls, "To the right: attack or measure", attacks.map((a) => [a.id, a.id]), state.x,
    (v) => { state.x = v; });
  const meaning = element("p", holder);
  const tip = element("p", holder, "Point at a dot, or move to it with the Tab key, to see its row.");
  tip.id = "tip";
  tip.setAttribute("aria-live", "polite");
  const panels = element("div", holder, "", "panels");
  const figures = groups.map((group) => {
    const figure = element("figure", panels);
    element("figcaption", figure, data.groups[group]).style.color = `var(--${group})`;
    const epsilons = [...new Set(data.points.filter((p) => p.group === group).map((p) => p.epsilon))]
      .sort((a, b) => a - b);
    state.epsilon[group] = "";
    if (epsilons.length > 1) {
      const options = [["", "all"], ...epsilons.map((e) => [String(e), String(e)])];
      choice(element("div", figure), "epsilon", options, "", (v) => { state.epsilon[group] = v; });
    }
    const svg = svgElement("svg", { viewBox: `0 0 ${W} ${H}`, role: "group", "aria-label": data.groups[group] });
    figure.append(svg);
    return { group, svg, list: element("ol", figure) };
  });

  function sense(id) {
    const { better } = axisOf(id);
    return better === "neither" ? "" : ` (${better} is better)`;
  }

  function draw() {
    const has = (p) => p.values[state.x] && p.values[state.y];
    const all = data.points.filter(has);
    meaning.textContent = `${state.y}: ${axisOf(state.y).meaning}${sense(state.y)}. `
      + `${state.x}: ${axisOf(state.x).meaning}${sense(state.x)}.`;
    const baseline = all.filter((p) => p.group === "none");
    for (const figure of figures) {
      const rows = all.filter((p) => p.group === figure.group
        && (!state.epsilon[figure.group] || String(p.epsilon) === state.epsilon[figure.group]));
      panel(figure, rows, baseline, all);
    }
  }

  // All panels share their axes, so that eyes need not rescale; fronts stay inside one panel.
  function scale(id, all, from, to) {
    const low = Math.min(...all.map((p) => p.values[id][0])), high = Math.max(...all.map((p) => p.values[id][0]));
    const pad = 0.07 * (high - low) || 0.5, [a, b] = [low - pad, high + pad];
    const step = niceStep((b - a) / 5), ticks = [];
    for (let i = Math.ceil(a / step); i * step <= b; i++) ticks.push(i * step);
    // Intervals may be wider than the plot: they end at its edge.
    return { at: (v) => from + (to - from) * (Math.min(Math.max(v, a), b) - a) / (b - a), ticks };
  }

  function niceStep(rough) {
    const power = 10 ** Math.floor(Math.log10(rough));
    return power * [1, 2, 5, 10].find((m) => m * power >= rough);
  }

  function panel({ group, svg, list }, rows, baseline, all) {
    svg.replaceChildren();
    list.replaceChildren();
    if (!rows.length) {
      svg.append(svgElement("text", { x: W / 2, y: H / 2, "text-anchor": "middle" }, "no row has both scores"));
      return;
    }
    const x = scale(state.x, all, L, W - R), y = scale(state.y, all, H - B, T);
    for (const tick of x.ticks) {
      svg.append(svgElement("path", { d: `M${x.at(tick)},${T} V${H - B}`, class: "grid" }));
      svg.append(svgElement("text", { x: x.at(tick), y: H - B + 16, "text-anchor": "middle" }, number(tick)));
    }
    for (const tick of y.ticks) {
      svg.append(svgElement("path", { d: `M${L},${y.at(tick)} H${W - R}`, class: "grid" }));
      svg.append(svgElement("text", { x: L - 6, y: y.at(tick) + 4, "text-anchor": "end" }, number(tick)));
    }
    const middle = (T + H - B) / 2;
    svg.append(svgElement("text", { x: (L + W - R) / 2, y: H - 10, "text-anchor": "middle" },
      state.x + sense(state.x)));
    svg.append(svgElement("text", { x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` },
      state.y + sense(state.y)));
    for (const point of baseline) {
      const [bx, by] = [x.at(point.values[state.x][0]), y.at(point.values[state.y][0])];
      svg.append(svgElement("path", { d: `M${bx - 6},${by} h12 M${bx},${by - 6} v12`, stroke: "var(--none)",
        "stroke-width": 2 }));
      svg.append(svgElement("text", { x: bx - 8, y: by - 6, "text-anchor": "end" }, point.label));
    }
    if (group === "refuted") { // no promise, so nothing to be best at
      svg.append(svgElement("text", { x: L + 6, y: T + 12 }, "no promise holds: no front is drawn"));
    } else front(group, svg, rows, x, y);
    rows.sort((a, b) => a.epsilon - b.epsilon || a.name.localeCompare(b.name));
    rows.forEach((point, i) => dot(group, svg, list, point, i + 1, x, y));
  }

  function dot(group, svg, list, point, place, x, y) {
    const [px, xl, xh] = point.values[state.x], [py, yl, yh] = point.values[state.y];
    svg.append(svgElement("path", {
      d: `M${x.at(xl)},${y.at(py)} H${x.at(xh)} M${x.at(px)},${y.at(yl)} V${y.at(yh)}`,
      stroke: `var(--${group})`, "stroke-opacity": 0.55, "stroke-width": 2,
    }));
    const text = `${point.label}: ${state.y} ${number(py)} (${number(yl)} to ${number(yh)}), ${state.x} ${number(px)} `
      + `(${number(xl)} to ${number(xh)}). ${point.promise}`;
    const mark = svgElement("g", { class: "dot", tabindex: 0, role: "img", "aria-label": text });
    const shape = { cx: x.at(px), cy: y.at(py), r: 8, fill: `var(--${group})` };
    if (group === "refuted") Object.assign(shape, { "stroke-dasharray": "3 2", stroke: "var(--text)" });
    mark.append(svgElement("circle", shape));
    mark.append(svgElement("text", { x: x.at(px), y: y.at(py) + 3.5, class: "number" }, String(place)));
    svg.append(mark);
    const line = element("li", list, point.label);
    const show = (on) => () => {
      mark.classList.toggle("on", on);
      line.classList.toggle("on", on);
      if (on) { tip.textContent = text; svg.append(mark); }
    };
    // Moving a focused dot to the front would take its focus away, so only pointing raises it.
    mark.addEventListener("focus", () => { mark.classList.add("on"); line.classList.add("on"); tip.textContent = text; });
    for (const thing of [mark, line]) {
      thing.addEventListener("mouseenter", show(true));
      thing.addEventListener("mouseleave", show(false));
    }
    mark.addEventListener("blur", show(false));
  }

  // The Pareto front of a group: rows that no other row of the group beats on both axes.
  function front(group, svg, rows, x, y) {
    const sign = (id) => (axisOf(id).better === "lower" ? -1 : 1);
    const sx = sign(state.x), sy = sign(state.y);
    const places = rows.map((p) => ({ x: p.values[state.x][0], y: p.values[state.y][0] }));
    const best = places.filter((a) => !places.some((b) => (b.x - a.x) * sx >= 0 && (b.y - a.y) * sy >= 0
      && ((b.x - a.x) * sx > 0 || (b.y - a.y) * sy > 0))).sort((a, b) => a.x - b.x);
    const path = best.map((p, i) => `${i ? "L" : "M"}${x.at(p.x)},${y.at(p.y)}`).join(" ");
    svg.append(svgElement("path", { d: path, fill: "none", stroke: `var(--${group})`, "stroke-dasharray": "5 4",
      "stroke-width": 1.5 }));
  }

  // A click on a column's head sorts its table; the baseline stays on top.
  function sortable() {
    for (const table of document.querySelectorAll("table.scores")) {
      const body = table.tBodies[0];
      table.querySelectorAll("thead th").forEach((head, column) => {
        const button = document.createElement("button");
        button.append(...head.childNodes);
        head.append(button);
        button.addEventListener("click", () => {
          const up = head.getAttribute("aria-sort") === "descending";
          table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
          head.setAttribute("aria-sort", up ? "ascending" : "descending");
          const value = (row) => (column ? Number(row.cells[column].dataset.value ?? NaN) : row.cells[0].textContent);
          const order = (a, b) => (column ? (value(a) - value(b)) || 0 : value(a).localeCompare(value(b)));
          const rows = [...body.rows].filter((row) => !row.classList.contains("none"));
          const known = rows.filter((row) => !column || !Number.isNaN(value(row)));
          known.sort((a, b) => (up ? order(a, b) : order(b, a)));
          body.append(...known, ...rows.filter((row) => !known.includes(row)));
        });
      });
    }
  }
  draw();
})();

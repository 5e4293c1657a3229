// Attack success against utility, drawn from the JSON in the page. No library, nothing fetched.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const holder = document.getElementById("plot");
  const colours = { none: "#888", metric: "#1f4e8c", local: "#1d6b3a", neighbour: "#b06a00", refuted: "#a3202a" };
  const W = 900, H = 480, M = 60;
  const state = { x: null, y: null, epsilon: "", hidden: new Set() };
  const attacks = data.axes.filter((a) => a.kind !== "utility");
  const utilities = data.axes.filter((a) => a.kind === "utility");
  if (!attacks.length || !utilities.length) return;
  state.x = (attacks.find((a) => a.id === "bayes/success") || attacks[0]).id;
  state.y = utilities[0].id;

  const make = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };

  const choice = (title, options, chosen, change) => {
    const label = document.createElement("label");
    label.textContent = title + " ";
    const select = document.createElement("select");
    for (const [value, text] of options) select.add(new Option(text, value, false, value === chosen));
    select.addEventListener("change", () => { change(select.value); draw(); });
    label.append(select);
    holder.append(label);
  };
  choice("Utility", utilities.map((a) => [a.id, a.id]), state.y, (v) => { state.y = v; });
  choice("Attack or measure", attacks.map((a) => [a.id, a.id]), state.x, (v) => { state.x = v; });
  const epsilons = [...new Set(data.points.map((p) => p.epsilon).filter((e) => e !== null))].sort((a, b) => a - b);
  choice("epsilon", [["", "all"], ...epsilons.map((e) => [String(e), String(e)])], "", (v) => { state.epsilon = v; });

  const keys = document.createElement("p");
  for (const group of Object.keys(data.groups)) {
    const label = document.createElement("label");
    label.className = "key";
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = true;
    box.addEventListener("change", () => { state.hidden[box.checked ? "delete" : "add"](group); draw(); });
    const dot = document.createElement("b");
    dot.style.background = colours[group];
    label.append(box, " ", dot, " " + group);
    keys.append(label);
  }
  holder.append(keys);
  const svg = make("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "utility against attack success" });
  const tip = document.createElement("p");
  tip.id = "tip";
  holder.append(svg, tip);

  function draw() {
    const shown = data.points.filter((p) => p.values[state.x] && p.values[state.y] && !state.hidden.has(p.group)
      && (!state.epsilon || p.epsilon === null || String(p.epsilon) === state.epsilon));
    svg.replaceChildren();
    if (!shown.length) { tip.textContent = "No row has both scores."; return; }
    const range = (id) => {
      const low = Math.min(...shown.map((p) => p.values[id][1])), high = Math.max(...shown.map((p) => p.values[id][2]));
      const pad = 0.06 * (high - low) || 0.5;
      return [low - pad, high + pad];
    };
    const [x0, x1] = range(state.x), [y0, y1] = range(state.y);
    const X = (v) => M + (W - 2 * M) * (v - x0) / (x1 - x0), Y = (v) => H - M - (H - 2 * M) * (v - y0) / (y1 - y0);
    svg.append(make("path", { d: `M${M},${M} V${H - M} H${W - M}`, fill: "none", stroke: "#1c2430" }));
    for (let i = 0; i <= 4; i++) {
      const xv = x0 + (x1 - x0) * i / 4, yv = y0 + (y1 - y0) * i / 4;
      svg.append(make("text", { x: X(xv), y: H - M + 18, "text-anchor": "middle" }, xv.toPrecision(3)));
      svg.append(make("text", { x: M - 8, y: Y(yv) + 4, "text-anchor": "end" }, yv.toPrecision(3)));
    }
    svg.append(make("text", { x: W / 2, y: H - 14, "text-anchor": "middle" }, state.x));
    svg.append(make("text", { x: M, y: M - 18 }, state.y));
    front(shown, X, Y);
    for (const point of shown) {
      const [x, xl, xh] = point.values[state.x], [y, yl, yh] = point.values[state.y];
      const colour = colours[point.group];
      svg.append(make("path", {
        d: `M${X(xl)},${Y(y)} H${X(xh)} M${X(x)},${Y(yl)} V${Y(yh)}`, stroke: colour, "stroke-opacity": 0.4,
      }));
      const dot = make("circle", { cx: X(x), cy: Y(y), r: 5, fill: colour, tabindex: 0 });
      dot.append(make("title", {}, point.label));
      const say = () => {
        tip.textContent = `${point.group}: ${point.label} — ${state.y} ${y.toPrecision(3)} (${yl.toPrecision(3)} to `
          + `${yh.toPrecision(3)}), ${state.x} ${x.toPrecision(3)} (${xl.toPrecision(3)} to ${xh.toPrecision(3)})`;
      };
      dot.addEventListener("mouseenter", say);
      dot.addEventListener("focus", say);
      svg.append(dot);
    }
  }

  // The Pareto front of every group: rows that no other row of the group beats on both axes.
  function front(shown, X, Y) {
    const sign = (id) => (data.axes.find((a) => a.id === id).better === "lower" ? -1 : 1);
    const sx = sign(state.x), sy = sign(state.y);
    for (const group of Object.keys(data.groups)) {
      if (group === "refuted") continue; // no promise, so nothing to be best at
      const rows = shown.filter((p) => p.group === group)
        .map((p) => ({ x: p.values[state.x][0], y: p.values[state.y][0] }));
      const best = rows.filter((a) => !rows.some((b) => (b.x - a.x) * sx >= 0 && (b.y - a.y) * sy >= 0
        && ((b.x - a.x) * sx > 0 || (b.y - a.y) * sy > 0))).sort((a, b) => a.x - b.x);
      const path = best.map((p, i) => `${i ? "L" : "M"}${X(p.x)},${Y(p.y)}`).join(" ");
      if (path) svg.append(make("path", { d: path, fill: "none", stroke: colours[group], "stroke-dasharray": "4 4" }));
    }
  }
  draw();
})();

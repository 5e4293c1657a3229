"use strict";
// Everything is written as text, never as markup, so that no text can become part of the page.

const at = (id) => document.getElementById(id);
const written = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
const filled = (id, tag, lines) => at(id).replaceChildren(...lines.map((line) => written(tag, line)));

// A key comes behind #, which no browser sends to a server, and leaves the address at once, also where a link brings it
// to a page that is open; a key that is there already stays.
function takeKey() {
  const given = new URLSearchParams(location.hash.slice(1)).get("key");
  if (location.hash) history.replaceState(null, "", location.pathname);
  if (given && !at("key").value) at("key").value = given;
  offer();
}

at("samples").addEventListener("input", () => { at("samples-shown").value = at("samples").value; });

// The settings that the operator opened, once there is a key to ask for them with.
let settings = [];
async function offer() {
  if (!at("key").value) return;
  try {
    settings = await ask("v1/settings");
    at("setting").replaceChildren(...settings.map(({ name }) => written("option", name)));
    describe();
  } catch (error) {
    at("status").textContent = error.message;
  }
}

function describe() {
  const { mechanism, vocabulary } = settings.find(({ name }) => name === at("setting").value);
  at("offered").textContent = `${mechanism}, ${vocabulary}`;
}
at("setting").addEventListener("change", describe);
at("key").addEventListener("change", offer);
addEventListener("hashchange", takeKey);

async function ask(path, body) {
  const answer = await fetch(path, {
    method: body ? "POST" : "GET",
    headers: { "content-type": "application/json", authorization: `Bearer ${at("key").value}` },
    body: body && JSON.stringify(body),
  });
  const said = await answer.json();
  if (answer.ok) return said;
  const { message, account, left } = said.error;
  throw new Error(account ? `${message} ${account} has ${left} nats left.` : message);
}

const words = (text) => text.split(/(\s+)/u);
const bare = (word) => word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");

// Marks the words that are not in the original, in order: those outside a longest common subsequence.
function marked(original, released) {
  const a = words(original), b = words(released);
  const size = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      size[i][j] = bare(a[i]) === bare(b[j]) ? size[i + 1][j + 1] + 1 : Math.max(size[i + 1][j], size[i][j + 1]);
    }
  }
  const parts = [];
  for (let i = 0, j = 0; j < b.length;) {
    const same = i < a.length && bare(a[i]) === bare(b[j]);
    if (!same && i < a.length && size[i + 1][j] >= size[i][j + 1]) { i++; continue; }
    parts.push(same || !b[j].trim() ? document.createTextNode(b[j]) : written("mark", b[j]));
    if (same) i++;
    j++;
  }
  return parts;
}

function column(title, parts) {
  const shown = document.createElement("article");
  const paragraph = document.createElement("p");
  paragraph.append(...parts);
  shown.append(written("h3", title), paragraph);
  return shown;
}

// What a setting that redacts hid stands in square brackets, which are all its own; what is kept has the other colour.
const redacts = ({ mechanism }) => mechanism.startsWith("Redactor(");
function withheld(released) {
  return released.split(/(\[(?:name|number|link|word|other)\])/u).filter(Boolean).map((part) =>
    written(part.startsWith("[") ? "mark" : "ins", part));
}

const percent = (share) => `${Math.round(100 * share)} %`;

async function released(text, chosen) {
  const columns = [column("Original, which this service has read", [document.createTextNode(text)])];
  const told = settings.find(({ name }) => name === chosen.setting);
  let last;
  for (let number = 1; number <= Number(at("samples").value); number++) {
    last = await ask("v1/sanitize", { ...chosen, text });
    const parts = redacts(told) ? withheld(last.texts[0]) : marked(text, last.texts[0]);
    columns.push(column(`Release ${number}`, parts));
    if (redacts(told)) break; // another would be the same
  }
  at("texts").replaceChildren(...columns);
  return last;
}

async function explained(text, chosen, last) {
  const asked = [...new Set(words(text).map(bare).filter(Boolean))].filter((word) => word.length <= 64).slice(0, 50);
  const told = settings.find(({ name }) => name === chosen.setting);
  const among = await ask("v1/hides-among", { ...chosen, words: asked });
  const rows = asked.flatMap((word) => {
    const listed = among.words[word];
    const likely = (listed || []).filter(([, chance]) => chance > listed.at(-1)[1]);
    const shown = (likely.length ? likely : listed || []).map(([other]) => other).join(", ");
    return [written("dt", word), written("dd", shown || "any word: the vocabulary does not list it")];
  });
  at("lists-shown").replaceChildren(...(last.seal || redacts(told) ? rows : [written("dt", "each sentence"), written("dd", "the sentences of a public stock")]));
  filled("promise", "li", [told.how, told.guarantee.sentence, ...told.examples, told.advice].filter(Boolean));
  filled("assumptions", "li", told.guarantee.assumptions || []);
  filled("disclosed", "li", last.disclosed);
}

// The package's own denoiser is the attacker: it reads the last release, and what it names is compared here, in the page.
async function attacked(text, chosen, last) {
  at("attacker").textContent = "Reading the last release as an attacker would …";
  at("named").replaceChildren();
  try {
    const read = await ask("v1/denoise", { ...chosen, texts: last.texts, seal: last.seal });
    const own = new Set(words(text).map(bare));
    at("attacker").textContent = `Whoever reads the last release with a model of public text is expected to name ${
      percent(read.attack[0])} of its words, and reads: ${read.texts[0]}`;
    at("named").replaceChildren(...read.named[0].map(([seen, guess, sure]) => {
      const line = written("li", `${seen}: “${guess}”, ${percent(sure)} sure`);
      if (own.has(guess)) line.append(", ", written("mark", "stands in your text"));
      return line;
    }));
  } catch (error) {
    at("attacker").textContent = error.message;
  }
}

async function spent(accounts) {
  const lines = await Promise.all(accounts.map(async (account) => (await ask(`v1/budgets/${account}`)).map((budget) =>
    `${account}, ${budget.promise.promise} for ${budget.promise.unit}: ${budget.spent} nats, ${budget.left} left` +
    (budget.daily === "0" ? "" : `; filled up to ${budget.daily} every day`))));
  filled("spent", "li", lines.flat());
}

async function release() {
  const text = at("text").value, chosen = { setting: at("setting").value };
  if (!settings.length) await offer();
  const last = await released(text, chosen);
  await explained(text, chosen, last);
  await spent(Object.keys(last.left)).catch((error) => filled("spent", "li", [error.message]));
  at("result").hidden = false;
  attacked(text, chosen, last);
  const left = Object.entries(last.left).map(([account, nats]) => `${account} has ${nats} nats left`).join("; ");
  return `Each release cost ${last.cost} nats.${left && ` ${left}.`}`;
}

takeKey();
at("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  at("status").textContent = "Releasing …";
  try {
    at("status").textContent = await release();
  } catch (error) {
    at("status").textContent = error.message;
  }
});

const SVG = document.querySelector("svg").namespaceURI;

function drawn(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

async function curve() {
  const { about, lines, points } = await (await fetch("curve.json")).json();
  const largest = Math.max(...points.map((point) => point.epsilon));
  const x = (epsilon) => 30 + (260 * epsilon) / largest, y = (share) => 130 - 120 * share;
  const label = `Shares against epsilon up to ${largest}; the table below says the same.`;
  const picture = document.querySelector("svg");
  picture.setAttribute("aria-label", label);
  picture.append(drawn("path", { d: "M30 10V130H290", class: "axis" }));
  for (const share of [0, 0.5, 1]) picture.append(drawn("text", { x: 4, y: y(share) + 3 }, share));
  for (const { epsilon } of points) picture.append(drawn("text", { x: x(epsilon) - 4, y: 145 }, Math.round(epsilon)));
  lines.forEach((name, number) => {
    const path = points.map((point, i) => `${i ? "L" : "M"}${x(point.epsilon)} ${y(point[name])}`).join("");
    picture.append(drawn("path", { d: path, class: `line line-${number}` }));
  });
  at("curve").append(written("figcaption", `From above at the right end: ${
    [...lines].sort((a, b) => points.at(-1)[b] - points.at(-1)[a]).join("; ")}.`));
  const row = (tag, cells) => {
    const made = document.createElement("tr");
    made.append(...cells.map((cell) => written(tag, cell)));
    return made;
  };
  at("curve-table").append(
    row("th", ["epsilon", ...lines]),
    ...points.map((point) => row("td", [point.epsilon, ...lines.map((name) => point[name])])),
  );
  at("curve-about").textContent = about;
}
curve();

"use strict";
// Everything is written as text, never as markup, so that no text can become part of the page.

const at = (id) => document.getElementById(id);
const written = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
const filled = (id, tag, lines) => at(id).replaceChildren(...lines.map((line) => written(tag, line)));

// The key comes behind #, which no browser sends to a server, and leaves the address at once.
const given = new URLSearchParams(location.hash.slice(1)).get("key");
if (given) {
  at("key").value = given;
  history.replaceState(null, "", location.pathname);
}

for (const name of ["epsilon", "k", "samples"]) {
  at(name).addEventListener("input", () => { at(`${name}-shown`).value = at(name).value; });
}

async function ask(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${at("key").value}` },
    body: JSON.stringify(body),
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

async function release() {
  const text = at("text").value;
  const settings = { k: Number(at("k").value), lists: at("lists").value };
  const how = { mechanism: "neighbours", epsilon: Number(at("epsilon").value), settings };
  const columns = [column("Original, which stays with you", [document.createTextNode(text)])];
  let last;
  for (let number = 1; number <= Number(at("samples").value); number++) {
    last = await ask("v1/sanitize", { ...how, text });
    columns.push(column(`Release ${number}`, marked(text, last.texts[0])));
  }
  at("texts").replaceChildren(...columns);
  const asked = [...new Set(words(text).map(bare).filter(Boolean))].filter((word) => word.length <= 64).slice(0, 500);
  const [among, told] = await Promise.all([
    ask("v1/hides-among", { ...how, words: asked }),
    ask("v1/explain", { ...how, tokens: Math.max(1, last.tokens) }),
  ]);
  const rows = asked.flatMap((word) => {
    const listed = among.words[word];
    const shown = listed ? listed.slice(0, settings.k).map(([other]) => other).join(", ") : "any word: the vocabulary does not list it";
    return [written("dt", word), written("dd", shown)];
  });
  at("lists-shown").replaceChildren(...rows);
  filled("promise", "li", [told.how, told.guarantee.sentence, ...told.examples, told.advice].filter(Boolean));
  filled("assumptions", "li", told.guarantee.assumptions || []);
  filled("disclosed", "li", last.disclosed);
  at("result").hidden = false;
  const left = Object.entries(last.left).map(([account, nats]) => `${account} has ${nats} nats left`).join("; ");
  return `Each release cost ${last.cost} nats. ${left}.`;
}

at("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  at("status").textContent = "Releasing …";
  try {
    at("status").textContent = await release();
  } catch (error) {
    at("status").textContent = error.message;
  }
});

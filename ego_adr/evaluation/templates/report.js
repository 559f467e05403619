"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const form = document.getElementById("filters");
  const list = document.getElementById("list");
  const more = document.getElementById("more");
  const count = document.getElementById("count");
  const PAGE = 25;
  const text = (number) => (number === null || number === undefined ? "" : data.texts[number]);
  const unique = (values) => [...new Set(values.filter((value) => value))];

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return element;
  }

  function options(name, entries, any) {
    const select = form.elements[name];
    select.append(make("option", { value: "" }, any));
    for (const [value, shown] of entries) select.append(make("option", { value }, shown));
    if (entries.length < 2 && name !== "run") select.parentElement.hidden = true;
  }

  const named = (values) => values.map((value) => [value, value]);
  const kinds = ["right", "wrong type", "false alarm", "missed", "unparsed", "failed", "no truth"];
  const said = (verdict) => verdict.label || verdict.kind;
  const verdicts = data.samples.flatMap((sample) => sample.runs);
  options("run", data.runs.map((name, number) => [String(number), name]), "any");
  if (data.runs.length < 2) form.elements.run.parentElement.hidden = true;
  options("truth", named(data.labels.filter((label) => data.samples.some((s) => s.truth.includes(label)))), "any");
  options("said", named(unique([...data.labels, "unparsed", "failed"].filter((l) => verdicts.some((v) => said(v) === l)))), "any");
  options("kind", named(kinds.filter((kind) => verdicts.some((v) => v.kind === kind))), "any");
  options("dataset", named(unique(data.samples.map((sample) => sample.dataset))), "any");

  function words(sample) {
    if (!sample.words) {
      const parts = [sample.id, sample.action, sample.video, sample.task];
      for (const v of sample.runs) {
        parts.push(v.label, v.why, text(v.narration), text(v.step), ...v.exchanges.map((e) => text(e[2])));
      }
      sample.words = parts.filter(Boolean).join("\n").toLowerCase();
    }
    return sample.words;
  }

  function chosen() {
    const want = Object.fromEntries(new FormData(form));
    const needle = want.text.trim().toLowerCase();
    return data.samples.filter((sample) => {
      if (want.truth && !sample.truth.includes(want.truth)) return false;
      if (want.dataset && sample.dataset !== want.dataset) return false;
      if (needle && !words(sample).includes(needle)) return false;
      if (!want.run && !want.said && !want.kind) return true;
      return sample.runs.some(
        (v) =>
          (!want.run || String(v.run) === want.run) &&
          (!want.said || said(v) === want.said) &&
          (!want.kind || v.kind === want.kind),
      );
    });
  }

  const seconds = (value) => (value === null || value === undefined ? "?" : value.toFixed(1));

  function row(parent, title, content) {
    if (content === "" || content === null || content === undefined) return;
    parent.append(make("dt", {}, title), make("dd", {}, content));
  }

  function inside(v) {
    const box = make("div", { class: "inside" });
    const facts = make("dl");
    if (v.step) {
      const how = v.match ? ` (${v.match.method}${v.match.score === null ? "" : `, ${v.match.score.toFixed(2)}`})` : "";
      row(facts, "matched step", text(v.step) + how);
    } else if (v.match) {
      row(facts, "matched step", `none (${v.match.method})`);
    }
    row(facts, "step before", text(v.previous));
    row(facts, "step after", text(v.next));
    row(facts, "narration", text(v.narration));
    row(facts, "evidence", v.evidence.join("\n"));
    if (v.labels.length > 1) row(facts, "all labels", v.labels.join(", "));
    if (v.probabilities) {
      const lines = make("div");
      for (const [label, p] of Object.entries(v.probabilities).sort((a, b) => b[1] - a[1])) {
        lines.append(make("div", {}, make("span", { class: "bar", style: `width:${Math.max(1, 160 * p)}px` }), `${(100 * p).toFixed(1)} % ${label}`));
      }
      row(facts, "probabilities", lines);
    }
    row(facts, "route", v.route + (v.routeWhy === null ? "" : ` (${text(v.routeWhy)})`));
    row(facts, "model", v.model);
    row(facts, "noticed", v.warnings.join("\n"));
    row(
      facts,
      "cost",
      v.use.map(([stage, calls, cached, put, got, took]) => `${stage}: ${calls} calls, ${cached} known, ${put + got} tokens, ${took.toFixed(2)} s`).join("\n"),
    );
    box.append(facts);
    for (const [stage, prompt, reply, finish, frames, cached] of v.exchanges) {
      const notes = [frames ? `${frames} pictures` : "text only", finish === "stop" ? "" : finish, cached ? "known before" : ""];
      box.append(
        make(
          "details",
          { class: "exchange" },
          make("summary", {}, `${stage}: prompt and reply (${notes.filter(Boolean).join(", ")})`),
          make("pre", {}, text(prompt)),
          make("pre", { class: "reply" }, text(reply) || "(empty)"),
        ),
      );
    }
    return box;
  }

  function verdict(v) {
    const line = make(
      "summary",
      {},
      make("span", { class: "run" }, make("i", { class: `dot s${v.run % 8}` }), data.runs[v.run]),
      v.label ? make("b", {}, v.label) : "",
      v.kind === "no truth" ? "" : make("span", { class: `chip ${v.kind.replace(" ", "-")}` }, v.kind),
      v.why ? make("span", { class: "why" }, v.cause ? `${v.cause}: ${v.why}` : v.why) : "",
    );
    const element = make("details", { class: "verdict" }, line);
    element.addEventListener("toggle", () => {
      if (element.open && element.children.length === 1) element.append(inside(v));
    });
    return element;
  }

  function card(sample) {
    const span = sample.span && sample.span[0] !== null ? `${seconds(sample.span[0])}–${seconds(sample.span[1])} s` : "";
    const truth = sample.truth.length ? `truth: ${sample.truth.join(", ")}` : "";
    const frames = make("div", { class: "frames" });
    sample.frames.forEach((uri, i) => {
      const time = sample.times[i];
      frames.append(
        make("figure", {}, make("img", { src: uri, alt: `picture ${i + 1}`, loading: "lazy" }), time === null ? "" : make("figcaption", {}, `${time.toFixed(2)} s`)),
      );
    });
    return make(
      "article",
      { class: "sample" },
      make("h3", {}, sample.action || sample.id),
      make("p", { class: "where" }, [truth, ...sample.giveaways, sample.task, sample.video, span, sample.id].filter(Boolean).join(" · ")),
      sample.frames.length ? frames : "",
      make("div", { class: "verdicts" }, ...sample.runs.map(verdict)),
    );
  }

  let found = [];
  let shown = 0;
  function page() {
    list.append(...found.slice(shown, shown + PAGE).map(card));
    shown = Math.min(found.length, shown + PAGE);
    more.hidden = shown >= found.length;
    count.textContent = found.length ? `${shown} of ${found.length} shown` : "no sample fits";
  }
  function refresh() {
    found = chosen();
    shown = 0;
    list.replaceChildren();
    page();
  }
  form.addEventListener("input", refresh);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(refresh));
  more.addEventListener("click", page);
  refresh();
})();

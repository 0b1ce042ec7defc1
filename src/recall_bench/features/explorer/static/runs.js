// The runs, their trials, and the table of all of them.

const runs = (() => {
  const opened = new Map();
  let known = [];

  const load = async () => {
    known = await blocks.json("runs", { isFresh: true });
    return known;
  };

  const find = (id) => known.find((run) => run.id === id);

  // The trials of a run, read once.
  const trials = (id) => {
    if (!opened.has(id)) {
      const parts = ["index", "questions", "trials"].map((name) => blocks.json(`${id}/${name}`));
      const found = Promise.all(parts).then(([page, questions, columns]) => new Trials(page, questions, columns));
      found.catch(() => opened.delete(id));
      opened.set(id, found);
    }
    return opened.get(id);
  };

  const title = (run) => (run.state === "unreadable" ? `${run.name} (cannot be read)` : `${run.system} · ${run.name}`);

  // A choice of one run; `change` gets its id.
  // Without `hasSuites` those of behaviour suites cannot be chosen: they have no history to look at.
  const choose = (label, chosen, change, hasSuites = false) => {
    const select = make("select", { "aria-label": label }, make("option", { value: "" }, `${label}: none`));
    for (const run of known) select.append(make("option", { value: run.id, selected: run.id === chosen, disabled: run.state === "unreadable" || (Boolean(run.suite) && !hasSuites) }, title(run)));
    select.addEventListener("change", () => change(select.value));
    return select;
  };

  // The run of the address, or the first that can be shown; null if there is none.
  const shown = () => {
    const asked = find(address.state.run);
    if (asked) return asked.suite ? null : asked.id;
    return known.find((each) => each.state !== "unreadable" && !each.suite)?.id ?? null;
  };
  const absent = () => (find(address.state.run)?.suite ? "This is a run of a behaviour suite: its report shows its stories, and it has no days or verdicts to look at here." : "No run over a history is here yet.");

  return { load, find, trials, title, choose, shown, absent, get known() { return known; } };
})();

const runsTable = (() => {
  // The figures that some run has, between what is known of every run.
  const figureNames = () => [...new Set(runs.known.flatMap((run) => [...(run.figures?.bounds ?? []), ...(run.figures?.cells ?? [])].map((cell) => cell.name)))];
  const cellOf = (run, name) => [...(run.figures?.bounds ?? []), ...(run.figures?.cells ?? [])].find((cell) => cell.name === name);
  const columns = () => [
    ["name", "Run", (run) => run.system + run.name],
    ["dataset", "Dataset", (run) => run.dataset],
    ["judge", "Judge", (run) => run.judge],
    ["score", "Score", (run) => run.figures?.score?.value],
    ...figureNames().map((name) => [name, name[0].toUpperCase() + name.slice(1), (run) => cellOf(run, name)?.value]),
    ["cost", "Cost", (run) => run.figures?.cost],
    ["state", "State", (run) => run.state],
  ];
  const OFTEN = 3000;
  const SELDOM = 15000;
  let root;
  let heads;
  let body;
  let action;
  let drawn = "";
  let timer = 0;

  const chosen = () => (address.state.runs ?? "").split(",").filter(Boolean);

  const toggle = (id) => {
    const now = chosen();
    const next = now.includes(id) ? now.filter((each) => each !== id) : [...now, id];
    // Reading a long run takes seconds: it begins while the next one is chosen.
    if (next.includes(id)) runs.trials(id).catch(() => {});
    address.go({ runs: next.join(",") });
  };

  const bar = ({ score, bounds }) => {
    if (!score) return null;
    const line = make("div", { class: "interval", "aria-hidden": "true" });
    if (score.low !== null) {
      const band = make("i");
      band.style.left = `${score.low}%`;
      band.style.width = `${score.high - score.low}%`;
      line.append(band);
    }
    const mark = make("b");
    mark.style.left = `${score.value}%`;
    line.append(mark);
    for (const { value } of bounds) {
      const tick = make("u");
      tick.style.left = `${value}%`;
      line.append(tick);
    }
    return line;
  };

  const progress = (run) => {
    const { done, owed, unstarted, errors, rate, left } = run.progress;
    const words = [`${whole(done)} of ${whole(owed)} trials`];
    if (rate) words.push(rate >= 1 ? `${fixed(rate, 1)} a second` : `${fixed(rate * 60, 1)} a minute`);
    if (errors) words.push(counted(errors, "error"));
    if (unstarted) words.push(`${counted(unstarted, "persona")} not started`);
    if (left) words.push(`${left} left`);
    const meter = make("progress", { max: String(owed || 1), value: String(done), "aria-label": "progress" });
    return [meter, make("small", { class: "quiet" }, words.join(" · "))];
  };

  const settingsOf = (run) => {
    const all = Object.entries(run.settings);
    if (!all.length) return null;
    return make("dl", { class: "differs" }, ...all.map(([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text || "–"))));
  };

  const nameCell = (run) => {
    const isRead = run.state !== "unreadable";
    const box = make("input", { type: "checkbox", "aria-label": `compare ${runs.title(run)}`, disabled: !isRead });
    box.checked = chosen().includes(run.id);
    box.addEventListener("change", () => toggle(run.id));
    const link = isRead
      ? make("a", { href: `run/${run.id}/report.html`, class: "untrusted-text" }, run.system)
      : make("b", { class: "untrusted-text" }, run.name);
    const who = make("div", { class: "who" }, link, isRead ? make("small", { class: "quiet untrusted-text" }, run.name) : null, settingsOf(run));
    return [make("div", { class: "named" }, make("label", { class: "pick" }, box), who)];
  };

  const stateCell = (run) => {
    const isLoud = ["invalid", "unreadable"].includes(run.state);
    const shown = [make("span", { class: isLoud ? "tag finding" : "tag" }, run.state)];
    if (run.progress) shown.push(...progress(run));
    if (run.problem) shown.push(make("small", { class: "quiet untrusted-text" }, run.problem));
    return shown;
  };

  const row = (run) => {
    const figures = run.figures;
    // The server writes two hyphens where there is no data, as text tables do.
    const tidy = (text) => (text === undefined || text === "--" ? "–" : text);
    const plain = (text) => [make("span", { class: "untrusted-text" }, tidy(text))];
    const cells = {
      name: nameCell(run),
      dataset: plain(run.dataset),
      judge: plain(run.judge),
      score: figures?.headlines.length ? figures.headlines.map(([words, text]) => make("small", { class: "suite-figure" }, make("b", {}, text), ` ${words}`)) : figures ? [make("span", {}, figures.score?.text ?? "–"), bar(figures), figures.score_name && make("small", { class: "quiet" }, figures.score_name), figures.doubt && make("small", { class: "quiet" }, figures.doubt)] : ["–"],
      ...Object.fromEntries(figureNames().map((name) => [name, [cellOf(run, name)?.text ?? "–"]])),
      cost: [tidy(figures?.cost)],
      state: stateCell(run),
    };
    const node = make(
      "tr",
      { "data-run": run.id, tabindex: "-1", class: chosen().includes(run.id) ? "is-chosen" : run.state === "unreadable" ? "is-unreadable" : null },
      ...columns().map(([key, label]) => make("td", { class: key, "data-label": label }, ...cells[key].filter(Boolean))),
    );
    return node;
  };

  const sorted = (all) => {
    const [key, direction] = (address.state.sort ?? "").split(".");
    const value = columns().find(([name]) => name === key)?.[2];
    if (!value) return all;
    const sign = direction === "down" ? -1 : 1;
    const isNone = (each) => each === null || each === undefined || Number.isNaN(each);
    return [...all].sort((one, other) => {
      const [a, b] = [value(one), value(other)];
      if (isNone(a) || isNone(b)) return isNone(a) - isNone(b);
      return sign * (a < b ? -1 : a > b ? 1 : 0);
    });
  };

  const sortBy = (key) => {
    const now = address.state.sort ?? "";
    const next = now === `${key}.up` ? `${key}.down` : now === `${key}.down` ? "" : `${key}.up`;
    address.go({ sort: next });
  };

  const paint = () => {
    const all = sorted(runs.known);
    const focused = document.activeElement?.closest?.("tr")?.dataset.run;
    const isBox = document.activeElement?.type === "checkbox";
    heads.replaceChildren(...columns().map(([key, label]) =>
      make("th", { scope: "col", class: key, "data-sort": key }, make("button", { type: "button", onclick: () => sortBy(key) }, label)),
    ));
    body.replaceChildren(...all.map(row));
    if (!all.length) body.append(make("tr", {}, make("td", { colspan: String(columns().length), class: "missing" }, "No run is here yet.")));
    const again = focused && body.querySelector(`tr[data-run="${focused}"]`);
    if (again) (isBox ? again.querySelector("input") : again).focus();
    for (const head of root.querySelectorAll("th")) {
      const [key, direction] = (address.state.sort ?? "").split(".");
      if (head.dataset.sort === key) head.setAttribute("aria-sort", direction === "down" ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    const count = chosen().length;
    action.hidden = count < 2;
    action.textContent = `Compare ${counted(count, "run")}`;
  };

  const poll = async () => {
    clearTimeout(timer);
    const isLive = () => runs.known.some((run) => ["running", "reading"].includes(run.state));
    if (!document.hidden) {
      await runs.load();
      const now = JSON.stringify(runs.known);
      if (now !== drawn && address.section === "runs") paint();
      drawn = now;
    }
    if (blocks.isServed && address.section === "runs") timer = setTimeout(() => poll().catch(lost), isLive() ? OFTEN : SELDOM);
  };

  const lost = () => {
    showError("The server has ended; start recall-bench view again.");
  };

  const compare = () => address.go({ sort: "" }, { at: "compare", isStep: true });

  const onKey = (event) => {
    const rows = [...body.querySelectorAll("tr[data-run]")];
    const at = rows.indexOf(document.activeElement?.closest?.("tr"));
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };
    if (event.key in steps) rows[Math.max(0, Math.min(rows.length - 1, at + steps[event.key]))]?.focus();
    else if (event.key === "x" && at >= 0) toggle(rows[at].dataset.run);
    else if (event.key === "Enter" && event.target.tagName === "TR") rows[at].querySelector("a")?.click();
    else if (event.key === "c" && chosen().length > 1) compare();
    else return false;
    return true;
  };

  const mount = async (given) => {
    root = given;
    body = make("tbody");
    action = make("button", { type: "button", class: "action", hidden: true, onclick: compare }, "Compare");
    heads = make("tr");
    root.replaceChildren(
      make("div", { class: "heading" }, make("h2", {}, "Runs"), action),
      make("div", { class: "scrolls" }, make("table", { class: "plain runs" }, make("thead", {}, heads), body)),
      make("p", { class: "quiet keys" }, "Scores are of 100, with 95 % intervals. Keys: ↑ ↓ move, Enter opens the report, x chooses a run, c compares those chosen."),
    );
    await poll();
    paint();
  };

  return { mount, follow: paint, onKey };
})();

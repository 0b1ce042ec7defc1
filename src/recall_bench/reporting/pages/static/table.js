// The table of trials. Only the rows in sight are in the document, however many there are.

const table = (() => {
  const HEIGHT = 62;
  const COLUMNS = [
    ["points", "Of 6"],
    ["question", "Question and answer"],
    ["category", "Category"],
    ["checkpoint", "At"],
    ["leaf", "Cause"],
  ];
  let trials;
  let rows = new Uint32Array(0);
  let list;
  let grid;
  let body;
  let head;
  let status;
  let selected = null;

  const chip = (row) => {
    const { state, points, score } = trials.columns;
    if (points[row] >= 0 && state[row] === STATES.judged) {
      return make("span", { class: `chip s${points[row] * 10}` }, String(points[row]));
    }
    if (state[row] === STATES.unanswered) return make("span", { class: "chip failed", title: "not answered" }, "×");
    const given = score?.[row];
    if (given !== null && given !== undefined) {
      return make("span", { class: `chip s${Math.round(given * 60)}` }, fixed(given, 2));
    }
    return make("span", { class: "chip blank", title: "no verdict" }, "–");
  };

  const said = (row) => {
    const answer = trials.answerNow(row);
    if (answer === undefined) {
      trials.answer(row).then(list.paint);
      return "…";
    }
    if (answer !== null) return answer.slice(0, 400);
    return trials.columns.state[row] === STATES.unanswered ? "(not answered)" : "(not asked yet)";
  };

  const rowNode = (position) => {
    const row = rows[position];
    const { page, questions, columns } = trials;
    const question = columns.question[row];
    const repeat = page.repeats > 1 ? ` #${columns.repeat[row] + 1}` : "";
    const leaf = columns.leaf[row];
    const cell = (name, ...children) => make("div", { role: "gridcell", class: name }, ...children);
    const node = make(
      "div",
      {
        role: "row",
        class: "trial",
        "aria-rowindex": String(position + 2),
      },
      cell("points", chip(row)),
      cell("text", make("div", { class: "asked" }, questions.text[question]), make("div", { class: "said" }, said(row))),
      cell("kind", make("div", {}, spelled(page.categories[questions.category[question]])), make("div", { class: "quiet" }, page.personas[questions.persona[question]])),
      cell("at", page.checkpoints[columns.checkpoint[row]][0] + repeat),
      cell(
        "cause",
        leaf >= 0 ? make("span", { class: "tag" }, page.leaves[leaf][1]) : null,
        ...["invented", "leaked"]
          .filter((name) => columns[name][row] === 1 && page.leaves[leaf]?.[1].toLowerCase() !== name)
          .map((name) => make("span", { class: `tag ${name}` }, name)),
      ),
    );
    return node;
  };

  const sortBy = (key) => {
    const now = address.state.sort ?? "";
    const next = now === `${key}.up` ? `${key}.down` : now === `${key}.down` ? "" : `${key}.up`;
    address.go({ sort: next }, { at: "questions" });
  };

  const heading = ([key, title]) => {
    const button = make("button", { type: "button", onclick: () => sortBy(key) }, title);
    return make("div", { role: "columnheader", class: key, "data-sort": key }, button);
  };

  const count = (state) => {
    const { question } = trials.columns;
    const different = new Set();
    for (const row of rows) different.add(question[row]);
    const all = rows.length === trials.count ? "" : ` of ${whole(trials.count)}`;
    let words = `${whole(rows.length)}${all} trials · ${counted(different.size, "question")}`;
    if (state.q && !trials.isLoaded) {
      words += ` · unpacking answers to search them too (${trials.loaded} of ${trials.page.answerBlocks.length})`;
    }
    status.textContent = words;
  };

  // Answers are unpacked one block after the other, so that the page stays at hand meanwhile.
  const loadAll = async () => {
    for (let number = 0; number < trials.page.answerBlocks.length; number += 1) {
      await trials.loadAnswers(number);
      if (number % 4 === 0) {
        count(address.state);
        await new Promise((resume) => setTimeout(resume));
      }
    }
    selected = null;
    show(address.state);
  };

  const show = (state) => {
    const { q, persona, category, at, result, invented, leaked, split, leaf, sort } = state;
    const wanted = JSON.stringify([q, persona, category, at, result, invented, leaked, split, leaf, sort].map((each) => each ?? ""));
    if (wanted === selected) return;
    selected = wanted;
    rows = trials.select(state);
    grid.setAttribute("aria-rowcount", String(rows.length + 1));
    for (const node of head.children) {
      const [key, direction] = (sort ?? "").split(".");
      const way = direction === "down" ? "descending" : "ascending";
      node.setAttribute("aria-sort", node.dataset.sort === key ? way : "none");
    }
    count(state);
    list.show(rows.length);
    if (q && !trials.isLoaded) loadAll();
  };

  const start = (given, root) => {
    trials = given;
    status = make("p", { class: "count", role: "status" });
    head = make("div", { role: "row", class: "trial-head", "aria-rowindex": "1" }, ...COLUMNS.map(([name, title]) => heading([name, name === "points" && trials.columns.score ? "Score" : title])));
    body = make("div", { class: "trial-body", role: "rowgroup" });
    grid = make(
      "div",
      {
        role: "grid",
        id: "trials-grid",
        class: "trials",
        tabindex: "0",
        "aria-label": "Trials: arrows move, Enter opens",
        "aria-colcount": String(COLUMNS.length),
      },
      head,
      body,
      make("p", { class: "none" }, "No trial matches."),
    );
    list = virtualList({
      box: grid,
      body,
      height: () => HEIGHT,
      headHeight: () => head.offsetHeight,
      prefix: "trial",
      row: rowNode,
      open: (position) => address.go({ open: trials.name(rows[position]) }, { at: "questions", isStep: true }),
    });
    root.append(status, grid, make("p", { class: "keys quiet" }, "Keys: / searches, arrows move, Enter opens, Escape closes."));
    address.onChange(show);
    show(address.state);
  };

  // The trial before or after a row in the table as it is shown; -1 where there is none.
  const beside = (row, step) => {
    let position = rows[list.active] === row ? list.active : rows.indexOf(row);
    if (position < 0) return -1;
    position += step;
    if (position < 0 || position >= rows.length) return -1;
    list.move(position);
    return rows[position];
  };

  return { start, beside, focus: () => list.focus() };
})();

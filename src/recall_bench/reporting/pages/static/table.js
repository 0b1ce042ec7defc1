// The table of trials. Only the rows in sight are in the document, however many there are.

const table = (() => {
  const HEIGHT = 62;
  const TALLEST = 8_000_000; // Browsers cut off what is taller than some multiple of this.
  const COLUMNS = [
    ["points", "Of 6"],
    ["question", "Question and answer"],
    ["category", "Category"],
    ["checkpoint", "At"],
    ["leaf", "Cause"],
  ];
  let trials;
  let rows = new Uint32Array(0);
  let active = 0;
  let grid;
  let body;
  let head;
  let status;
  let pending = false;
  let selected = null;

  const scale = () => Math.max(1, (rows.length * HEIGHT) / TALLEST);

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
      trials.answer(row).then(paint);
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
        id: `trial-${position}`,
        class: position === active ? "trial is-active" : "trial",
        "aria-rowindex": String(position + 2),
        "aria-selected": String(position === active),
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
    node.dataset.position = String(position);
    return node;
  };

  const paint = () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      const view = grid.clientHeight;
      const first = Math.max(0, Math.floor((grid.scrollTop * scale()) / HEIGHT) - 4);
      const last = Math.min(rows.length, first + Math.ceil(view / HEIGHT) + 9);
      const nodes = [];
      for (let position = first; position < last; position += 1) nodes.push(rowNode(position));
      const shift = first * HEIGHT - grid.scrollTop * (scale() - 1);
      body.replaceChildren(make("div", { class: "window", role: "presentation" }, ...nodes));
      body.firstChild.style.transform = `translateY(${shift}px)`;
      const isShown = active >= first && active < last;
      if (isShown) grid.setAttribute("aria-activedescendant", `trial-${active}`);
      else grid.removeAttribute("aria-activedescendant");
    });
  };

  const reveal = () => {
    const top = active * HEIGHT;
    const room = grid.clientHeight - head.offsetHeight - HEIGHT;
    const now = grid.scrollTop * scale();
    if (top < now) grid.scrollTop = top / scale();
    else if (top > now + room) grid.scrollTop = (top - room) / scale();
    paint();
  };

  const move = (to) => {
    active = Math.max(0, Math.min(rows.length - 1, to));
    reveal();
  };

  const open = (position) => {
    if (!rows.length) return;
    move(position);
    address.go({ open: trials.name(rows[active]) }, { at: "questions", isStep: true });
  };

  const onKey = (event) => {
    if (event.target !== grid) return;
    const jump = Math.max(1, Math.floor(grid.clientHeight / HEIGHT) - 1);
    const moves = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + jump,
      PageUp: active - jump,
      Home: 0,
      End: rows.length - 1,
    };
    if (event.key in moves) move(moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") open(active);
    else return;
    event.preventDefault();
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
    const { q, persona, category, at, result, invented, leaked, leaf, sort } = state;
    const wanted = JSON.stringify([q, persona, category, at, result, invented, leaked, leaf, sort].map((each) => each ?? ""));
    if (wanted === selected) return;
    selected = wanted;
    rows = trials.select(state);
    active = 0;
    grid.scrollTop = 0;
    grid.setAttribute("aria-rowcount", String(rows.length + 1));
    body.style.height = `${Math.min(rows.length * HEIGHT, TALLEST)}px`;
    for (const node of head.children) {
      const [key, direction] = (sort ?? "").split(".");
      const way = direction === "down" ? "descending" : "ascending";
      node.setAttribute("aria-sort", node.dataset.sort === key ? way : "none");
    }
    grid.classList.toggle("is-empty", rows.length === 0);
    count(state);
    paint();
    if (q && !trials.isLoaded) loadAll();
  };

  const start = (given, root) => {
    trials = given;
    status = make("p", { class: "count", role: "status" });
    head = make("div", { role: "row", class: "trial-head", "aria-rowindex": "1" }, ...COLUMNS.map(heading));
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
    grid.addEventListener("scroll", paint, { passive: true });
    grid.addEventListener("keydown", onKey);
    body.addEventListener("click", (event) => {
      const node = event.target.closest(".trial");
      if (node) open(Number(node.dataset.position));
    });
    root.append(status, grid, make("p", { class: "keys quiet" }, "Keys: / searches, arrows move, Enter opens, Escape closes."));
    new ResizeObserver(paint).observe(grid);
    address.onChange(show);
    show(address.state);
  };

  // The trial before or after a row in the table as it is shown; -1 where there is none.
  const beside = (row, step) => {
    let position = rows[active] === row ? active : rows.indexOf(row);
    if (position < 0) return -1;
    position += step;
    if (position < 0 || position >= rows.length) return -1;
    move(position);
    return rows[position];
  };

  return { start, beside, focus: () => grid.focus({ preventScroll: true }) };
})();

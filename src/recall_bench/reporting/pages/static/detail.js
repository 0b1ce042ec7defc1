// One trial, opened: all there is to know about it, and the same question at other checkpoints.

const detail = (() => {
  const dialog = byId("detail");
  let trials;
  let shown = -1;

  const FINDINGS = {
    leak: "leaks", refusal: "refuses", abstention: "says it does not know", stale: "out of date",
    contradiction: "contradicts", fabrication: "invented",
  };

  const EXPECTS = {
    abstain: "The right answer is that there is no such thing.",
    withhold: "The right answer is not to tell.",
  };

  const pointsOf = (row) => {
    const { state, points, score } = trials.columns;
    if (state[row] === STATES.judged) return [`s${points[row] * 10}`, String(points[row])];
    if (state[row] === STATES.unanswered) return ["failed", "×"];
    const given = score?.[row];
    if (given !== null && given !== undefined) return [`s${Math.round(given * 60)}`, fixed(given, 1)];
    return ["blank", "–"];
  };

  const strip = (row) => {
    const { page, columns } = trials;
    const all = trials.siblings(row);
    const steps = all.map((each) => {
      const label = page.checkpoints[columns.checkpoint[each]][0];
      const again = page.repeats > 1 ? ` #${columns.repeat[each] + 1}` : "";
      const [colour, points] = pointsOf(each);
      return make(
        "button",
        {
          type: "button",
          class: each === row ? "step is-here" : "step",
          "aria-current": each === row ? "true" : null,
          "aria-label": `at ${label}${again}: ${points === "×" ? "not answered" : points === "–" ? "no verdict" : `${points} of ${page.best}`}`,
          onclick: () => go(each),
        },
        make("span", { class: `chip ${colour}` }, points),
        make("small", {}, label + again),
      );
    });
    const hint = all.length > 1 ? `Asked ${all.length} times · ← → steps through them` : "Asked once";
    return make("div", { class: "strip" }, make("div", { class: "steps" }, ...steps), make("small", { class: "quiet" }, hint));
  };

  const marks = (verdict) => {
    if (verdict.marks === null) {
      return verdict.score === null ? null : make("p", {}, `Scored ${fixed(verdict.score, 2)} of 1 by the dataset's own protocol`);
    }
    return make(
      "dl",
      { class: "marks" },
      ...Object.entries(trials.page.scales).map(([name, best]) => {
        const given = verdict.marks[name];
        const dots = "●".repeat(given) + "○".repeat(best - given);
        return make("div", {}, make("dt", {}, name), make("dd", {}, make("span", { class: "dots", "aria-hidden": "true" }, dots), ` ${given} of ${best}`));
      }),
    );
  };

  const findings = (verdict) => {
    if (verdict.findings === null) return make("small", { class: "quiet" }, "This judge does not say what it notices beside the marks.");
    if (!verdict.findings.length) return null;
    return make("div", { class: "tags" }, ...verdict.findings.map((name) => make("span", { class: "tag finding" }, FINDINGS[name] ?? name)));
  };

  const verdict = (row, told) => {
    const { page, columns } = trials;
    const parts = [make("h3", {}, "Verdict")];
    if (told.verdict) {
      parts.push(marks(told.verdict), findings(told.verdict), make("p", { class: "reason prose" }, told.verdict.reason || "No reason was given."));
    } else if (columns.state[row] === STATES.unjudged) {
      parts.push(make("p", { class: "missing" }, `Not judged: ${told.fault}. ${told.message}`));
    } else if (columns.state[row] === STATES.unanswered) {
      parts.push(make("p", { class: "missing" }, "No answer, so no points: a failure counts against the system."));
    } else parts.push(make("p", { class: "missing" }, "There is no verdict."));
    if (told.primary) {
      const sum = told.primary.marks === null ? told.primary.score : Object.values(told.primary.marks).reduce((a, b) => a + b, 0);
      parts.push(
        make("details", {}, make("summary", {}, `Reviewed: the first verdict was ${sum}${told.primary.marks === null ? "" : ` of ${page.best}`}`), marks(told.primary), findings(told.primary), make("p", { class: "reason prose" }, told.primary.reason)),
      );
    }
    if (told.review_fault) parts.push(make("p", { class: "missing" }, `A review was due and failed: ${told.review_fault}`));
    const leaf = columns.leaf[row];
    if (leaf >= 0) {
      const [, title, meaning] = page.leaves[leaf];
      parts.push(make("p", { class: "put-down" }, make("span", { class: "tag" }, title), " ", meaning));
    }
    return make("section", { class: "verdict" }, ...parts.filter(Boolean));
  };

  const answer = (row, told, text) => {
    const title = make("h3", {}, "The system said");
    if (text === null) {
      const why = told.fault && trials.columns.state[row] === STATES.unanswered
        ? `Not answered: ${told.fault}. ${told.message}`
        : "It was not asked yet.";
      return make("section", {}, title, make("p", { class: "missing prose" }, why));
    }
    const facts = [];
    if (told.seconds !== undefined) facts.push(`took ${seconds(told.seconds)}`);
    if (told.calls) facts.push(counted(told.calls, "tool call"));
    return make("section", { class: "answer" }, title, make("div", { class: "prose quote" }, text || "(an empty answer)"), make("small", { class: "quiet" }, facts.join(" · ")));
  };

  const reference = (about, place) => {
    const parts = [make("h3", {}, "Reference"), make("div", { class: "prose quote" }, trials.questions.reference[place])];
    if (about.expects) parts.push(make("p", { class: "quiet" }, EXPECTS[about.expects]));
    for (const [key, label] of [["aliases", "Also right"], ["stale", "Out of date"], ["distractors", "Plausible and wrong"]]) {
      if (about[key]) parts.push(make("p", { class: "quiet" }, `${label}: ${about[key].join(" · ")}`));
    }
    return make("section", {}, ...parts);
  };

  const asked = (row, about, place) => {
    const { page, questions, columns } = trials;
    const label = page.checkpoints[columns.checkpoint[row]][0];
    const facts = [page.personas[questions.persona[place]], spelled(page.categories[questions.category[place]])];
    if (questions.difficulty[place]) facts.push(questions.difficulty[place]);
    if (questions.kind[place]) facts.push(questions.kind[place]);
    facts.push(questions.id[place], `at ${label}`);
    const known = about.until === undefined ? `known from day ${whole(about.from)}` : `known from day ${whole(about.from)} to ${whole(about.until)}`;
    const from = about.session ? `asked from ${about.session} · ` : "";
    return make(
      "div",
      { class: "asked-head" },
      make("p", { class: "kicker" }, facts.join(" · ")),
      make("h2", { id: "detail-title", tabindex: "-1" }, questions.text[place]),
      make("p", { class: "quiet" }, from + known),
      about.choices ? make("ul", { class: "choices" }, ...about.choices.map((each) => make("li", {}, each))) : null,
    );
  };

  const bar = (row) => {
    const jump = (step, label, key) =>
      make("button", { type: "button", "aria-keyshortcuts": key, title: `${label} (${key})`, onclick: () => beside(step) }, label);
    return make(
      "div",
      { class: "bar" },
      jump(-1, "Previous", "p"),
      jump(1, "Next", "n"),
      make("span", { class: "grow" }),
      make("button", { type: "button", class: "close", title: "Close (Escape)", onclick: () => dialog.close() }, "Close"),
    );
  };

  const show = async (row) => {
    shown = row;
    const place = trials.columns.question[row];
    const persona = trials.questions.persona[place];
    const block = await blocks.json(`details-${trials.questions.block[place]}`);
    const about = block[place];
    const told = about.trials[row];
    const days = new Set(about.evidence.map((each) => each.day));
    const [text, found, cited] = await Promise.all([
      trials.answer(row),
      sources.retrieved(trials, persona, told, days),
      sources.evidence(trials, persona, about.evidence),
    ]);
    if (shown !== row) return;
    const content = make(
      "div",
      { class: "content" },
      asked(row, about, place),
      strip(row),
      make("div", { class: "pair" }, reference(about, place), answer(row, told, text)),
      verdict(row, told),
      cited,
      found,
    );
    dialog.replaceChildren(bar(row), content);
    if (!dialog.open) dialog.showModal();
    sources.settle(dialog);
    byId("detail-title").focus({ preventScroll: true });
    dialog.dataset.row = String(row);
  };

  const go = (row) => address.go({ open: trials.name(row) });

  const beside = (step) => {
    const row = table.beside(shown, step);
    if (row >= 0) go(row);
  };

  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = { ArrowRight: 1, ArrowLeft: -1 };
    if (event.key in steps) {
      const all = trials.siblings(shown);
      const next = all[all.indexOf(shown) + steps[event.key]];
      if (next !== undefined) go(next);
    } else if (event.key === "n") beside(1);
    else if (event.key === "p") beside(-1);
    else return;
    event.preventDefault();
  };

  const follow = (state) => {
    const row = state.open ? trials.find(state.open) : -1;
    if (row < 0) {
      shown = -1;
      if (dialog.open) dialog.close();
    } else if (row !== shown) show(row);
  };

  const start = (given) => {
    trials = given;
    dialog.addEventListener("keydown", onKey);
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
    dialog.addEventListener("close", () => {
      shown = -1;
      delete dialog.dataset.row;
      if (address.state.open) address.go({ open: "" });
      table.focus();
    });
    address.onChange(follow);
    follow(address.state);
  };

  return { start };
})();

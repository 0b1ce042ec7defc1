// The parts of one trial: the question, the reference, the answer, the verdict.

const parts = (() => {
  const FINDINGS = {
    leak: "leaks", refusal: "refuses", abstention: "says it does not know", stale: "out of date",
    contradiction: "contradicts", fabrication: "invented",
  };

  const EXPECTS = {
    correct: "The right answer says that it was not so.",
    abstain: "The right answer is that there is no such thing.",
    withhold: "The right answer is not to tell.",
  };

  const pointsOf = (trials, row) => {
    const { state, points, score } = trials.columns;
    if (state[row] === STATES.judged) return [`s${points[row] * 10}`, String(points[row])];
    if (state[row] === STATES.unanswered) return ["failed", "×"];
    const given = score?.[row];
    if (given !== null && given !== undefined) return [`s${Math.round(given * 60)}`, fixed(given, 1)];
    return ["blank", "–"];
  };

  const chip = (trials, row) => {
    const [colour, points] = pointsOf(trials, row);
    return make("span", { class: `chip ${colour}` }, points);
  };

  // The same question at every checkpoint; `go` opens another of its trials.
  const strip = (trials, row, go) => {
    const { page, columns } = trials;
    const all = trials.siblings(row);
    const steps = all.map((each) => {
      const label = page.checkpoints[columns.checkpoint[each]][0];
      const again = page.repeats > 1 ? ` #${columns.repeat[each] + 1}` : "";
      const [colour, points] = pointsOf(trials, each);
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

  const marks = (trials, verdict) => {
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

  const verdict = (trials, row, told) => {
    const { page, columns } = trials;
    const shown = [make("h3", {}, told.verdict?.judge ? `Verdict of ${told.verdict.judge}` : "Verdict")];
    if (told.verdict) {
      shown.push(marks(trials, told.verdict), findings(told.verdict), make("p", { class: "reason prose" }, told.verdict.reason || "No reason was given."));
    } else if (columns.state[row] === STATES.unjudged) {
      shown.push(make("p", { class: "missing" }, `Not judged: ${told.fault}. ${told.message}`));
    } else if (columns.state[row] === STATES.unanswered) {
      shown.push(make("p", { class: "missing" }, "No answer, so no points: a failure counts against the system."));
    } else shown.push(make("p", { class: "missing" }, "There is no verdict."));
    if (told.primary) {
      const sum = told.primary.marks === null ? told.primary.score : Object.values(told.primary.marks).reduce((a, b) => a + b, 0);
      shown.push(
        make("details", {}, make("summary", {}, `Reviewed: the first verdict was ${sum}${told.primary.marks === null ? "" : ` of ${page.best}`}`), marks(trials, told.primary), findings(told.primary), make("p", { class: "reason prose" }, told.primary.reason)),
      );
    }
    if (told.review_fault) shown.push(make("p", { class: "missing" }, `A review was due and failed: ${told.review_fault}`));
    for (const other of told.others ?? []) {
      if (other.fault) {
        shown.push(make("p", { class: "missing" }, `${other.judge} failed to judge it: ${other.message}`));
        continue;
      }
      const sum = other.marks === null ? other.score : Object.values(other.marks).reduce((a, b) => a + b, 0);
      const said = other.marks === null ? `${fixed(other.score, 2)} of 1` : `${sum} of ${page.best}`;
      shown.push(make("details", {}, make("summary", {}, `By ${other.judge}: ${said}`), marks(trials, other), make("p", { class: "reason prose" }, other.reason || "No reason was given.")));
    }
    const leaf = columns.leaf[row];
    if (leaf >= 0) {
      const [, title, meaning] = page.leaves[leaf];
      shown.push(make("p", { class: "put-down" }, make("span", { class: "tag" }, title), " ", meaning));
    }
    return make("section", { class: "verdict" }, ...shown.filter(Boolean));
  };

  const answer = (trials, row, told, text) => {
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

  const reference = (trials, about, place) => {
    const parts = [make("h3", {}, "Reference"), make("div", { class: "prose quote" }, trials.questions.reference[place])];
    if (about.expects) parts.push(make("p", { class: "quiet" }, EXPECTS[about.expects]));
    for (const [key, label] of [["aliases", "Also right"], ["stale", "Out of date"], ["distractors", "Plausible and wrong"]]) {
      if (about[key]) parts.push(make("p", { class: "quiet" }, `${label}: ${about[key].join(" · ")}`));
    }
    return make("section", {}, ...parts);
  };

  const asked = (trials, row, about, place, id = "detail-title") => {
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
      make("h2", { id, tabindex: "-1" }, questions.text[place]),
      make("p", { class: "quiet" }, from + known),
      about.choices ? make("ul", { class: "choices" }, ...about.choices.map((each) => make("li", {}, each))) : null,
    );
  };

  // All that is known of one trial.
  const read = async (trials, row) => {
    const place = trials.columns.question[row];
    const persona = trials.questions.persona[place];
    await trials.locate();
    const block = await trials.block(`details-${trials.questions.block[place]}`);
    const about = block[place];
    const told = about.trials[row];
    const days = new Set(about.evidence.map((each) => each.day));
    const [text, found, cited] = await Promise.all([
      trials.answer(row),
      sources.retrieved(trials, persona, told, days),
      sources.evidence(trials, persona, about.evidence),
    ]);
    return { place, about, told, text, found, cited };
  };

  return { pointsOf, chip, strip, verdict, answer, reference, asked, read };
})();

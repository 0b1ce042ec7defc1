// What the system found, and the days that tell the answer.

const sources = (() => {
  const LONG = 420;

  const textOf = async (trials, persona, place) => {
    await trials.locate();
    const starts = trials.page.textBlocks[persona];
    const number = blocks.holding(starts, place);
    const part = await trials.block(`texts-${persona}-${number}`);
    const at = place - starts[number];
    return { text: part.text[at], day: part.day[at], source: part.source[at] };
  };

  const folded = (text) => {
    const body = make("div", { class: text.length > LONG ? "prose is-folded" : "prose" }, text);
    if (text.length <= LONG) return [body];
    const more = make("button", { type: "button", class: "more", "aria-expanded": "false" }, "Show all");
    more.addEventListener("click", () => {
      const isFolded = body.classList.toggle("is-folded");
      more.textContent = isFolded ? "Show all" : "Show less";
      more.setAttribute("aria-expanded", String(!isFolded));
    });
    return [body, more];
  };

  const passage = ({ text, day, source }, score, evidence) => {
    const facts = [day === null ? "day not known" : `day ${whole(day)}`];
    if (score !== null && score !== undefined) facts.push(`score ${score}`);
    if (source) facts.push(source);
    const isEvidence = day !== null && evidence.has(day);
    return make(
      "li",
      { class: isEvidence ? "passage is-evidence" : "passage" },
      make(
        "div",
        { class: "meta" },
        make("span", {}, facts.join(" · ")),
        isEvidence ? make("span", { class: "tag evidence" }, "evidence day") : null,
      ),
      ...folded(text),
    );
  };

  const delivered = (delivery) => {
    if (!delivery) return null;
    const words = [`${counted(delivery.offered, "passage")} returned, ${whole(delivery.kept)} within the budget`];
    words.push(`about ${counted(delivery.tokens, "token")}`);
    if (delivery.cut_days?.length) words.push(`cut off: day ${delivery.cut_days.join(", ")}`);
    return make("p", { class: "quiet" }, words.join(" · "));
  };

  const retrieved = async (trials, persona, told, evidence) => {
    const title = make("h3", {}, "What it retrieved");
    if (!told.passages) {
      return make("section", {}, title, make("p", { class: "missing" }, "The system showed no passages."), delivered(told.delivery));
    }
    const texts = await Promise.all(told.passages.map((place) => textOf(trials, persona, place)));
    const all = texts.map((each, number) => passage(each, told.scores?.[number], evidence));
    const found = new Set(texts.map((each) => each.day).filter((day) => evidence.has(day)));
    const hit = evidence.size
      ? make("p", { class: "quiet" }, `${found.size} of ${counted(evidence.size, "evidence day")} among them`)
      : null;
    return make("section", {}, title, delivered(told.delivery), hit, make("ol", { class: "passages" }, ...all));
  };

  // A day with the telling sentences marked. Spans may overlap; what is marked twice is marked once.
  const marked = (text, spans) => {
    const day = make("div", { class: "day prose", tabindex: "0" });
    let at = 0;
    for (const [start, end] of [...spans].sort((one, other) => one[0] - other[0])) {
      if (end <= at) continue;
      const from = Math.max(at, start);
      day.append(text.slice(at, from), make("mark", {}, text.slice(from, end)));
      at = end;
    }
    day.append(text.slice(at));
    return day;
  };

  const evidenceDay = async (trials, persona, day, cited, hasDays) => {
    const facts = [`Day ${whole(day)}`];
    for (const key of ["session", "speaker"]) {
      const named = [...new Set(cited.map((each) => each[key]).filter(Boolean))];
      if (named.length) facts.push(named.join(", "));
    }
    const head = make("div", { class: "meta" }, make("b", {}, facts.join(" · ")));
    const place = cited[0].text;
    if (place === undefined) {
      const why = hasDays ? "The text of this day is not at hand." : null;
      return make("div", { class: "evidence-day" }, head, why && make("p", { class: "missing" }, why));
    }
    const spans = cited.map((each) => each.span).filter(Boolean);
    const { text } = await textOf(trials, persona, place);
    const body = marked(text, spans);
    const note = spans.length ? null : make("p", { class: "quiet" }, "The dataset does not say which sentence tells it.");
    return make("div", { class: "evidence-day" }, head, note, body);
  };

  const evidence = async (trials, persona, cited) => {
    const title = make("h3", {}, "Evidence");
    if (!cited.length) {
      return make("section", {}, title, make("p", { class: "missing" }, "No day tells it: the right answer is that there is no such thing, or the dataset does not say."));
    }
    const hasDays = trials.page.hasDays;
    const hint = hasDays
      ? null
      : make("p", { class: "missing" }, "The days themselves are not in this page. Name the folder of the personas with --data to read the evidence in its day.");
    const days = [...new Set(cited.map((each) => each.day))];
    const all = await Promise.all(
      days.map((day) => evidenceDay(trials, persona, day, cited.filter((each) => each.day === day), hasDays)),
    );
    return make("section", {}, title, hint, ...all);
  };

  // Bring the first marked sentence of each day into the middle of its box.
  const settle = (root) => {
    for (const day of root.querySelectorAll(".day")) {
      const mark = day.querySelector("mark");
      if (mark) day.scrollTop = mark.offsetTop - day.clientHeight / 3;
    }
  };

  return { retrieved, evidence, marked, settle };
})();

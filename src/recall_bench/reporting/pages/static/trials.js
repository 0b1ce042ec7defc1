// The table of trials in memory: which match, and in what order.

const STATES = { open: 0, answered: 1, unjudged: 2, unanswered: 3, judged: 4, measured: 5 };

const RESULTS = [
  ["full", "Full marks"],
  ["part", "Partly right"],
  ["wrong", "Wrong"],
  ["unanswered", "Not answered"],
  ["unjudged", "Not judged"],
  ["open", "Open"],
];

class Trials {
  constructor(page, questions, columns) {
    this.page = page;
    this.questions = questions;
    this.columns = columns;
    this.count = columns.question.length;
    this.answers = [];
    this.loaded = 0;
    this.located = page.answerBlocks ? this.#place({}) : null;
    this.results = Uint8Array.from({ length: this.count }, (_, row) => this.#result(row));
    this.lower = null;
    this.lowerAnswers = [];
    this.rowsByQuestion = null;
  }

  #result(row) {
    const { state, points, score } = this.columns;
    const name = (() => {
      if (state[row] === STATES.unanswered) return "unanswered";
      if (state[row] === STATES.unjudged) return "unjudged";
      if (state[row] === STATES.judged) {
        if (points[row] === this.page.best) return "full";
        return points[row] > 1 ? "part" : "wrong";
      }
      const given = score === null ? null : score[row];
      if (given === null || given === undefined) return "open";
      if (given === 1) return "full";
      return given > 0 ? "part" : "wrong";
    })();
    return RESULTS.findIndex(([key]) => key === name);
  }

  // Where the texts are: a run that is served tells it in a block of its own, as reading them takes longer.
  locate() {
    this.located ??= this.block("places").then((found) => this.#place(found));
    return this.located;
  }

  #place({ page = {}, questions = {}, trials = {} }) {
    Object.assign(this.page, page);
    Object.assign(this.questions, questions);
    Object.assign(this.columns, trials);
    // Of its full size from the start: one that grows out of order is slow.
    this.answers = new Array(this.page.answers).fill(undefined);
    return Promise.resolve();
  }

  isAnswered(row) {
    return ![STATES.open, STATES.unanswered].includes(this.columns.state[row]);
  }

  // A block of this run: a page with several runs names each after its run.
  block(name) {
    return blocks.json((this.page.prefix ?? "") + name);
  }

  persona(row) {
    return this.questions.persona[this.columns.question[row]];
  }

  name(row) {
    const question = this.columns.question[row];
    const { persona, id } = this.questions;
    const label = this.page.checkpoints[this.columns.checkpoint[row]][0];
    return `${this.page.personas[persona[question]]}/${id[question]}@${label}#${this.columns.repeat[row]}`;
  }

  // The row of a trial by its name, or -1.
  find(name) {
    if (this.rowByName === undefined) {
      this.rowByName = new Map();
      for (let row = 0; row < this.count; row += 1) this.rowByName.set(this.name(row), row);
    }
    return this.rowByName.get(name) ?? -1;
  }

  // All rows of the same question, by checkpoint and repeat.
  siblings(row) {
    if (this.rowsByQuestion === null) {
      this.rowsByQuestion = new Map();
      const { question } = this.columns;
      for (let each = 0; each < this.count; each += 1) {
        const found = this.rowsByQuestion.get(question[each]);
        if (found) found.push(each);
        else this.rowsByQuestion.set(question[each], [each]);
      }
    }
    return this.rowsByQuestion.get(this.columns.question[row]);
  }

  questionRows(persona, id) {
    const place = this.questions.id.findIndex(
      (each, number) => each === id && this.page.personas[this.questions.persona[number]] === persona,
    );
    const row = place < 0 ? -1 : this.columns.question.indexOf(place);
    return row < 0 ? [] : this.siblings(row);
  }

  // The answer where it is unpacked already, null where there is none, undefined where not yet.
  answerNow(row) {
    if (!this.isAnswered(row)) return null;
    return this.columns.answer === undefined ? undefined : this.answers[this.columns.answer[row]];
  }

  async answer(row) {
    await this.locate();
    const place = this.columns.answer[row];
    if (place < 0) return null;
    if (this.answers[place] === undefined) {
      await this.loadAnswers(blocks.holding(this.page.answerBlocks, place));
    }
    return this.answers[place];
  }

  async loadAnswers(number) {
    const part = await this.block(`answers-${number}`);
    const start = this.page.answerBlocks[number];
    if (this.answers[start] !== undefined) return;
    part.forEach((answer, place) => {
      this.answers[start + place] = answer;
    });
    this.loaded += 1;
  }

  get isLoaded() {
    return this.loaded === this.page.answerBlocks?.length;
  }

  // Rows that match, in the order asked for.
  select(wanted) {
    const rows = new Uint32Array(this.count);
    const found = this.#searched(wanted.q);
    const tests = this.#tests(wanted);
    let length = 0;
    for (let row = 0; row < this.count; row += 1) {
      if (tests.every((test) => test(row)) && found(row)) {
        rows[length] = row;
        length += 1;
      }
    }
    return this.#sorted(rows.subarray(0, length), wanted.sort);
  }

  #tests(wanted) {
    const { question, checkpoint, invented, leaked, leaf } = this.columns;
    const tests = [];
    const place = (names, name) => names.indexOf(name);
    if (wanted.persona) {
      const persona = place(this.page.personas, wanted.persona);
      tests.push((row) => this.questions.persona[question[row]] === persona);
    }
    if (wanted.category) {
      const category = place(this.page.categories, wanted.category);
      tests.push((row) => this.questions.category[question[row]] === category);
    }
    if (wanted.at) {
      const at = this.page.checkpoints.findIndex(([label]) => label === wanted.at);
      tests.push((row) => checkpoint[row] === at);
    }
    if (wanted.result) {
      const result = RESULTS.findIndex(([key]) => key === wanted.result);
      tests.push((row) => this.results[row] === result);
    }
    if (wanted.invented) {
      const is = wanted.invented === "yes" ? 1 : 0;
      tests.push((row) => invented[row] === is);
    }
    if (wanted.split && this.columns.split) {
      const is = wanted.split === "yes" ? 1 : 0;
      tests.push((row) => this.columns.split[row] === is);
    }
    if (wanted.leaked) {
      const is = wanted.leaked === "yes" ? 1 : 0;
      tests.push((row) => leaked[row] === is);
    }
    if (wanted.leaf === "any") tests.push((row) => leaf[row] >= 0);
    else if (wanted.leaf) {
      const put = this.page.leaves.findIndex(([name]) => name === wanted.leaf);
      tests.push((row) => leaf[row] === put);
    }
    return tests;
  }

  // Every word must be in the question, its reference, an id or the answer, whatever its case.
  #searched(query) {
    const words = (query ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return () => true;
    const { text, reference, id, persona } = this.questions;
    this.lower ??= text.map((each, place) =>
      [each, reference[place], id[place], this.page.personas[persona[place]]].join("\n").toLowerCase(),
    );
    for (let place = this.lowerAnswers.length; place < this.answers.length; place += 1) {
      if (this.answers[place] === undefined) break;
      this.lowerAnswers.push(this.answers[place].toLowerCase());
    }
    const hits = words.map((word) => [
      Uint8Array.from(this.lower, (each) => (each.includes(word) ? 1 : 0)),
      Uint8Array.from(this.lowerAnswers, (each) => (each.includes(word) ? 1 : 0)),
    ]);
    const { question, answer = [] } = this.columns;
    return (row) => hits.every(([asked, said]) => asked[question[row]] || said[answer[row]]);
  }

  #sorted(rows, sort) {
    const [key, direction] = (sort ?? "").split(".");
    const { question, checkpoint, points, leaf, score } = this.columns;
    const value = {
      points: (row) => (points[row] >= 0 ? points[row] : (score?.[row] ?? -1)),
      question: (row) => question[row],
      checkpoint: (row) => checkpoint[row],
      category: (row) => this.questions.category[question[row]],
      leaf: (row) => leaf[row],
    }[key];
    if (value === undefined) return rows;
    const sign = direction === "down" ? -1 : 1;
    return rows.sort((one, other) => sign * (value(one) - value(other)) || one - other);
  }
}

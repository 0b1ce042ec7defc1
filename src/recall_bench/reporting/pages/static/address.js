// What is looked at, in the address: `#questions?category=synthesis&open=...` leads back to it.

const address = (() => {
  const KEYS = ["runs", "run", "with", "show", "whose", "day", "fact", "who", "part", "scope", "q", "persona", "category", "at", "result", "invented", "leaked", "split", "leaf", "sort", "open"];
  const listeners = [];
  let section = "";
  let state = {};

  const read = () => {
    const [name, query] = location.hash.slice(1).split("?", 2);
    section = name;
    const given = new URLSearchParams(query ?? "");
    state = {};
    for (const key of KEYS) if (given.has(key)) state[key] = given.get(key);
  };

  const written = () => {
    const query = new URLSearchParams();
    for (const key of KEYS) if (state[key]) query.set(key, state[key]);
    const text = query.toString();
    return `#${section}${text ? `?${text}` : ""}`;
  };

  // Change some of it; `isStep` lets the back button return to before.
  const go = (changes, { isStep = false, at = section } = {}) => {
    section = at;
    state = { ...state, ...changes };
    if (written() !== location.hash) {
      if (isStep) history.pushState(null, "", written());
      else history.replaceState(null, "", written());
    }
    for (const listener of listeners) listener(state, section);
  };

  const start = () => {
    read();
    const again = () => {
      if (written() === location.hash) return;
      read();
      for (const listener of listeners) listener(state, section);
    };
    addEventListener("popstate", again);
    addEventListener("hashchange", again);
  };

  return {
    start,
    go,
    get state() {
      return state;
    },
    get section() {
      return section;
    },
    onChange: (listener) => listeners.push(listener),
  };
})();

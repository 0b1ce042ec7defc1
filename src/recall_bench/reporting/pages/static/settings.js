// How the page looks: theme and colours, kept from visit to visit where the browser allows it.

const settings = (() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const listeners = [];

  const kept = (name) => {
    try {
      return localStorage.getItem(`recall-bench-${name}`);
    } catch {
      return null; // A browser may refuse storage to files.
    }
  };

  const keep = (name, value) => {
    try {
      localStorage.setItem(`recall-bench-${name}`, value);
    } catch {
      // It looks the same until it is closed.
    }
  };

  const theme = () => {
    const chosen = byId("set-theme").value;
    if (chosen !== "auto") return chosen;
    return dark.matches ? "dark" : "light";
  };

  const colours = () => byId("set-colours").value;

  const apply = () => {
    root.dataset.theme = theme();
    root.dataset.colours = colours();
    for (const listener of listeners) listener();
  };

  const start = () => {
    for (const name of ["theme", "colours"]) {
      const control = byId(`set-${name}`);
      const before = kept(name);
      if ([...control.options].some((option) => option.value === before)) control.value = before;
      control.addEventListener("change", () => {
        keep(name, control.value);
        apply();
      });
    }
    dark.addEventListener("change", apply);
    apply();
  };

  return { start, theme, colours, onChange: (listener) => listeners.push(listener) };
})();

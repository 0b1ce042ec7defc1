// The data of the page, packed into it or on its server. A block is read once, when it is needed.

const blocks = (() => {
  // This script runs while the browser still reads what comes after it.
  const all = new Promise((read) => {
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", read);
    else read();
  });

  const packed = async (name) => {
    const find = () => document.querySelector(`script[data-block="${name}"]`);
    const found = find() ?? (await all, find());
    if (found === null) throw new Error("this is not among the files that were written; recall-bench view shows all");
    return found.textContent;
  };

  const unpacked = new Map();

  const bytesOf = (text) => {
    if (typeof Uint8Array.fromBase64 === "function") return Uint8Array.fromBase64(text);
    const letters = atob(text);
    const bytes = new Uint8Array(letters.length);
    for (let place = 0; place < letters.length; place += 1) bytes[place] = letters.charCodeAt(place);
    return bytes;
  };

  const text = async (name) => {
    const bytes = bytesOf(await packed(name));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };

  const isServed = document.body.dataset.served === "yes";

  const loaded = async (name) => {
    const reply = await fetch(`data/${name}`);
    if (!reply.ok) throw new Error(await reply.text());
    return reply.json();
  };

  // `isFresh` reads it again, where there is a server.
  const json = (name, { isFresh = false } = {}) => {
    if (!unpacked.has(name) || (isFresh && isServed)) {
      const found = isServed ? loaded(name) : text(name).then(JSON.parse);
      // What could not be read is asked for again.
      found.catch(() => unpacked.delete(name));
      unpacked.set(name, found);
    }
    return unpacked.get(name);
  };

  // The place of the block that holds entry `number`, of blocks that start at these entries.
  const holding = (starts, number) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle] <= number) low = middle;
      else high = middle - 1;
    }
    return low;
  };

  return { text, json, holding, isServed };
})();

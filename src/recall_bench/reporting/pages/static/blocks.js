// The packed data of the page. A block is unpacked when somebody asks for it, and kept.

const blocks = (() => {
  // This script runs while the browser still reads what comes after it.
  const all = new Promise((read) => {
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", read);
    else read();
  });

  const packed = async (name) => {
    const find = () => document.querySelector(`script[data-block="${name}"]`);
    return (find() ?? (await all, find())).textContent;
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

  const json = (name) => {
    if (!unpacked.has(name)) unpacked.set(name, text(name).then(JSON.parse));
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

  return { text, json, holding };
})();

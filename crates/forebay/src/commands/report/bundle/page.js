(async () => {
  const text = document.getElementById("forebay-data").textContent.trim();
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const data = JSON.parse(await new Response(stream).text());
  const root = document.getElementById("report");
  for (const run of data.runs) {
    const line = document.createElement("p");
    line.textContent = run.label + ": " + run.panels.overview.verdict;
    root.append(line);
  }
})();

/* Preview of what will be stored: the number of repetitions by system and tool. */
(() => {
  const { form, list, find, say, unitsOf } = upload;
  const target = find("[data-matrix]");

  /* Map each system to its tools, and each tool to the runs of its benchmarks. */
  const countRuns = () => {
    const systems = new Map();
    for (const entry of uploadFolders.includedEntries()) {
      if (!entry.dataset.tally) continue;
      const tally = JSON.parse(entry.dataset.tally);
      for (const unit of unitsOf(entry)) {
        const name = uploadFolders.systemName(unit);
        if (!name) continue;
        if (!systems.has(name)) systems.set(name, new Map());
        const tools = systems.get(name);
        for (const [part, tool, benchmarks] of tally) {
          if (part !== unit.part) continue;
          if (!tools.has(tool)) tools.set(tool, new Map());
          const runs = tools.get(tool);
          for (const [benchmark, n] of Object.entries(benchmarks)) runs.set(benchmark, (runs.get(benchmark) ?? 0) + n);
        }
      }
    }
    return systems;
  };

  const cell = (tag, text, scope = "") => {
    const element = document.createElement(tag);
    element.textContent = text;
    if (scope) element.scope = scope;
    return element;
  };

  const repetitionsText = (runs) => {
    if (!runs) return "";
    const counts = [...runs.values()];
    const [low, high] = [Math.min(...counts), Math.max(...counts)];
    return say("repetitions", { n: low === high ? low : `${low}–${high}`, benchmarks: counts.length });
  };

  const render = () => {
    const systems = countRuns();
    target.hidden = !systems.size;
    const tools = [...new Set([...systems.values()].flatMap((runs) => [...runs.keys()]))].sort();
    const head = document.createElement("tr");
    head.append(cell("th", say("system"), "col"), ...tools.map((tool) => cell("th", tool, "col")));
    find("thead", target).replaceChildren(head);
    const rows = [...systems].map(([name, runs]) => {
      const row = document.createElement("tr");
      row.append(cell("th", name, "row"), ...tools.map((tool) => cell("td", repetitionsText(runs.get(tool)))));
      return row;
    });
    find("tbody", target).replaceChildren(...rows);
  };

  list.addEventListener("previewschanged", render);
  list.addEventListener("systemschanged", render);
  form.addEventListener("change", render);
})();

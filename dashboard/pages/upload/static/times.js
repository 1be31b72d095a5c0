/* When the files of the upload page ran: what they print of it, and their dates. */
(() => {
  const { list, sources, find, say } = upload;
  const place = find("[data-times]");
  const dates = document.getElementById("target-dates");
  const zone = document.getElementById("target-zone");
  const LEAST_MS = 1000;

  zone.value ||= Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";

  const dateOf = (entry) =>
    entry.dataset.modified ? Date.parse(entry.dataset.modified) : sources.get(entry)?.file.lastModified;

  /* Runs take longer than a second: files of one moment were copied then. */
  const areCopies = (entries) => {
    const times = entries.map(dateOf).sort((one, other) => one - other);
    return times.some((time, at) => at && time - times[at - 1] < LEAST_MS);
  };

  const look = () => {
    const read = [...list.querySelectorAll("[data-read]")];
    const sum = (name) => read.reduce((total, entry) => total + Number(entry.dataset[name]), 0);
    const untold = read.filter((entry) => !Number(entry.dataset.starts));
    const folders = Map.groupBy ? Map.groupBy(untold, (entry) => entry.dataset.folder) : new Map([["", untold]]);
    const isCopied = [...folders.values()].some(areCopies);
    const hasClocks = sum("clocks") > 0;
    place.hidden = !read.length;
    find("[data-times-status]").textContent = say("starts", { n: sum("starts"), all: sum("results") });
    find("[data-dates-field]").hidden = !untold.length;
    find("[data-copied]").hidden = !untold.length || !isCopied;
    dates.disabled = isCopied;
    if (isCopied) dates.checked = false;
    find("[data-zone-field]").hidden = !hasClocks && !read.some((entry) => entry.dataset.modified);
  };
  list.addEventListener("tallied", look);
})();

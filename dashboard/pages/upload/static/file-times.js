/* Start times of the runs: those in the files, or the dates of the files. */
(() => {
  const { list, sourceOf, find, say } = upload;
  const container = find("[data-times]");
  const datesBox = document.getElementById("target-dates");
  const zoneField = document.getElementById("target-zone");
  const MIN_RUN_MS = 1000;

  zoneField.value ||= Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";

  const dateOf = (entry) =>
    entry.dataset.modified ? Date.parse(entry.dataset.modified) : sourceOf.get(entry)?.file.lastModified;

  /* Files dated within a second were copied, because runs take longer. */
  const haveCopiedDates = (entries) => {
    const times = entries.map(dateOf).sort((a, b) => a - b);
    return times.some((time, index) => index && time - times[index - 1] < MIN_RUN_MS);
  };

  const updateTimes = () => {
    const entries = [...list.querySelectorAll("[data-read]")];
    const sum = (name) => entries.reduce((total, entry) => total + Number(entry.dataset[name]), 0);
    const undated = entries.filter((entry) => !Number(entry.dataset.startCount));
    const folders = Map.groupBy ? Map.groupBy(undated, (entry) => entry.dataset.folder) : new Map([["", undated]]);
    const isCopied = [...folders.values()].some(haveCopiedDates);
    const hasClocks = sum("untimedZoneCount") > 0;
    container.hidden = !entries.length;
    find("[data-times-status]").textContent = say("starts", { n: sum("startCount"), all: sum("resultCount") });
    find("[data-dates-field]").hidden = !undated.length;
    find("[data-copied]").hidden = !undated.length || !isCopied;
    datesBox.disabled = isCopied;
    if (isCopied) datesBox.checked = false;
    find("[data-zone-field]").hidden = !hasClocks && !entries.some((entry) => entry.dataset.modified);
  };
  list.addEventListener("previewschanged", updateTimes);
})();

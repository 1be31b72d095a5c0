/* The system menu: systems of the chosen study come first; a new system can be added. */
(() => {
  const { find, say, refillOnSubmit } = upload;
  const studies = document.getElementById("target-study");
  const systems = document.getElementById("target-system");

  const groupByStudy = () => {
    const selected = systems.value;
    find("[data-measured]", systems)?.remove();
    const options = [...systems.querySelectorAll("[data-studies]")].filter((option) =>
      option.dataset.studies.split(" ").includes(studies.value),
    );
    if (!options.length) return;
    const group = document.createElement("optgroup");
    group.label = say("measured");
    group.dataset.measured = "";
    group.append(...options.map((option) => option.cloneNode(true)));
    systems.firstElementChild.after(group);
    systems.value = selected;
  };
  studies.addEventListener("change", groupByStudy);
  groupByStudy();

  refillOnSubmit("new-system", systems, find("[data-system-problem]"), () => {
    groupByStudy();
    find("[data-new-system]").open = false;
  });
})();

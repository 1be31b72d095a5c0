/* The systems of the upload page: those of the chosen study first, and a new one. */
(() => {
  const { find, say, send } = upload;
  const studies = document.getElementById("target-study");
  const systems = document.getElementById("target-system");

  const arrange = () => {
    const chosen = systems.value;
    find("[data-measured]", systems)?.remove();
    const fitting = [...systems.querySelectorAll("[data-studies]")].filter((option) =>
      option.dataset.studies.split(" ").includes(studies?.value),
    );
    if (!fitting.length) return;
    const group = document.createElement("optgroup");
    group.label = say("measured");
    group.dataset.measured = "";
    group.append(...fitting.map((option) => option.cloneNode(true)));
    systems.firstElementChild.after(group);
    systems.value = chosen;
  };
  studies?.addEventListener("change", arrange);
  arrange();

  document.getElementById("new-system").addEventListener("submit", async (event) => {
    event.preventDefault();
    const problem = find("[data-system-problem]");
    try {
      systems.replaceChildren(await send(event.target.action, new FormData(event.target)));
      arrange();
      problem.hidden = true;
      find("[data-new-system]").open = false;
      systems.focus();
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  });
})();

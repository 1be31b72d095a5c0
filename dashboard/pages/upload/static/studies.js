/* The study menu: its last entry opens a field for the title of a new study. */
(() => {
  const { find, send } = upload;
  const studies = document.getElementById("target-study");
  const newStudy = find("[data-new-study]");
  const NEW = "+";

  const showField = () => {
    newStudy.hidden = studies.value !== NEW;
    studies.setCustomValidity(newStudy.hidden ? "" : find("button", newStudy).textContent);
    if (!newStudy.hidden) find("input", newStudy).focus();
  };
  studies.addEventListener("change", showField);

  document.getElementById("new-study").addEventListener("submit", async (event) => {
    event.preventDefault();
    const problem = find("[data-study-problem]");
    try {
      studies.replaceChildren(await send(event.target.action, new FormData(event.target)));
      problem.hidden = true;
      studies.focus();
      studies.dispatchEvent(new Event("change", { bubbles: true }));
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  });
})();

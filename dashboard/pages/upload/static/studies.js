/* The study menu: its last entry opens a field for the title of a new study. */
(() => {
  const { find, refillOnSubmit } = upload;
  const studies = document.getElementById("target-study");
  const newStudy = find("[data-new-study]");
  const NEW = "+";

  const showField = () => {
    newStudy.hidden = studies.value !== NEW;
    studies.setCustomValidity(newStudy.hidden ? "" : find("button", newStudy).textContent);
    if (!newStudy.hidden) find("input", newStudy).focus();
  };
  studies.addEventListener("change", showField);

  refillOnSubmit("new-study", studies, find("[data-study-problem]"), () =>
    studies.dispatchEvent(new Event("change", { bubbles: true })),
  );
})();

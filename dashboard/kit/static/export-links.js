/* Keep the query of download links equal to that of the page, including the search. */
(() => {
  const updateQuery = (event) => {
    const link = event.target.closest?.("[data-export], [data-paper]");
    if (link) link.search = location.search;
  };
  document.addEventListener("pointerdown", updateQuery);
  document.addEventListener("focusin", updateQuery);
  document.addEventListener("click", updateQuery);
})();

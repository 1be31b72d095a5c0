/* Files of the comparison follow the address, also what was typed into the search. */
(() => {
  const follow = (event) => {
    const link = event.target.closest?.("[data-export], [data-paper]");
    if (link) link.search = location.search;
  };
  document.addEventListener("pointerdown", follow);
  document.addEventListener("focusin", follow);
  document.addEventListener("click", follow);
})();

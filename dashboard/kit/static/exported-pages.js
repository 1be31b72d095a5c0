/* Filter the list of pages of a static copy; `?q=` comes from the search field of other pages. */
(() => {
  const input = document.querySelector("[data-page-search]");
  const count = document.querySelector("[data-page-count]");
  const items = [...document.querySelectorAll("[data-pages] > li")];
  const texts = items.map((item) => item.textContent.toLowerCase());

  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    items.forEach((item, index) => {
      item.hidden = !words.every((word) => texts[index].includes(word));
    });
    count.textContent = `${items.filter(({ hidden }) => !hidden).length} / ${items.length}`;
  };

  input.value = new URLSearchParams(location.search).get("q") ?? "";
  input.addEventListener("input", filter);
  filter();
})();

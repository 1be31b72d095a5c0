/* Return controls smaller than 24 px that are too near to another one (WCAG 2.5.8). */
() => {
  const LEAST = 24;
  const PRESSED = "a[href], button, summary, select, textarea, input:not([type=hidden])";
  const SLACK = 0.5;

  const isShown = (each) => {
    const { clipPath, display } = getComputedStyle(each);
    return each.checkVisibility({ visibilityProperty: true }) && clipPath === "none" && display !== "contents";
  };

  /* Include the label, because a click on it counts as well. */
  const boxOf = (each) => {
    const boxes = [each, ...(each.labels ?? [])].map((one) => one.getBoundingClientRect());
    const [left, top] = [Math.min(...boxes.map((box) => box.left)), Math.min(...boxes.map((box) => box.top))];
    const [right, bottom] = [Math.max(...boxes.map((box) => box.right)), Math.max(...boxes.map((box) => box.bottom))];
    return { each, left, top, right, bottom, x: (left + right) / 2, y: (top + bottom) / 2 };
  };

  /* Links and terms within a sentence are exempt: they are as high as the line. */
  const isInText = (each) => {
    if (getComputedStyle(each).display !== "inline" && !each.matches(".glossary-term")) return false;
    const block = each.parentElement.closest("p, li, dd, dt, td, th, figcaption, span, div, h1, h2, h3");
    const own = [...block.querySelectorAll(PRESSED)].map((one) => one.textContent).join("");
    return block.textContent.replace(/\s/g, "").length > own.replace(/\s/g, "").length + 3;
  };

  const isSmall = ({ left, top, right, bottom }) => right - left < LEAST - SLACK || bottom - top < LEAST - SLACK;
  const isNear = (one, { left, top, right, bottom }) => {
    const [x, y] = [Math.max(left, Math.min(one.x, right)), Math.max(top, Math.min(one.y, bottom))];
    return Math.hypot(one.x - x, one.y - y) < LEAST / 2 - SLACK;
  };

  const all = [...document.querySelectorAll(PRESSED)].filter(isShown).map(boxOf).filter(({ left, right, bottom }) => right > left && bottom > 0);
  const small = all.filter((one) => isSmall(one) && !isInText(one.each));
  return small.flatMap((one) => {
    const others = all.filter(({ each }) => each !== one.each && !each.contains(one.each) && !one.each.contains(each));
    const near = others.find((other) => isNear(one, other) || (isSmall(other) && Math.hypot(one.x - other.x, one.y - other.y) < LEAST - SLACK));
    const size = `${Math.round(one.right - one.left)} x ${Math.round(one.bottom - one.top)}`;
    return near ? [`${size}: ${one.each.outerHTML.slice(0, 90)} near ${near.each.outerHTML.slice(0, 60)}`] : [];
  });
}

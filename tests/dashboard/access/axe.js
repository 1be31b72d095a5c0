/* Return the violations that axe-core finds for these tags; without tags only those of
   contrast. Contrast is slow, so it is checked for one element of each look: color, font
   and backgrounds. */
async (tags) => {
  const chain = (element) => (element ? [element, ...chain(element.parentElement)] : []);
  const look = (element) => {
    const { color, fontSize, fontWeight } = getComputedStyle(element);
    const behind = chain(element).map((each) => {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(each);
      return backgroundColor + backgroundImage + opacity;
    });
    return [color, fontSize, fontWeight, ...behind].join();
  };
  const hasText = ({ childNodes }) =>
    [...childNodes].some((each) => each.nodeType === Node.TEXT_NODE && each.data.trim());
  const looks = new Map();
  for (const element of document.body.querySelectorAll("*")) {
    if (hasText(element) && element.checkVisibility()) looks.set(look(element), element);
  }
  const values = (type, wanted) => ({ runOnly: { type, values: wanted }, resultTypes: ["violations"] });
  const rules = { "color-contrast": { enabled: false } };
  const whole = tags.length
    ? await axe.run(document, { ...values("tag", tags), rules })
    : { violations: [] };
  const colours = await axe.run({ include: [...looks.values()] }, values("rule", ["color-contrast"]));
  return [...whole.violations, ...colours.violations].flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target}: ${failureSummary}`));
}

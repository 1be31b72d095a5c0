/* Long work in turns, a frame each: what is seen comes first, and keys are answered
   between the turns. */
const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

const inTurns = async (list, most, deed, isOver) => {
  for (let from = 0; from < list.length; from += most) {
    await painted();
    if (isOver()) return;
    deed(list.slice(from, from + most));
  }
};

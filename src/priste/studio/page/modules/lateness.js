// Answers that come too late must not overwrite newer ones: each new question ends the one before.

/** Wrap `ask(signal, ...)`: it runs after a pause, and only the latest call gets to `answer`. */
export function latest(pause, ask, { answer, failed, waiting = () => {} }) {
  let timer = null;
  let running = null;
  return (...inputs) => {
    clearTimeout(timer);
    running?.abort();
    const mine = new AbortController();
    running = mine;
    waiting();
    timer = setTimeout(async () => {
      try {
        const found = await ask(mine.signal, ...inputs);
        if (!mine.signal.aborted) answer(found, ...inputs);
      } catch (error) {
        if (!mine.signal.aborted) failed(error, ...inputs);
      }
    }, pause);
    return () => {
      clearTimeout(timer);
      mine.abort();
    };
  };
}

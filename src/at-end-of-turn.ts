/** @returns what to call, once or more: `run` is called once when this turn of the event loop has seen to its sockets. */
export function atEndOfTurn(run: () => void): () => void {
  let isComing = false;
  return () => {
    if (isComing) return;
    isComing = true;
    setImmediate(() => {
      isComing = false;
      run();
    });
  };
}

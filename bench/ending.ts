/**
 * Whatever was started is ended with the run, also when it fails half-way or somebody presses Ctrl-C: a receiver left behind would
 * take its part of the machine from whatever is measured next.
 */
const kills = new Set<() => void>();

/** @returns what takes it off again, once it has ended by itself. */
export function killAtEnd(kill: () => void): () => void {
  kills.add(kill);
  return () => kills.delete(kill);
}

export function killAll(): void {
  for (const kill of kills) kill();
  kills.clear();
}

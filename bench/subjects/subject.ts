/** Something that takes the webhook's POSTs: Holdfast in one set-up or another, a peer, or a limit of the machine. */
export interface Subject {
  /** Names it in results: `holdfast-intake`. */
  name: string;
  /** Names it for people. */
  label: string;
  start(): Promise<Running>;
}

export interface Running {
  /** The webhook's whole address. */
  url: string;
  /** The roots of all its process trees, its database's included. */
  pids: number[];
  /** Resolves when what was acknowledged is worked off, for a subject that works after the answer. */
  drained?: () => Promise<void>;
  /** Holds what it kept against what it acknowledged. @returns what is wrong; nothing when all is well. */
  check(acknowledged: Acknowledged): Promise<string[]>;
  /** Stops it and removes its data. */
  stop(): Promise<void>;
}

export interface Acknowledged {
  /** Answers with 2xx. */
  answered: number;
  /** Events of distinct POSTs. */
  events: number;
  /** The bodies of the distinct POSTs, each once; undefined where there are too many to go through. */
  bodies: (() => Iterable<Buffer>) | undefined;
}

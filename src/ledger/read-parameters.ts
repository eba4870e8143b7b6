/** The parameters of a statement whose conditions change from call to call. */
export interface Parameters {
  readonly values: unknown[];
  /** Keeps a value and gives its place in the statement: `$1`, `$2` … */
  add: (value: unknown) => string;
}

export function createParameters(): Parameters {
  const values: unknown[] = [];
  return {
    values,
    add: (value) => {
      values.push(value);
      return `$${values.length}`;
    },
  };
}

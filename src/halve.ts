/** A list's first half and its second, without those that are empty. */
export function halve<T>(list: readonly T[]): T[][] {
  const middle = Math.ceil(list.length / 2);
  return [list.slice(0, middle), list.slice(middle)].filter((part) => part.length > 0);
}

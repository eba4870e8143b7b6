import { useState } from "react";

/** A field's text, which a person changes, but which follows the address when that changes (after Back, say). */
export function useFollowing(asked: string): [string, (text: string) => void] {
  const [state, setState] = useState({ asked, text: asked });
  // React's way to follow a value without drawing the old one first.
  if (state.asked !== asked) setState({ asked, text: asked });
  return [state.text, (text) => setState({ asked, text })];
}

import { Component, type ReactNode } from "react";
import { Failure } from "./states.tsx";

interface BoundaryProps {
  children: ReactNode;
}

interface BoundaryState {
  error: unknown;
}

/**
 * Says so where a page cannot be drawn, instead of leaving it blank: most often its script is gone because a newer Holdfast
 * serves now. Loading everything anew brings the new one.
 */
export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { error: undefined };

  static getDerivedStateFromError(error: unknown): BoundaryState {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    return error === undefined ? this.props.children : <Failure error={error} again={() => window.location.reload()} />;
  }
}

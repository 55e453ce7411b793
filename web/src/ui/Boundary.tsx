import { Component, type ReactNode } from "react";
import { Button } from "./Button";

/** Keeps an error in one part from taking the page with it. */
export class Boundary extends Component<{ what: string; children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <div className="empty" role="alert">
        <strong>{this.props.what} cannot be shown</strong>
        <span>{this.state.error.message}</span>
        <span>
          <Button onClick={() => this.setState({ error: null })}>Try again</Button>
        </span>
      </div>
    );
  }
}

import { Component, type ReactNode } from "react";

type Given = {
  fallback: ReactNode;
  children: ReactNode;
  /** Drawing is tried again with another value. */
  value?: unknown;
};

/** What cannot be drawn does not take the page with it: a value that a renderer did not expect, code that is gone. */
export class Guard extends Component<Given, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override componentDidUpdate(before: Given) {
    if (this.state.failed && before.value !== this.props.value) this.setState({ failed: false });
  }

  override render() {
    return this.state.failed ? this.props.fallback : this.props.children;
  }
}

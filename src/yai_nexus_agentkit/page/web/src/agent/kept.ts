const here = new Map<string, unknown>();

/**
 * Something that the user wrote and that was not sent. It stays in this tab while other conversations are open, and when
 * the page is loaded anew, after a sign-in for example. Null: nothing.
 */
export class Kept<T> {
  private readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  get value(): T | null {
    return (here.get(this.name) ?? this.stored()) as T | null;
  }

  set value(value: T | null) {
    here.set(this.name, value);
    // An older value must not come back if this one is too large.
    this.attempt((store, key) => store.removeItem(key));
    if (value !== null) this.attempt((store, key) => store.setItem(key, JSON.stringify(value)));
  }

  private stored(): unknown {
    return this.attempt((store, key) => JSON.parse(store.getItem(key) ?? "null")) ?? null;
  }

  /** Browsers may refuse to store anything, by throwing. Other pages of the server have keys of their own. */
  private attempt<R>(work: (store: Storage, key: string) => R): R | undefined {
    try {
      return work(sessionStorage, `chat-page ${location.pathname} ${this.name}`);
    } catch {
      return undefined;
    }
  }
}

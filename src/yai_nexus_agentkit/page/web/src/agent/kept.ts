/** What this tab keeps, by name, for as long as the page is loaded. */
const here = new Map<string, unknown>();
/** Whose it is, as the server names them. Null: the server has said that nobody is signed in. Set when the page begins. */
let owner: string | null = "";

/** What others wrote in this tab is deleted. While nobody is signed in, nothing of it is read, and nothing is stored. */
export function keepFor(person: string | null): void {
  owner = person;
  if (person !== null) drop(keysOf(""), keysOf(`${person} `));
}

/** Forget everything whose name begins with `names`, except what begins with one of `left`. */
export function forget(names: string, left: readonly string[] = []): void {
  const stays = (name: string) => left.some((one) => name.startsWith(one));
  for (const name of here.keys()) if (name.startsWith(names) && !stays(name)) here.delete(name);
  drop(keysOf(`${owner} ${names}`), ...left.map((one) => keysOf(`${owner} ${one}`)));
}

/** How the names begin of what is written about a question or a message of a conversation. */
export const about = (conversation: string, id: string): string => `${conversation} about ${encodeURIComponent(id)} `;

/** Forget what was written about questions and messages that are gone. `ids`: those that are there. */
export const forgetOthers = (conversation: string, ids: readonly string[]): void =>
  forget(`${conversation} about `, ids.map((id) => about(conversation, id)));

/**
 * Something that the user wrote and that was not sent. It stays in this tab while other conversations are open, and when
 * the page is loaded anew, after a sign-in for example. Null: nothing. Names begin with the address of the conversation.
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
    this.attempt((key) => sessionStorage.removeItem(key));
    if (value !== null) this.attempt((key) => sessionStorage.setItem(key, JSON.stringify(value)));
  }

  private stored(): unknown {
    return this.attempt((key) => JSON.parse(sessionStorage.getItem(key) ?? "null")) ?? null;
  }

  private attempt<R>(work: (key: string) => R): R | undefined {
    return owner === null ? undefined : attempt(() => work(keysOf(`${owner} ${this.name}`)));
  }
}

/** Other pages of the server have keys of their own. */
const keysOf = (names: string): string => `chat-page ${globalThis.location?.pathname} ${names}`;

/** Remove what begins with `keys`, except what begins with one of `left`. */
function drop(keys: string, ...left: string[]): void {
  attempt(() => {
    for (const key of Object.keys(sessionStorage)) {
      if (key.startsWith(keys) && !left.some((one) => key.startsWith(one))) sessionStorage.removeItem(key);
    }
  });
}

/** Browsers may refuse to store anything, by throwing. */
function attempt<R>(work: () => R): R | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

import { Plus, X } from "lucide-react";
import { useId, useState } from "react";
import { listOf, objectOf } from "../agent/json.ts";
import { IconButton } from "../ui/IconButton.tsx";
import { FieldView } from "./FieldView.tsx";
import { Fieldset, type FrameGiven, type Whole } from "./Frame.tsx";
import { join } from "./problems.ts";
import { initial, type JsonSchema } from "./schema.ts";

type Given = FrameGiven & { value: unknown; change: (value: unknown) => void };

/** Items to add and remove. */
export function ListView({ item, value, change, ...frame }: Given & { item: JsonSchema }) {
  const items = listOf(value);
  const { form, path, label } = frame;
  // Items have no names. Behind one that was removed, each is drawn anew: what it shows may not all be in its value.
  const [removed, setRemoved] = useState(0);
  const remove = (n: number) => {
    setRemoved(removed + 1);
    change(items.toSpliced(n, 1));
  };
  return (
    <Fieldset {...frame}>
      {items.map((one, n) => (
        <div key={`${removed} ${n}`} className="item">
          <FieldView
            form={form}
            schema={item}
            name={`${label} ${n + 1}`}
            path={join(path, n)}
            required
            value={one}
            change={(next) => change(items.with(n, next))}
          />
          <IconButton icon={X} label={`Remove ${label} ${n + 1}`} onClick={() => remove(n)} />
        </div>
      ))}
      <Add what={label} add={() => change([...items, initial(item, form.root)])} />
    </Fieldset>
  );
}

/** A fixed number of items, each with a schema of its own. */
export function TupleView({ items, value, change, whole, ...frame }: Given & { items: JsonSchema[]; whole?: Whole }) {
  const { form, path, label } = frame;
  const values = items.map((_, n) => listOf(value)[n]);
  return (
    <Fieldset {...frame} whole={whole}>
      {items.map((item, n) => (
        <FieldView
          key={n}
          form={form}
          schema={item}
          name={`${label} ${n + 1}`}
          path={join(path, n)}
          required
          value={values[n]}
          change={(next) => change(values.with(n, next))}
        />
      ))}
    </Fieldset>
  );
}

type Pair = { id: number; name: string; value: unknown };

/** Names and values that the user chooses. */
export function MapView({ item, value, change, ...frame }: Given & { item: JsonSchema }) {
  const id = useId();
  const { form, path, label } = frame;
  // Pairs as they are written: while a name is empty or there twice, the object cannot hold them.
  const [pairs, setPairs] = useState<Pair[]>(() =>
    Object.entries(objectOf(value)).map(([name, one], n) => ({ id: n, name, value: one })),
  );
  const write = (next: Pair[]) => {
    setPairs(next);
    change(Object.fromEntries(next.filter(({ name }) => name !== "").map((pair) => [pair.name, pair.value])));
  };
  return (
    <Fieldset {...frame}>
      {pairs.map((pair, n) => (
        <div key={pair.id} className="item pair">
          <div className="field">
            <label htmlFor={`${id}-${pair.id}`}>Name {n + 1}</label>
            <input
              id={`${id}-${pair.id}`}
              value={pair.name}
              onChange={(event) => write(pairs.with(n, { ...pair, name: event.target.value }))}
            />
          </div>
          <FieldView
            form={form}
            schema={item}
            name={`Value ${n + 1}`}
            path={join(path, pair.name)}
            required
            value={pair.value}
            change={(next) => write(pairs.with(n, { ...pair, value: next }))}
          />
          <IconButton icon={X} label={`Remove ${pair.name || n + 1}`} onClick={() => write(pairs.toSpliced(n, 1))} />
        </div>
      ))}
      <Add
        what={label}
        add={() => write([...pairs, { id: (pairs.at(-1)?.id ?? -1) + 1, name: "", value: initial(item, form.root) }])}
      />
    </Fieldset>
  );
}

const Add = ({ what, add }: { what: string; add: () => void }) => (
  <button type="button" className="button small" onClick={add}>
    <Plus size={14} aria-hidden /> Add<span className="sr"> to {what}</span>
  </button>
);

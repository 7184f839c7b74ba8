import { About, type FrameGiven, Frame, idOf, marks, Optional } from "./Frame.tsx";
import { listOf } from "../agent/json.ts";
import type { Option } from "./schema.ts";

type Given = FrameGiven & { options: Option[]; value: unknown; change: (value: unknown) => void };

/** More options than this are a list to open. */
const SIDE_BY_SIDE = 4;

/** One of several. `quiet`: the label is for screen readers. */
export function Choice({ options, value, change, quiet, ...frame }: Given & { quiet?: boolean }) {
  const id = idOf(frame.form, frame.path);
  const at = options.findIndex((option) => option.value === value);
  if (options.length > SIDE_BY_SIDE) {
    return (
      <Frame {...frame}>
        <select
          {...marks(frame)}
          value={at < 0 ? "" : at}
          onChange={(event) =>
            change(event.target.value === "" ? undefined : options[Number(event.target.value)]?.value)
          }
        >
          <option value="">{frame.optional ? "–" : "Please choose"}</option>
          {options.map((option, n) => (
            <option key={n} value={n}>
              {option.label}
            </option>
          ))}
        </select>
      </Frame>
    );
  }
  const described = marks(frame);
  return (
    <fieldset className="field choice" aria-describedby={described["aria-describedby"]}>
      <legend className={quiet ? "sr" : undefined}>
        {frame.label}
        {frame.optional && <Optional />}
      </legend>
      <div className="segments">
        {options.map((option, n) => (
          <label key={n}>
            <input
              type="radio"
              name={id}
              id={n === 0 ? id : undefined}
              aria-invalid={described["aria-invalid"]}
              checked={n === at}
              onChange={() => change(option.value)}
            />
            <span>{option.label}</span>
          </label>
        ))}
      </div>
      <About {...frame} />
    </fieldset>
  );
}

/** Any number of several. */
export function Several({ options, value, change, ...frame }: Given) {
  const chosen = listOf(value);
  const toggle = (option: Option, on: boolean) =>
    change(options.map((one) => one.value).filter((one) => (one === option.value ? on : chosen.includes(one))));
  return (
    <fieldset className="field" aria-describedby={marks(frame)["aria-describedby"]}>
      <legend>{frame.label}</legend>
      {options.map((option, n) => (
        <label key={n} className="check">
          <input
            type="checkbox"
            aria-invalid={marks(frame)["aria-invalid"]}
            checked={chosen.includes(option.value)}
            onChange={(event) => toggle(option, event.target.checked)}
          />
          {option.label}
        </label>
      ))}
      <About {...frame} />
    </fieldset>
  );
}

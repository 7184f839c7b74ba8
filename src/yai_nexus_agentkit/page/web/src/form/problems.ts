/** Pure. Why a form cannot be sent yet, in words beside the fields. The server has the last word. */

import { isObject } from "../agent/json.ts";
import { type Field, fieldOf, type JsonSchema, variantOf } from "./schema.ts";

/** Texts by path: "contact/email", "" for the whole. */
export type Problems = Record<string, string>;

export const join = (path: string, name: string | number): string => (path === "" ? String(name) : `${path}/${name}`);

const EMPTY = "Please fill this in.";

export function problemsOf(schema: JsonSchema, value: unknown, root: JsonSchema, path = "", required = true): Problems {
  const field = fieldOf(schema, root);
  if (field.kind === "choice" && field.options.some((option) => option.value === value)) return {};
  if (value === undefined || value === null || value === "") {
    return required && !field.nullable && field.kind !== "fixed" ? { [path]: EMPTY } : {};
  }
  if (field.kind === "group" && isObject(value)) {
    const parts = field.properties.map(([name, property]) =>
      problemsOf(property, value[name], root, join(path, name), field.required.includes(name)),
    );
    return Object.assign({}, ...parts) as Problems;
  }
  if (field.kind === "union") {
    const variant = field.variants[variantOf(field.variants, value, root)];
    return variant ? problemsOf(variant, value, root, path, required) : {};
  }
  if (field.kind === "map" && isObject(value)) {
    const parts = Object.entries(value).map(([name, part]) => problemsOf(field.value, part, root, join(path, name)));
    return Object.assign({}, ...parts) as Problems;
  }
  if (Array.isArray(value)) return ofItems(field, value, root, path);
  const text = ofScalar(field, value);
  return text ? { [path]: text } : {};
}

function ofItems(field: Field, value: unknown[], root: JsonSchema, path: string): Problems {
  const item = (n: number) =>
    field.kind === "tuple" ? field.items[n] : field.kind === "list" ? field.item : undefined;
  const parts = value.map((part, n) => {
    const schema = item(n);
    return schema ? problemsOf(schema, part, root, join(path, n)) : {};
  });
  const problems = Object.assign({}, ...parts) as Problems;
  if (field.kind !== "list" && field.kind !== "several") return problems;
  const { minItems = 0, maxItems = Infinity, uniqueItems } = field.schema;
  if (value.length < minItems) problems[path] = `At least ${count(minItems, "entry", "entries")}.`;
  if (value.length > maxItems) problems[path] = `At most ${count(maxItems, "entry", "entries")}.`;
  const different = new Set(value.map((part) => JSON.stringify(part))).size;
  if (uniqueItems && different < value.length) problems[path] = "An entry is there twice.";
  return problems;
}

function ofScalar(field: Field, value: unknown): string | undefined {
  if (field.kind === "number") return typeof value === "number" ? ofNumber(field, value) : "This is not a number.";
  if (field.kind === "text" && typeof value === "string") return ofText(field.schema, value);
  return undefined;
}

function ofNumber({ schema, whole }: Extract<Field, { kind: "number" }>, value: number): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (!Number.isFinite(value)) return "This is not a number.";
  if (whole && !Number.isInteger(value)) return "Please give a whole number.";
  if (minimum !== undefined && value < minimum) return `At least ${minimum}.`;
  if (maximum !== undefined && value > maximum) return `At most ${maximum}.`;
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return `More than ${exclusiveMinimum}.`;
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) return `Less than ${exclusiveMaximum}.`;
  const rest = multipleOf ? Math.abs(value / multipleOf - Math.round(value / multipleOf)) : 0;
  return rest > 1e-9 ? `A multiple of ${multipleOf}.` : undefined;
}

function ofText({ minLength = 0, maxLength = Infinity, pattern, format }: JsonSchema, value: string) {
  const length = [...value].length;
  if (length < minLength) return `At least ${count(minLength, "character", "characters")}.`;
  if (length > maxLength) return `At most ${count(maxLength, "character", "characters")}.`;
  const wanted = FORMATS[format ?? ""];
  if (wanted && !wanted[0].test(value)) return wanted[1];
  return pattern && !matches(pattern, value) ? "This does not have the expected form." : undefined;
}

/** A pattern of another dialect is left to the server. */
function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

const FORMATS: Record<string, [RegExp, string]> = {
  email: [/^[^\s@]+@[^\s@]+$/, "This is no e-mail address."],
  uri: [/^[a-z][a-z0-9+.-]*:\S+$/i, "This is no address. It begins with https://, for example."],
  uuid: [/^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i, "This is no UUID."],
  date: [/^\d{4,}-\d\d-\d\d$/, "This is no date."],
  duration: [/^P(?=.)/, "A duration looks like P1DT2H: a day and two hours."],
};

const count = (number: number, one: string, many: string): string => `${number} ${number === 1 ? one : many}`;

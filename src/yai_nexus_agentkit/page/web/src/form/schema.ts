/** Pure. JSON Schema as pydantic and other tools write it, read as: which fields does a form have? */

import { isObject } from "../agent/json.ts";

/** The keywords that a form understands. */
export type JsonSchema = {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  prefixItems?: JsonSchema[];
  uniqueItems?: boolean;
  minItems?: number;
  maxItems?: number;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  multipleOf?: number;
};

/** Whether something that a schema describes is a password. */
export const hasPassword = (schema: unknown): boolean => /"format":"password"/.test(JSON.stringify(schema ?? null));

export type Option = { value: unknown; label: string };

const NONE: Option = { value: null, label: "None" };

/** One field of a form. `shape`: the name of the type. `nullable`: it may be left empty. */
export type Field = { title?: string; shape?: string; description?: string; nullable: boolean } & (
  | { kind: "text"; schema: JsonSchema }
  | { kind: "number"; schema: JsonSchema; whole: boolean }
  | { kind: "flag" }
  | { kind: "fixed"; value: unknown }
  | { kind: "choice"; options: Option[] }
  | { kind: "several"; options: Option[]; schema: JsonSchema }
  | { kind: "group"; properties: [string, JsonSchema][]; required: string[] }
  | { kind: "list"; item: JsonSchema; schema: JsonSchema }
  | { kind: "tuple"; items: JsonSchema[] }
  | { kind: "map"; value: JsonSchema }
  | { kind: "union"; variants: JsonSchema[] }
);

/** Follow references, take the null of optionals away, and say what remains. */
export function fieldOf(given: JsonSchema, root: JsonSchema): Field {
  const { schema, nullable } = resolved(given, root);
  const about = { title: given.title, shape: schema.title, description: schema.description, nullable };
  const options = optionsOf(schema);
  if (schema.const !== undefined) return { ...about, kind: "fixed", value: schema.const };
  if (schema.type === "null") return { ...about, kind: "fixed", value: null };
  if (options) {
    // Something that was chosen can be taken back.
    const given = !nullable || options.some(({ value }) => value === null);
    return { ...about, kind: "choice", options: given ? options : [...options, NONE] };
  }
  const variants = schema.anyOf ?? schema.oneOf;
  if (variants && !schema.properties) return { ...about, ...ofVariants(variants, root) };
  const type = schema.type ?? (schema.properties ? "object" : schema.items || schema.prefixItems ? "array" : "string");
  if (type === "boolean") return { ...about, kind: "flag" };
  if (type === "number" || type === "integer") return { ...about, kind: "number", schema, whole: type === "integer" };
  if (type === "array") return { ...about, ...ofArray(schema, root) };
  if (type === "object") return { ...about, ...ofObject(schema) };
  return { ...about, kind: "text", schema };
}

function ofObject(schema: JsonSchema) {
  const properties = Object.entries(schema.properties ?? {});
  if (properties.length > 0) return { kind: "group" as const, properties, required: schema.required ?? [] };
  const value = isObject(schema.additionalProperties) ? (schema.additionalProperties as JsonSchema) : {};
  return { kind: "map" as const, value };
}

function ofArray(schema: JsonSchema, root: JsonSchema) {
  if (schema.prefixItems) return { kind: "tuple" as const, items: schema.prefixItems };
  const item = schema.items ?? {};
  const options = optionsOf(resolved(item, root).schema);
  return options ? { kind: "several" as const, options, schema } : { kind: "list" as const, item, schema };
}

function ofVariants(variants: JsonSchema[], root: JsonSchema) {
  const types = variants.map((variant) => resolved(variant, root).schema);
  const number = types.find(({ type }) => type === "number" || type === "integer");
  // pydantic describes a Decimal as a number, or a text of digits.
  if (number && types.every((type) => type === number || (type.type === "string" && type.pattern))) {
    return { kind: "number" as const, schema: number, whole: false };
  }
  return { kind: "union" as const, variants };
}

function resolved(given: JsonSchema, root: JsonSchema): { schema: JsonSchema; nullable: boolean } {
  let schema = given;
  let nullable = false;
  for (let depth = 0; depth < 32; depth++) {
    const { $ref, anyOf, oneOf, allOf, ...rest } = schema;
    const variants = anyOf ?? oneOf;
    const real = variants?.filter(({ type }) => type !== "null");
    if ($ref) schema = { ...target($ref, root), ...rest };
    else if (allOf) schema = allOf.reduce((all, part) => merged(all, resolved(part, root).schema), withoutAll(schema));
    else if (variants && real && real.length < variants.length) {
      nullable = true;
      schema = real.length === 1 ? { ...real[0], ...rest } : { ...rest, anyOf: real };
    } else if (real?.length === 1) schema = { ...real[0], ...rest };
    else break;
  }
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== "null");
    nullable ||= types.length < schema.type.length;
    const { type: _, ...rest } = schema;
    const [only = "null", ...others] = types;
    schema = others.length === 0 ? { ...rest, type: only } : { ...rest, anyOf: types.map((type) => ({ type })) };
  }
  return { schema, nullable };
}

function withoutAll({ allOf: _, ...rest }: JsonSchema): JsonSchema {
  return rest;
}

const merged = (one: JsonSchema, other: JsonSchema): JsonSchema => ({
  ...other,
  ...one,
  ...(one.properties || other.properties ? { properties: { ...other.properties, ...one.properties } } : {}),
  ...(one.required || other.required ? { required: [...(other.required ?? []), ...(one.required ?? [])] } : {}),
});

/** "#/$defs/Name" */
function target(reference: string, root: JsonSchema): JsonSchema {
  const keys = reference.replace(/^#\/?/, "").split("/").filter(Boolean);
  const names = keys.map((key) => decodeURIComponent(key).replaceAll("~1", "/").replaceAll("~0", "~"));
  const found = names.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), root);
  return isObject(found) ? (found as JsonSchema) : {};
}

/** What can be chosen: an enum, or alternatives with a constant each, which may have titles. */
function optionsOf(schema: JsonSchema): Option[] | undefined {
  if (schema.enum) return schema.enum.map((value) => ({ value, label: worded(value) }));
  const variants = schema.anyOf ?? schema.oneOf;
  if (!variants?.length || !variants.every((variant) => variant.const !== undefined)) return undefined;
  return variants.map(({ const: value, title }) => ({ value, label: title ?? worded(value) }));
}

const worded = (value: unknown): string =>
  value === null ? NONE.label : typeof value === "object" ? JSON.stringify(value) : String(value);

/** The value of a field that nobody has touched. Undefined: it is empty. */
export function initial(schema: JsonSchema, root: JsonSchema): unknown {
  const field = fieldOf(schema, root);
  const { default: given } = resolved(schema, root).schema;
  if (given !== undefined) return given;
  if (field.kind === "fixed") return field.value;
  if (field.nullable) return undefined;
  if (field.kind === "flag") return false;
  if (field.kind === "several" || field.kind === "list") return [];
  if (field.kind === "map") return {};
  if (field.kind === "tuple") return field.items.map((item) => initial(item, root));
  if (field.kind === "union") return field.variants[0] && initial(field.variants[0], root);
  if (field.kind !== "group") return undefined;
  const values = field.properties.map(([name, property]) => {
    const wanted = field.required.includes(name) || !hasParts(property, root);
    return [name, wanted ? initial(property, root) : resolved(property, root).schema.default] as const;
  });
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/** Whether the value has parts that must be filled in. An optional one is there when the user adds it. */
function hasParts(schema: JsonSchema, root: JsonSchema): boolean {
  const field = fieldOf(schema, root);
  if (field.kind === "union") return field.variants.slice(0, 1).some((first) => hasParts(first, root));
  return field.kind === "group" || field.kind === "tuple" || isFilled(field);
}

/** Whether it is a list that must not be empty. */
export const isFilled = (field: Field): boolean =>
  (field.kind === "list" || field.kind === "several") && (field.schema.minItems ?? 0) > 0;

/** Which variant of a union a value is of: by its constants (pydantic's discriminators), else by its type. */
export function variantOf(variants: JsonSchema[], value: unknown, root: JsonSchema): number {
  return Math.max(
    0,
    variants.findIndex((variant) => fits(fieldOf(variant, root), value, root)),
  );
}

function fits(field: Field, value: unknown, root: JsonSchema): boolean {
  if (field.kind === "group") {
    return (
      isObject(value) &&
      field.properties.every(([name, property]) => {
        const part = fieldOf(property, root);
        return part.kind === "fixed" ? value[name] === part.value : true;
      }) &&
      Object.keys(value).every((name) => field.properties.some(([known]) => known === name))
    );
  }
  if (field.kind === "fixed") return field.value === value;
  if (field.kind === "choice") return field.options.some((option) => option.value === value);
  if (field.kind === "map") return isObject(value);
  if (field.kind === "flag") return typeof value === "boolean";
  if (field.kind === "number") return typeof value === "number";
  if (field.kind === "text") return typeof value === "string";
  return Array.isArray(value);
}

/** What is sent: without the fields that were left empty. One that must be there, and may be empty, is null. */
export function answerOf(schema: JsonSchema, value: unknown, root: JsonSchema, required = true): unknown {
  const field = fieldOf(schema, root);
  if (value === undefined || value === "") return required && field.nullable ? null : value;
  if (field.kind === "union") return answerOf(field.variants[variantOf(field.variants, value, root)] ?? {}, value, root);
  if (Array.isArray(value)) {
    const items = field.kind === "tuple" ? field.items : [];
    const item = field.kind === "list" ? field.item : {};
    return value.map((part, n) => answerOf(items[n] ?? item, part, root));
  }
  if (!isObject(value)) return value;
  const { properties, wanted, other } = partsOf(field);
  const names = [...new Set([...Object.keys(value), ...wanted])];
  const parts = names.map((name) => {
    const known = properties[name];
    return [name, answerOf(known ?? other, value[name], root, !known || wanted.includes(name))] as const;
  });
  return Object.fromEntries(parts.filter(([, part]) => part !== undefined && part !== ""));
}

function partsOf(field: Field) {
  const group = field.kind === "group";
  const properties: Record<string, JsonSchema> = group ? Object.fromEntries(field.properties) : {};
  return { properties, wanted: group ? field.required : [], other: field.kind === "map" ? field.value : {} };
}

/** A schema for a value that has none: the arguments of a call, for example. */
export function schemaOf(value: unknown): JsonSchema {
  if (isObject(value)) {
    return {
      type: "object",
      properties: Object.fromEntries(Object.entries(value).map(([name, part]) => [name, schemaOf(part)])),
    };
  }
  if (Array.isArray(value)) return { type: "array", items: schemaOf(value[0] ?? "") };
  if (value === null) return { anyOf: [{ type: "string" }, { type: "null" }] };
  return { type: typeof value === "undefined" ? "string" : typeof value };
}

/** A label for people: the title, or the name of the property in words. */
export function labelOf(field: Field, name: string): string {
  const words = name.replaceAll(/[_-]+/g, " ").replaceAll(/([a-z])([A-Z])/g, "$1 $2");
  return field.title ?? words.charAt(0).toUpperCase() + words.slice(1);
}

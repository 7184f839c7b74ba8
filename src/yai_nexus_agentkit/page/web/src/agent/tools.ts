import type { JsonObject } from "./json.ts";

/** A tool that runs in this page. The model may call it; the return value is its result. */
export type PageTool = {
  description: string;
  /** JSON Schema of the arguments. */
  parameters: JsonObject;
  run: (args: JsonObject) => unknown;
};

/**
 * The tools of this page, by name. They are sent with every run:
 *
 *     set_title: {
 *       description: "Set the title of the window",
 *       parameters: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
 *       run: ({ title }) => (document.title = String(title)),
 *     },
 */
export const pageTools: Record<string, PageTool> = {};

export type ToolResult = { content: string; error?: string };

/** Run one. A tool that fails has its error as result. */
export async function resultOf(name: string, args: JsonObject): Promise<ToolResult> {
  try {
    const value = await pageTools[name]?.run(args);
    return { content: typeof value === "string" ? value : JSON.stringify(value ?? null) };
  } catch (error) {
    return { content: "", error: String(error) };
  }
}

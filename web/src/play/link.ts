// All settings in the address, so that a link brings them back: only what is not the default.
import type { Settings } from "./wire.ts";

type Plain = string | number | boolean;

/** Settings as the part of an address after #. */
export function toFragment(settings: Settings, defaults: Settings, view: Record<string, Plain>): string {
  const parts: [string, string][] = [];
  for (const key of Object.keys(settings) as (keyof Settings)[]) {
    const value = text(key, settings);
    if (value !== text(key, defaults)) parts.push([key, value]);
  }
  for (const [key, value] of Object.entries(view)) parts.push([`view.${key}`, String(value)]);
  return parts.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
}

function text(key: keyof Settings, settings: Settings): string {
  if (key === "widths") return settings.widths.join(".");
  if (key === "skips") return settings.skips.map((skip) => skip.join("-")).join(".");
  if (key === "points") return settings.points.map((point) => point.map(round).join(",")).join(";");
  return String(settings[key]);
}

function round(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** The other way round; what it does not know is left out, and the server checks the rest. */
export function fromFragment(
  fragment: string, like: Settings,
): { values: Partial<Settings>; view: Map<string, string> } {
  const values: Record<string, unknown> = {};
  const view = new Map<string, string>();
  for (const [key, value] of new URLSearchParams(fragment.replace(/^#/, ""))) {
    if (key.startsWith("view.")) view.set(key.slice(5), value);
    else if (key === "widths") values.widths = numbers(value, ".");
    else if (key === "skips") values.skips = value.split(".").filter(Boolean).map((skip) => numbers(skip, "-"));
    else if (key === "points") values.points = value.split(";").filter(Boolean).map((point) => numbers(point, ","));
    else if (key in like) values[key] = typed(value, like[key as keyof Settings]);
  }
  return { values, view };
}

function numbers(value: string, between: string): number[] {
  return value.split(between).filter(Boolean).map(Number);
}

function typed(value: string, like: unknown): Plain {
  if (typeof like === "number") return Number(value);
  return typeof like === "boolean" ? value === "true" : value;
}

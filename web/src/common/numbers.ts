// Numbers as people write them: few digits, real minus signs, powers of ten, and 0 for what is only rounding.

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function power(exponent: number): string {
  const digits = [...String(Math.abs(exponent))].map((digit) => RAISED[Number(digit)]).join("");
  return `10${exponent < 0 ? "⁻" : ""}${digits}`;
}

/**
 * A number with so many digits: "−1.25", "12,300", "3.2·10⁻⁵"; infinite ones are "unbounded".
 * What is far below `scale` (the size of the numbers that it was computed from) is 0.
 */
export function number(value: number, digits = 5, scale = 0): string {
  if (Number.isNaN(value)) return "not a number";
  if (Math.abs(value) === Infinity) return "unbounded";
  if (Math.abs(value) <= 1e-12 * scale || value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size >= 7 || size < -4) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
    const front = String(Number(mantissa)).replace("-", "−");
    return `${front === "1" ? "" : front === "−1" ? "−" : `${front}·`}${power(Number(exponent))}`;
  }
  return value.toLocaleString("en", { maximumSignificantDigits: digits }).replace("-", "−");
}

/** A coordinate, with as many digits as a pixel of the given size deserves. */
export function coordinate(value: number, pixel: number): string {
  const places = Math.max(0, Math.min(12, Math.ceil(-Math.log10(pixel))));
  const rounded = Number(value.toFixed(places));
  return (rounded === 0 ? "0" : rounded.toFixed(places).replace(/\.?0+$/, (end) => (end.includes(".") ? "" : end)))
    .replace("-", "−");
}

/** Round steps for about `count` ticks between two numbers: 1, 2 or 5 times a power of ten. */
export function ticks(low: number, high: number, count: number): { values: number[]; step: number } {
  const rough = (high - low) / Math.max(1, count);
  if (!(rough > 0) || !Number.isFinite(rough)) return { values: [], step: 1 };
  const base = 10 ** Math.floor(Math.log10(rough));
  const step = base * ([1, 2, 5].find((factor) => factor * base >= rough * 0.999) ?? 10);
  const values: number[] = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) values.push(k * step);
  return { values, step };
}

/** A tick's label: just the digits that its step needs. */
export function tickLabel(value: number, step: number): string {
  if (Math.abs(value) < 1e-9 * step) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)) + 1e-9);
  if ((size >= 6 && step >= 1) || size < -4) {
    return number(value, Math.min(15, Math.max(1, size - Math.floor(Math.log10(step) + 1e-9) + 1)));
  }
  const places = Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9)));
  return value.toLocaleString("en", { minimumFractionDigits: 0, maximumFractionDigits: places }).replace("-", "−");
}

// Numbers as people write them.

/** A number with so many digits: "−1.25", "3.2e−5", "0"; infinite ones are "unbounded". */
export function number(value: number, digits = 5): string {
  if (value === Infinity) return "unbounded";
  if (value === 0) return "0";
  const text = value.toPrecision(digits);
  return (text.includes("e") ? Number(text).toExponential() : String(Number(text))).replace(/-/g, "−");
}

// The panel: each setting has an element of its name; what the server describes is what it shows.
import { $, element, input, select } from "../common/dom.ts";
import type { Description, Settings } from "./wire.ts";

const NUMBERS = [
  "samples", "noise", "reach", "scale", "seed", "learning_rate", "batch", "strength", "speed",
] as const;
const CHOICES = ["data", "activation", "init", "optimiser", "penalty", "loss"] as const;

const NAMES: Record<string, string> = {
  phi1: "φ1 (paper)", phi2: "φ2 (paper)", phi3: "φ3 (paper)", phi4: "φ4 (paper)", own: "my own",
  he: "He", xavier: "Xavier", adam: "Adam", sgd: "SGD", rmsprop: "RMSprop", l1: "L1", l2: "L2", xor: "XOR",
};

export class Controls {
  private about: Description | null = null;

  constructor(private readonly change: (values: Partial<Settings>) => void) {
    for (const name of NUMBERS) {
      $(name).addEventListener("change", () => change({ [name]: Number(input(name).value) }));
    }
    for (const name of CHOICES) $(name).addEventListener("change", () => change({ [name]: select(name).value }));
    $("compare").addEventListener("change", () => change({ compare: input("compare").checked }));
    $("clear").addEventListener("click", () => change({ points: [] }));
  }

  show(about: Description): void {
    this.about = about;
    const { settings, choices } = about;
    for (const name of CHOICES) {
      const list = select(name);
      if (!list.options.length) {
        for (const value of choices[name]) {
          const option = element("option", NAMES[value] ?? value.replace(/_/g, " "));
          option.value = value;
          list.append(option);
        }
      }
      list.value = settings[name];
    }
    for (const name of NUMBERS) this.number(name, settings[name]);
    input("compare").checked = settings.compare;
    $("hand").hidden = settings.data !== "own";
    for (const label of document.querySelectorAll<HTMLElement>(".generated")) label.hidden = settings.data === "own";
    $("given").hidden = about.given === null;
    $("given").textContent = about.given === null ? "" : `Loaded: ${about.given}`;
    this.layers();
  }

  private number(name: (typeof NUMBERS)[number], value: number): void {
    const field = $(name) as HTMLInputElement | HTMLSelectElement;
    if (field instanceof HTMLSelectElement && ![...field.options].some((o) => Number(o.value) === value)) {
      field.append(element("option", String(value)));
    }
    if (Number(field.value) !== value || field.value === "") field.value = String(value);
  }

  private layers(): void {
    const { settings, most } = this.about!;
    const { widths } = settings;
    const row = (width: number, index: number) => {
      const one = element("span", undefined, "one");
      const button = (text: string, step: number, label: string) => {
        const node = element("button", text);
        node.setAttribute("aria-label", label);
        node.disabled = width + step < 1 || width + step > most[1];
        node.addEventListener("click", () =>
          this.change({ widths: widths.map((w, i) => (i === index ? w + step : w)) }));
        return node;
      };
      const output = element("output", String(width));
      output.title = `layer ${index + 1}`;
      one.append(button("−", -1, `layer ${index + 1}: fewer neurons`), output,
        button("+", 1, `layer ${index + 1}: more neurons`));
      return one;
    };
    const less = element("button", "− layer");
    less.id = "less";
    less.disabled = widths.length < 2;
    less.addEventListener("click", () => this.resize(widths.slice(0, -1)));
    const more = element("button", "+ layer");
    more.id = "more";
    more.disabled = widths.length >= most[0];
    more.addEventListener("click", () => this.resize([...widths, widths[widths.length - 1]]));
    $("layers").replaceChildren(...widths.map(row), less, more);
  }

  /** Other layers; skips that no longer fit go. */
  private resize(widths: number[]): void {
    const skips = this.about!.settings.skips.filter(([, to]) => to <= widths.length + 1);
    this.change({ widths, skips });
  }
}

// The way to the server and back: commands as JSON, frames as bytes, of frames the latest one.

/** What a run depends on, as the server checks it. */
export interface Settings {
  widths: number[];
  skips: [number, number][];
  activation: string;
  init: string;
  scale: number;
  seed: number;
  data: string;
  samples: number;
  noise: number;
  points: [number, number, number][];
  optimiser: string;
  learning_rate: number;
  batch: number;
  penalty: string;
  strength: number;
  loss: string;
  speed: number;
  reach: number;
  compare: boolean;
}

/** A term of a layer: source, where its matrix begins, rows, columns, columns in use. */
export type TermPlace = [number, number, number, number, number];

/** What the page looks at, besides frames. */
export interface Description {
  settings: Settings;
  version: number;
  /** The number of the last change that these settings know of. */
  answered: number;
  skips: [number, number][];
  /** Skips that can be switched on and off. */
  possible: [number, number][];
  given: string | null;
  widths: number[];
  activations: string[];
  terms: TermPlace[][];
  biases: number[];
  low: [number, number];
  high: [number, number];
  points: number[];
  loss: string;
  choices: Record<string, string[]>;
  most: [number, number, number];
  defaults: Settings;
}

/** The numbers of one network at one step. */
export interface PictureFacts {
  name: "skips" | "plain";
  regions: number;
  complete: boolean;
  whole: number;
  wholeComplete: boolean;
  bits: number;
  skips: [number, number][];
  loss: number | null;
  accuracy: number | null;
  test: number | null;
  right: number | null;
}

/** A network's regions, as they came. */
export interface Picture extends PictureFacts {
  corners: Float32Array;
  counts: Uint16Array;
  sides: Int16Array;
  patterns: Uint8Array;
  maps: Float32Array;
  vector: Float32Array;
  /** Where the corners of each region begin; one more at the end. */
  starts: Uint32Array;
}

export interface Frame {
  /** Of the description that it belongs to. */
  version: number;
  step: number;
  epoch: number;
  running: boolean;
  recording: boolean;
  film: number;
  pictures: Picture[];
}

export interface Notice {
  error?: string;
  note?: string;
  busy?: [number, number] | null;
  running?: boolean;
}

export interface Listener {
  described(description: Description): void;
  framed(frame: Frame): void;
  noticed(notice: Notice): void;
  received(name: string, content: Blob): void;
  ended(): void;
}

const TYPES = {
  float32: Float32Array, float64: Float64Array, uint8: Uint8Array, uint16: Uint16Array, int16: Int16Array,
};
type Field = [keyof typeof TYPES, number, number];
interface Header extends Omit<Frame, "pictures"> {
  number: number;
  pictures: PictureFacts[];
  arrays: Record<string, Field>;
  file?: string;
}

export class Wire {
  private readonly socket: WebSocket;
  private latest: ArrayBuffer | null = null;
  private waiting = false;
  /** Changes on their way, and how many there were. */
  private changes: { number: number; values: Partial<Settings> }[] = [];
  private changed = 0;

  constructor(private readonly listener: Listener) {
    const token = new URLSearchParams(location.search).get("token") ?? "";
    this.socket = new WebSocket(`ws://${location.host}/socket?token=${encodeURIComponent(token)}`);
    this.socket.binaryType = "arraybuffer";
    this.socket.addEventListener("message", (event: MessageEvent<string | ArrayBuffer>) => this.arrived(event.data));
    this.socket.addEventListener("close", () => listener.ended());
  }

  do(command: string, values: object = {}): void {
    if (this.open) this.socket.send(JSON.stringify({ do: command, ...values }));
  }

  private get open(): boolean {
    return this.socket.readyState === WebSocket.OPEN;
  }

  change(values: Partial<Settings>): void {
    if (!this.open) return;
    this.changed++;
    this.changes.push({ number: this.changed, values });
    this.do("settings", { values, number: this.changed });
  }

  /** What settings become when all changes have arrived: who clicks twice in a moment wants both. */
  soon(settings: Settings): Settings {
    return Object.assign({}, settings, ...this.changes.map(({ values }) => values)) as Settings;
  }

  async upload(file: File): Promise<void> {
    const text = new TextEncoder().encode(JSON.stringify({ do: "upload", name: file.name }));
    const head = new Uint8Array(4);
    new DataView(head.buffer).setUint32(0, text.length, true);
    const message = await new Blob([head, text, file]).arrayBuffer();
    if (this.open) this.socket.send(message);
  }

  private arrived(data: string | ArrayBuffer): void {
    if (typeof data === "string") {
      const message = JSON.parse(data) as Description & Notice;
      if ("settings" in message) {
        this.changes = this.changes.filter(({ number }) => number > message.answered);
        this.listener.described(message);
      }
      else this.listener.noticed(message);
      return;
    }
    const { header, start } = head(data);
    if (header.file) {
      this.listener.received(header.file, new Blob([data.slice(start)]));
      return;
    }
    this.latest = data;
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (!this.latest) return;
      const { header, start } = head(this.latest);
      const frame = read(header, this.latest, start);
      this.latest = null;
      this.do("drawn", { frame: header.number });
      this.listener.framed(frame);
    });
  }
}

function head(data: ArrayBuffer): { header: Header; start: number } {
  const length = new DataView(data).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length))) as Header;
  return { header, start: 4 + length };
}

function read(header: Header, data: ArrayBuffer, start: number): Frame {
  const array = (name: string) => {
    const [type, offset, length] = header.arrays[name];
    return new TYPES[type](data, start + offset, length);
  };
  const pictures = header.pictures.map((facts): Picture => {
    const of = (key: string) => array(`${facts.name}.${key}`);
    const counts = of("counts") as Uint16Array;
    const starts = new Uint32Array(counts.length + 1);
    for (let i = 0; i < counts.length; i++) starts[i + 1] = starts[i] + counts[i];
    return {
      ...facts, counts, starts,
      corners: of("corners") as Float32Array,
      sides: of("sides") as Int16Array,
      patterns: of("patterns") as Uint8Array,
      maps: of("maps") as Float32Array,
      vector: of("vector") as Float32Array,
    };
  });
  const { version, step, epoch, running, recording, film } = header;
  return { version, step, epoch, running, recording, film, pictures };
}

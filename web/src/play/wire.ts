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
  /** The number of the last wish that these settings know of. */
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
  /** The number of the last wish that it knows of. */
  answered: number;
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

/** What the page shows at once when somebody clicks, and the server makes true a moment later. */
export interface Wish {
  values?: Partial<Settings>;
  running?: boolean;
  recording?: boolean;
}

/** How things stand between the page and the server. */
export type State = "open" | "interrupted" | "elsewhere" | "ended";

export interface Listener {
  described(description: Description): void;
  framed(frame: Frame): void;
  noticed(notice: Notice): void;
  received(name: string, content: Blob): void;
  changed(state: State): void;
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

/** Codes with which a server says that another page has the run, and that it ends. */
const ELSEWHERE = 4000;
const GOODBYE = [1001, 1012];
/** Milliseconds before each new attempt after a connection was lost. */
const ATTEMPTS = [200, 800, 2000];

export class Wire {
  private socket!: WebSocket;
  private latest: ArrayBuffer | null = null;
  private waiting = false;
  /** Wishes on their way, and how many there were. They wait here where there is no connection. */
  private wishes: (Wish & { number: number; text: string })[] = [];
  private wished = 0;
  private attempts = 0;
  private state: State = "interrupted";

  constructor(private readonly listener: Listener) {
    this.connect();
  }

  /** Somebody wants the connection back. */
  again(): void {
    this.become("interrupted");
    this.connect();
  }

  private connect(): void {
    const token = new URLSearchParams(location.search).get("token") ?? "";
    this.socket = new WebSocket(`ws://${location.host}/socket?token=${encodeURIComponent(token)}`);
    this.socket.binaryType = "arraybuffer";
    this.socket.addEventListener("open", () => {
      this.attempts = 0;
      for (const { text } of this.wishes) this.socket.send(text);
      this.become("open");
    });
    this.socket.addEventListener("message", (event: MessageEvent<string | ArrayBuffer>) => this.arrived(event.data));
    this.socket.addEventListener("close", ({ code }) => this.lost(code));
  }

  private lost(code: number): void {
    if (code === ELSEWHERE) this.become("elsewhere");
    else if (GOODBYE.includes(code) || this.attempts >= ATTEMPTS.length) this.become("ended");
    else {
      window.setTimeout(() => this.connect(), ATTEMPTS[this.attempts++]);
      this.become("interrupted");
    }
  }

  private become(state: State): void {
    if (this.state === state) return;
    this.state = state;
    if (this.isOver) [this.wishes, this.latest] = [[], null];
    this.listener.changed(state);
  }

  /** A command that changes nothing that the page shows before the next frame; says whether it was sent. */
  do(command: string, values: object = {}): boolean {
    if (!this.open) return false;
    this.socket.send(JSON.stringify({ do: command, ...values }));
    return true;
  }

  /** Whether nobody is there who could make a wish true. */
  private get isOver(): boolean {
    return this.state === "ended" || this.state === "elsewhere";
  }

  private get open(): boolean {
    return this.socket.readyState === WebSocket.OPEN;
  }

  /** A command whose outcome the page shows at once. */
  wish(command: string, wish: Wish, values: object = {}): void {
    if (this.isOver) return;
    this.wished++;
    const text = JSON.stringify({ do: command, ...values, number: this.wished });
    this.wishes.push({ ...wish, number: this.wished, text });
    if (this.open) this.socket.send(text);
  }

  change(values: Partial<Settings>): void {
    this.wish("settings", { values }, { values });
  }

  /** What settings become when all wishes have come true: who clicks twice in a moment wants both. */
  soon(settings: Settings): Settings {
    return Object.assign({}, settings, ...this.wishes.map(({ values }) => values ?? {})) as Settings;
  }

  /** What the last wish said about this; if none did, how it is. */
  hoped(what: "running" | "recording", is: boolean): boolean {
    return this.wishes.reduce((now, wish) => wish[what] ?? now, is);
  }

  async upload(file: File): Promise<void> {
    const text = new TextEncoder().encode(JSON.stringify({ do: "upload", name: file.name }));
    const head = new Uint8Array(4);
    new DataView(head.buffer).setUint32(0, text.length, true);
    const message = await new Blob([head, text, file]).arrayBuffer();
    if (this.open) this.socket.send(message);
  }

  private answered(number: number): void {
    this.wishes = this.wishes.filter((wish) => wish.number > number);
  }

  private arrived(data: string | ArrayBuffer): void {
    if (typeof data === "string") {
      const message = JSON.parse(data) as Description | Notice;
      if ("settings" in message) {
        this.answered(message.answered);
        this.listener.described(message);
      } else {
        this.listener.noticed(message);
      }
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
      this.answered(frame.answered);
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
  const { version, answered, step, epoch, running, recording, film } = header;
  return { version, answered, step, epoch, running, recording, film, pictures };
}

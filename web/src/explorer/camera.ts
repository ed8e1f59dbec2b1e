// A camera that goes around the origin; what it looks at fits into the cube from -1 to 1, with z upwards.

export type Vector = [number, number, number];

const LEAST_DISTANCE = 0.6;
const MOST_DISTANCE = 12;
const HOME = { azimuth: -0.95, elevation: 0.5, distance: 4.8 };

export class Camera {
  azimuth = HOME.azimuth;
  elevation = HOME.elevation;
  distance = HOME.distance;

  turn(dx: number, dy: number): void {
    this.azimuth -= dx * 0.008;
    this.elevation = Math.min(1.55, Math.max(-1.55, this.elevation + dy * 0.008));
  }

  approach(factor: number): void {
    this.distance = Math.min(MOST_DISTANCE, Math.max(LEAST_DISTANCE, this.distance / factor));
  }

  home(): void {
    Object.assign(this, HOME);
  }

  get eye(): Vector {
    const flat = Math.cos(this.elevation) * this.distance;
    return [
      flat * Math.cos(this.azimuth), flat * Math.sin(this.azimuth), Math.sin(this.elevation) * this.distance,
    ];
  }

  /** Right, up and towards the eye, in the coordinates of the scene. */
  private frame(): [Vector, Vector, Vector] {
    const [ca, sa] = [Math.cos(this.azimuth), Math.sin(this.azimuth)];
    const [ce, se] = [Math.cos(this.elevation), Math.sin(this.elevation)];
    return [[-sa, ca, 0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]];
  }

  /** From the scene to clip coordinates, column after column. */
  matrix(aspect: number): Float32Array {
    const [right, up, back] = this.frame();
    const focus = 2.6 * Math.min(1, aspect);
    const [fx, fy] = [focus / aspect, focus];
    const [near, far] = [Math.max(0.02, this.distance - 3), this.distance + 3];
    const [a, b] = [-(far + near) / (far - near), (-2 * far * near) / (far - near)];
    const columns: number[] = [];
    for (let k = 0; k < 3; k++) columns.push(fx * right[k], fy * up[k], a * back[k], -back[k]);
    columns.push(0, 0, -a * this.distance + b, this.distance);
    return Float32Array.from(columns);
  }

  /** Where a point of the scene is on the screen, and how far away. */
  project(matrix: Float32Array, [x, y, z]: readonly number[], width: number, height: number): Vector {
    const row = (k: number): number => matrix[k] * x + matrix[4 + k] * y + matrix[8 + k] * z + matrix[12 + k];
    const w = row(3);
    return [(0.5 + (0.5 * row(0)) / w) * width, (0.5 - (0.5 * row(1)) / w) * height, w];
  }

  /** The direction in which a pixel looks. */
  ray(sx: number, sy: number, width: number, height: number): Vector {
    const [right, up, back] = this.frame();
    const aspect = width / height;
    const focus = 2.6 * Math.min(1, aspect);
    const u = ((2 * sx) / width - 1) * (aspect / focus);
    const v = (1 - (2 * sy) / height) / focus;
    const at = (k: number): number => u * right[k] + v * up[k] - back[k];
    return [at(0), at(1), at(2)];
  }
}

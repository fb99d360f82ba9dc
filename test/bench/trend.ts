/** Estimates the long-term trend of a series of samples. */

export interface Point {
  x: number;
  y: number;
}

export interface Trend {
  /** Change of y per unit of x. */
  slope: number;
  /** Half of the interval in which the true slope lies with 95 % probability. */
  plusMinus: number;
}

/**
 * Least squares. Frequent samples are not independent: the autocorrelation of the residuals widens the
 * interval, as if there were correspondingly fewer samples.
 */
export function trendOf(points: readonly Point[]): Trend {
  const x = mean(points.map(point => point.x));
  const y = mean(points.map(point => point.y));
  const spreadOfX = sum(points.map(point => (point.x - x) ** 2));
  const slope = sum(points.map(point => (point.x - x) * (point.y - y))) / spreadOfX;
  const residuals = points.map(point => point.y - y - slope * (point.x - x));
  const squares = sum(residuals.map(residual => residual ** 2));
  const pairs = sum(residuals.slice(1).map((residual, at) => residual * (residuals[at] ?? 0)));
  const correlation = squares === 0 ? 0 : Math.min(0.99, Math.max(0, pairs / squares));
  const error = Math.sqrt(squares / (points.length - 2) / spreadOfX);
  return { slope, plusMinus: 1.96 * error * Math.sqrt((1 + correlation) / (1 - correlation)) };
}

export const mean = (values: readonly number[]) => sum(values) / values.length;
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

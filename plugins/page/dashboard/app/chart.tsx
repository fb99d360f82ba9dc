/** Charts drawn by uPlot, which is loaded when the first chart is shown. */
import { useEffect, useRef } from 'preact/hooks';
import { sayError } from './components.tsx';
import { language } from './texts.ts';
import { theme } from './theme.ts';

export interface Point {
  label: string;
  value: number;
}

const HEIGHT = 220;
/** Minimum pixels per label on the horizontal axis. */
const LABEL_PX = 80;

/** Screen readers read a table with the same numbers. */
export function Chart({
  title,
  kind,
  points,
  every,
}: {
  title: string;
  kind: 'bars' | 'line';
  points: readonly Point[];
  /** Points per label on the horizontal axis; as many labels as fit by default. */
  every?: number;
}) {
  const box = useRef<HTMLDivElement>(null);
  const shades = `${theme.value} ${language.value}`;
  useEffect(() => {
    let destroy = () => {};
    let isOver = false;
    draw(box.current, kind, points, every).then(done => {
      if (isOver) done();
      else destroy = done;
    }, sayError);
    return () => {
      isOver = true;
      destroy();
    };
  }, [points, kind, shades]);
  return (
    <figure class="chart">
      <div ref={box} aria-hidden="true" />
      <table class="hidden">
        <caption>{title}</caption>
        <tbody>
          {points.map(({ label, value }) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              <td>{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}

/** Resolves to a function that removes the chart. */
async function draw(
  box: HTMLElement | null,
  kind: 'bars' | 'line',
  points: readonly Point[],
  every?: number,
): Promise<() => void> {
  const [{ default: UPlot }] = await Promise.all([import('uplot'), import('uplot/dist/uPlot.min.css')]);
  if (!box) return () => {};
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = { stroke: colour('--faint'), grid: { stroke: colour('--line') }, ticks: { show: false } };
  const bars = kind === 'bars' && UPlot.paths.bars?.({ size: [0.7, 60] });
  const numbers = new Intl.NumberFormat(language.value, { notation: 'compact' });
  const options = {
    width: box.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: {
        time: false,
        range: (_: unknown, min: number, max: number): [number, number] => [min - 0.5, max + 0.5],
      },
      y: { range: (_: unknown, _min: number, max: number): [number, number] => [0, Math.max(1, max * 1.1)] },
    },
    axes: [
      {
        ...axis,
        ...(every === undefined ? { space: LABEL_PX } : { incrs: [every], space: 1 }),
        values: (_: unknown, splits: number[]) =>
          splits.map(at => (Number.isInteger(at) ? (points[at]?.label ?? '') : '')),
      },
      { ...axis, values: (_: unknown, splits: number[]) => splits.map(at => numbers.format(at)) },
    ],
    series: [
      {},
      {
        stroke: colour('--accent'),
        points: { show: kind === 'line' },
        width: 2,
        ...(bars ? { paths: bars, fill: colour('--accent'), width: 0 } : {}),
      },
    ],
  };
  const plot = new UPlot(options, [points.map((_, at) => at), points.map(({ value }) => value)], box);
  const observer = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: HEIGHT }));
  observer.observe(box);
  return () => {
    observer.disconnect();
    plot.destroy();
  };
}

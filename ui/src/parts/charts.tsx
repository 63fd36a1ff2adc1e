/** Small charts in SVG and HTML, each readable as a table. */
import { VisuallyHidden } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Sample } from '../api/follow'
import type { Tone } from './states'

export interface Bar {
  key: string
  label: ReactNode
  value: number
  tone?: Tone
}

/** A table whose last column is also drawn as bars. */
export function Bars({ bars, caption }: { bars: readonly Bar[]; caption: string }) {
  const most = Math.max(1, ...bars.map((bar) => bar.value))
  return (
    <table className="bars">
      <caption>
        <VisuallyHidden>{caption}</VisuallyHidden>
      </caption>
      <tbody>
        {bars.map((bar) => (
          <tr key={bar.key}>
            <th scope="row">{bar.label}</th>
            <td aria-hidden="true">
              <div className={`bar${bar.tone ? ` tone-${bar.tone}` : ''}`} style={{ width: `${(100 * bar.value) / most}%` }} />
            </td>
            <td className="value">{bar.value.toLocaleString()}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const WIDTH = 300
const HEIGHT = 56

const WINDOW_MS = 5000

/** Pages per second over the last seconds, at each sample. */
export function rates(samples: readonly Sample[]): number[] {
  return samples.slice(1).map((sample, index) => {
    const before = samples.find((each) => sample.at - each.at <= WINDOW_MS) ?? (samples[index] as Sample)
    return (1000 * (sample.pages - before.pages)) / Math.max(1, sample.at - before.at)
  })
}

interface SparklineProps {
  values: readonly number[]
  label: string
  height?: number
  /** The value at the top; without it, the largest. */
  most?: number
}

/** A line of the last values. */
export function Sparkline({ values, label, height = HEIGHT, most }: SparklineProps) {
  const top = most ?? Math.max(1, ...values)
  const step = WIDTH / Math.max(1, values.length - 1)
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${(height - 4 - ((height - 8) * value) / top).toFixed(1)}`)
  return (
    <svg role="img" aria-label={label} viewBox={`0 0 ${WIDTH} ${height}`} width="100%" height={height} preserveAspectRatio="none" style={{ display: 'block' }}>
      <line x1="0" x2={WIDTH} y1={height - 0.5} y2={height - 0.5} stroke="var(--mantine-color-default-border)" vectorEffect="non-scaling-stroke" />
      <polyline
        points={points.join(' ')}
        fill="none"
        stroke="var(--mantine-primary-color-filled)"
        strokeWidth="2"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  )
}

/** Filters of lists, kept in the address of the screen so that a link shows the same list. */
import { Group, Text } from '@mantine/core'
import { useSearchParams } from 'wouter'

/** The parameters of the address, and a function that changes some of them; an empty value removes a parameter. */
export function useAddressState(): [URLSearchParams, (changes: Record<string, string | readonly string[]>) => void] {
  const [parameters, setParameters] = useSearchParams()
  function change(changes: Record<string, string | readonly string[]>) {
    setParameters(
      (before) => {
        const after = new URLSearchParams(before)
        for (const [name, value] of Object.entries(changes)) {
          after.delete(name)
          for (const each of typeof value === 'string' ? [value] : value) if (each) after.append(name, each)
        }
        return after
      },
      { replace: true },
    )
  }
  return [parameters, change]
}

interface FacetsProps {
  label: string
  counts: Record<string, number>
  chosen: readonly string[]
  word: (name: string) => string
  /** In the order of the names, not of the counts. */
  isOrdered?: boolean
  onChange: (chosen: string[]) => void
}

/** Buttons with counts; several may be chosen. */
export function FacetButtons({ label, counts, chosen, word, isOrdered, onChange }: FacetsProps) {
  const names = [...new Set([...Object.keys(counts), ...chosen])].sort((a, b) =>
    isOrdered ? a.localeCompare(b, undefined, { numeric: true }) : (counts[b] ?? 0) - (counts[a] ?? 0),
  )
  if (names.length === 0) return null
  return (
    <Group gap={6} role="group" aria-label={label}>
      <Text size="sm" c="dimmed" aria-hidden>
        {label}
      </Text>
      {names.map((name) => {
        const isChosen = chosen.includes(name)
        return (
          <button
            key={name}
            type="button"
            className="facet"
            aria-pressed={isChosen}
            onClick={() => onChange(isChosen ? chosen.filter((each) => each !== name) : [...chosen, name])}
          >
            {word(name)}
            <span className="count">{(counts[name] ?? 0).toLocaleString()}</span>
          </button>
        )
      })}
    </Group>
  )
}
